"""A typical mistake is answered with what to do instead, as it works in this place."""

import subprocess

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


def test_the_name_of_a_skill_stands_for_its_file_with_a_conflict(agent, cli):
    text = agent / "skills/reentrancy/SKILL.md"
    start = text.read_text()
    cli("switch", "--new", "idea")
    text.write_text(start + "Theirs.\n")
    cli("snapshot")
    cli("switch", "main")
    text.write_text(start + "Ours.\n")
    cli("snapshot")
    assert cli("merge", "idea").status == 12
    assert cli("resolve", "nothing", "--ours").status == 1
    assert "All resolved" in cli("resolve", "reentrancy", "--theirs").out
    assert cli("merge", "--continue").status == 0
    assert text.read_text().endswith("Theirs.\n")


def test_show_of_a_skill_names_the_way_to_its_text(agent, cli):
    assert "`brain skill view oracle-manipulation`" in cli("show", "oracle-manipulation").err
    assert cli("show", "@").err == ""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of Claude Code with a text that its instructions import; it is the current folder."""
    files = {
        "skills/a/SKILL.md": "---\nname: a\ndescription: Do a well.\n---\nOne.\n",
        "CLAUDE.md": "See @docs/style.md\n",
        "docs/style.md": "Be brief.\n",
    }
    for name, text in files.items():
        path = tmp_path / "home/.claude" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path / "home/.claude")
    return tmp_path / "home/.claude"


def test_adopting_again_says_what_changed(home, cli):
    for again in ((), ("../beside",)):
        call = ("adopt", ".", *again, "--as", "claude")
        assert "modified" not in cli(*call).out
        (home / "skills/a/SKILL.md").write_text(f"---\nname: a\ndescription: D{again}.\n---\nB.\n")
        assert ": 0 added, 1 modified, 0 removed\n" in cli(*call).out


def test_an_imported_text_is_taken_as_the_hint_says_in_place(home, cli):
    assert "add the line !/docs to .brainignore" in cli("adopt", ".", "--as", "claude").out
    with (home / ".brainignore").open("a") as rules:
        rules.write("!/docs\n")
    cli("snapshot")
    assert "docs/style.md" in cli("show").out


def test_an_imported_text_is_taken_as_the_hint_says_beside(home, cli):
    told = cli("adopt", ".", "../beside", "--as", "claude").out
    (line,) = [line for line in told.splitlines() if "; take it with " in line]
    command = line.partition("; take it with ")[2].rpartition(": ")[0]
    subprocess.run(command, shell=True, check=True)
    assert (home / "../beside/docs/style.md").read_text() == "Be brief.\n"
