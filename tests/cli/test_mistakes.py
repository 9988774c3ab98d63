"""A typical mistake is answered with what to do instead, as it works in this place."""

import pytest

from tests.cli.conftest import Call


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("checkout -- CLAUDE.md", "Did you mean 'switch' or 'restore'?"),
        ("mv one two", "Did you mean 'skill rename'?"),
        ("stash", "Did you mean 'snapshot' or 'branch'?"),
        ("commit -am Noted", "all changes are recorded: `brain commit -m TEXT`"),
        ("branch -d idea", "`brain branch --delete NAME`"),
        ("restore oracle-manipulation --version 1", "is named as in NAME@1"),
        ("memory add memory TEXT", "the call is brain memory add [OPTIONS] TEXT; see"),
        ("undo 3", "the call is brain undo [OPTIONS]; see"),
        ("publish", "the call is brain publish [OPTIONS] DIR [REV]; see"),
        ("proposal show", "the call is brain proposal show [OPTIONS] NAME; see"),
    ],
)
def test_a_wrong_call_is_answered_with_the_right_one(cli: Call, call, told):
    assert told in cli(*call.split()).err


def test_a_brain_without_its_store_is_said_to_have_lost_it(agent, cli):
    store = agent / ".brain/store.db"
    content = store.read_bytes()
    store.unlink()
    for call in ("status", "init", "verify", "doctor"):
        told = cli(call)
        assert told.status == (1 if call == "init" else 10)
        assert ".brain/store.db is missing" in told.err
        assert "from a copy" in told.err and "move .brain away and run `brain init`" in told.err
    store.write_bytes(content)
    assert cli("status").status == 0


def test_a_folder_named_with_c_is_the_one_to_make_a_brain_in(tmp_path, cli):
    there = tmp_path / "not here"
    hint = cli("-C", str(there), "status", "--json").error["hint"]
    assert hint == f"make one there with `brain init '{there}'`"
    assert cli("init", str(there)).status == 0 and cli("-C", str(there), "status").status == 0


@pytest.mark.parametrize("call", ["show", "log", "diff", "restore"])
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("oracle-manipulatoin", "oracle-manipulation"),
        ("mainn", "main"),
        ("relaese", "release"),
        ("manifset.yaml", "-- manifest.yaml"),
    ],
)
def test_a_name_of_nothing_is_answered_with_those_like_it(agent, cli, call, name, meant):
    cli("tag", "release")
    told = cli(call, name, "--json")
    assert told.error["code"] == "bad_revision"
    assert told.error["hint"] == f"did you mean {meant}?"


def test_the_name_of_a_new_skill_with_a_slash_is_answered_with_what_it_may_be(agent, cli):
    (agent / "body.md").write_text("Do it.\n")
    told = cli("upsert", "Bad/../name", "-d", "Do it well.", "-f", "body.md")
    assert told.status == 1 and "the name of a new skill has no slash" in told.err


def test_a_damaged_store_is_to_be_restored_whoever_tells_it(agent, cli):
    store = agent / ".brain/store.db"
    store.write_bytes(store.read_bytes()[:200] + bytes(4000))
    for call in ("status", "verify", "doctor"):
        assert "restore the folder .brain from a copy" in cli(call).err
