"""Keys, signatures and trust, as people and programs use them."""

import stat
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.cli.test_commands import learn, masked
from tests.cli.test_start_up import loaded
from tests.support.cases import read_cases

CASES = read_cases(__file__)


def new(cli: Call, *names: str) -> list[str]:
    """Make own keys and return them in public."""
    return [cli("key", "new", name).out.strip() for name in names]


def codes(cli: Call, *more: str) -> set[str]:
    """Verify with signatures required, and return the codes of the errors."""
    told = cli("verify", "--require-signatures", *more, "--json")
    found = {one["code"] for one in told.document["findings"] if one["severity"] == "error"}
    assert told.status == (3 if found else 0) and told.document["ok"] == (not found)
    assert told.document["trust_level"] == "L0"
    return found


def test_a_session_from_a_new_key_to_a_signed_brain(agent, cli, keys):
    told = cli("key", "new")
    key = told.out.strip()
    assert key.startswith("ed25519:") and told.err == f"Key default is in {keys / 'default.pem'}\n"
    assert stat.S_IMODE((keys / "default.pem").stat().st_mode) == 0o600
    assert masked(cli("sign")) == "ID12 signed by ed25519:ID64\n"
    told = cli("key", "trust", key, "--as", "auditor")
    assert told.out.splitlines()[:2] == ["1 signature required, of:", f"{key}  auditor"]
    assert told.out.splitlines()[2].endswith(", signed") and told.err.startswith("Pinned")
    told = cli("verify", "--require-signatures")
    assert told.status == 0 and "Verified 3 snapshots" in told.out
    assert codes(cli, "--root", "default") == set()


def test_every_command_signs_what_it_records_with_the_key_of_the_environment(
    agent, cli, monkeypatch
):
    new(cli, "ada")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    cli("key", "trust", "ada", "--as", "Ada")
    learn(cli, "one", "text")
    cli("branch", "idea")
    learn(cli, "two", "text")
    cli("switch", "idea")
    learn(cli, "three", "text")
    assert cli("merge", "main").status == 0
    Path("memory/notes.md").write_text("three\n")
    for call in (["snapshot"], ["skill", "delete", "two"], ["restore", "@~1"], ["undo"]):
        assert cli(*call).status == 0
    assert cli("fork", "../child").status == 0
    assert codes(cli, "--root", "ada") == set()
    assert cli("-C", "../child", "verify", "--require-signatures").status == 0
    (signed,) = cli("show", "--json").document["signatures"]
    assert f"signed by  {signed['key']}" in cli("show").out


def test_a_new_brain_is_signed_from_its_first_snapshot(folder, cli, monkeypatch):
    new(cli, "ada")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    assert cli("init").status == 0
    assert len(cli("show", "--json").document["signatures"]) == 1


@pytest.fixture
def trusting(agent, cli):
    """A brain that trusts ada and bob; mallory is a stranger."""
    new(cli, "ada", "bob", "mallory")
    for name in ("ada", "bob"):
        assert cli("key", "trust", name, "--as", name, "--key", "ada").status == 0
    assert codes(cli) == set()
    return cli


def test_an_unsigned_snapshot_after_the_trust_file_fails(trusting):
    learn(trusting)
    told = trusting("verify")
    assert told.status == 3 and "brain sign" in told.err
    assert codes(trusting) == {"unsigned"}
    trusting("sign", "--key", "bob")
    assert codes(trusting) == set()


def test_what_lacks_signatures_is_signed_in_one_go(trusting):
    for _ in range(3):
        learn(trusting)
    told = trusting("sign", "--all", "--key", "mallory")
    assert told.out == "No snapshot lacks a signature of this key\n"
    signed = trusting("sign", "@~1", "--all", "--key", "bob", "--json").document["signatures"]
    names = [one["snapshot"] for one in trusting("log", "--json").document["snapshots"]]
    assert [one["snapshot"] for one in signed] == names[2:0:-1]
    assert masked(trusting("sign", "--all", "--key", "ada")) == "ID12 signed by ed25519:ID64\n"
    assert codes(trusting) == set()


def test_a_failed_verification_says_exactly_what_to_run(agent, cli, monkeypatch):
    learn(cli)
    told = cli("verify", "--require-signatures")
    assert told.status == 3 and "`brain key trust KEY --as NAME`" in told.err
    ada, bob, carl = new(cli, "ada", "bob", "carl")
    for key, name in ((ada, "Ada"), (bob, "Bob"), (carl, "Carl")):
        cli("key", "trust", key, "--as", name, "--key", "ada")
    cli("key", "revoke", "carl", "--keep-signatures", "--key", "ada")
    learn(cli)
    learn(cli)
    told = cli("-C", str(agent), "verify")
    call = f"brain -C {agent} sign --all"
    assert told.status == 3 and told.err.endswith(f"a review, run `{call} --key ada`\n")
    assert "nothing was changed; do not trust it, or" in told.err
    assert cli(*call.split()[1:], "--key", "ada").status == 0
    assert codes(cli) == set()
    cli("key", "trust", "--threshold", "2", "--key", "ada")
    learn(cli)
    hint = cli("verify").err
    assert "run `brain sign --all --key ada`, and ask one more of Ada, Bob to do so" in hint
    monkeypatch.setenv("BRAIN_KEYS", str(agent.parent / "none"))
    assert "ask 2 of Ada, Bob to run `brain sign --all`" in cli("verify").err


def test_a_forged_author_has_to_sign_or_is_not_believed(trusting):
    bob = trusting("key", "list", "--json").document["keys"][1]["key"]
    trusting("--author", bob, "skill", "upsert", "x", "-d", "y")
    trusting("sign", "--key", "ada")
    told = trusting("verify")
    assert told.status == 3 and "have the authors it names run `brain sign --all`" in told.err
    assert trusting("sign", "--all", "--key", "bob").status == 0
    assert codes(trusting) == set()


def test_a_fork_without_a_key_says_who_has_to_sign_it(trusting, monkeypatch):
    told = trusting("fork", "../my child")
    assert told.status == 0
    call = told.err.split("`")[1]
    assert "brain verify" in told.err and call.endswith("child' sign --key ada")
    child = ["-C", "../my child"]
    assert trusting(*child, "verify").status == 3
    assert trusting(*child, *call.partition("child' ")[2].split()).status == 0
    assert trusting(*child, "verify").status == 0
    trusting("key", "trust", "--threshold", "2", "--key", "ada")
    trusting("sign", "--key", "bob")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    assert "sign --key bob`\n" in trusting("fork", "../second").err
    assert trusting("fork", "../third", "--json").err == ""
    monkeypatch.setenv("BRAIN_KEYS", str(Path("none").absolute()))
    monkeypatch.delenv("BRAIN_SIGN_KEY")
    assert "ask 2 of ada, bob to run `brain -C " in trusting("fork", "../fourth").err


def test_a_fork_that_needs_no_signature_asks_for_none(agent, cli, monkeypatch):
    assert cli("fork", "../plain").err == ""
    (key,) = new(cli, "ada")
    cli("key", "trust", key, "--as", "ada")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    assert cli("fork", "../signed").err.startswith("Pinned") and codes(cli, "--root", key) == set()


def test_the_key_of_a_stranger_fails(trusting):
    learn(trusting)
    trusting("sign", "--key", "mallory")
    assert codes(trusting) == {"unknown_key", "below_threshold"}
    told = trusting("key", "trust", "mallory", "--as", "friend", "--key", "mallory")
    assert told.status == 0 and codes(trusting) == {"unknown_key", "below_threshold"}


def test_a_revoked_key_fails_from_the_snapshot_on_that_is_named(trusting):
    learn(trusting)
    trusting("sign", "--key", "bob")
    learn(trusting)
    trusting("sign", "--key", "ada")
    told = trusting("key", "revoke", "bob", "--reason", "lost", "--since", "@", "--key", "ada")
    assert "revoked since" in told.out and codes(trusting) == set()
    learn(trusting)
    trusting("sign", "--key", "bob")
    assert codes(trusting) == {"revoked_key", "below_threshold"}


def test_a_retired_key_fails_afterwards(trusting):
    learn(trusting)
    trusting("sign", "--key", "bob")
    told = trusting("key", "revoke", "bob", "--keep-signatures", "--key", "bob")
    assert told.status == 0 and "bob" not in told.out
    assert codes(trusting) == set()
    assert "signed: bob [retired]" in trusting("log").out
    assert trusting("key", "list").out.splitlines()[-1].endswith("  bob")
    learn(trusting)
    trusting("sign", "--key", "bob")
    assert codes(trusting) == {"unknown_key", "below_threshold"}


def test_a_retired_key_that_was_stolen_is_revoked_later(trusting):
    learn(trusting)
    trusting("sign", "--key", "bob")
    trusting("key", "revoke", "bob", "--keep-signatures", "--key", "ada")
    assert codes(trusting) == set()
    told = trusting("key", "revoke", "bob", "--reason", "stolen", "--key", "ada")
    assert told.status == 0 and "bob  revoked: stolen" in told.out
    assert codes(trusting) == {"revoked_key", "below_threshold"}


@pytest.mark.parametrize(
    "call",
    [
        ("revoke", "bob"),
        ("revoke", "bob", "--keep-signatures", "--reason", "old"),
        ("revoke", "bob", "--keep-signatures", "--since", "@"),
        ("trust",),
        ("trust", "bob"),
        ("trust", "--as", "bob"),
        ("trust", "--threshold", "0"),
    ],
)
def test_options_that_do_not_fit_are_a_usage_error(trusting, call):
    assert trusting("key", *call).status == 2


def test_a_key_and_the_threshold_are_changed_in_one_snapshot(trusting):
    before = len(trusting("log", "--json").document["snapshots"])
    told = trusting(
        "key", "trust", "mallory", "--as", "Mallory", "--threshold", "3", "--key", "ada", "--json"
    )
    assert (told.document["threshold"], len(told.document["keys"])) == (3, 3)
    assert len(trusting("log", "--json").document["snapshots"]) == before + 1


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("retire", "revoke --keep-signatures"),
        ("threshold", "trust --threshold"),
        ("trusted", "list"),
        ("bind", "brain verify --ledger"),
    ],
)
def test_a_word_of_before_names_the_command_of_today(agent, cli, word, named):
    told = cli("key", word)
    assert told.status == 2 and f"Did you mean '{named}'?" in told.err


def test_below_the_threshold_fails(trusting):
    assert trusting("key", "trust", "--threshold", "2", "--key", "ada").status == 0
    learn(trusting)
    trusting("sign", "--key", "ada")
    assert codes(trusting) == {"below_threshold"}
    trusting("sign", "--key", "bob")
    assert codes(trusting) == set()


def test_a_forged_author_fails(trusting):
    bob = trusting("key", "list", "--json").document["keys"][1]["key"]
    assert trusting("--author", bob, "skill", "upsert", "x", "-d", "y").status == 0
    trusting("sign", "--key", "ada")
    assert codes(trusting) == {"forged_author"}


def test_a_root_that_signed_nothing_fails(trusting):
    assert codes(trusting, "--root", "mallory") == {"other_roots", "below_threshold"}
    trusting("key", "roots", "--remove", "ada")
    assert codes(trusting, "--root", "mallory") == {"below_threshold"}


def test_who_names_a_key_as_the_trust_file_does_is_told_where_its_text_is(trusting):
    for name in ("eve", "Eve at home"):
        told = trusting("key", "revoke", name, "--reason", "stolen", "--key", "ada")
        assert told.status == 1 and "brain key list" in told.err


def test_own_keys_and_the_rights_are_listed(trusting, tmp_path, monkeypatch):
    own, rights = trusting("key", "list", "@~1").out.split("\n\n")
    assert [line.split()[0] for line in own.splitlines()] == ["ada", "bob", "mallory"]
    assert rights.splitlines()[0] == "1 signature required, of:" and len(rights.split("\n")) == 3
    assert "No trust file" in trusting("key", "list", "@~2").out
    monkeypatch.chdir(tmp_path)
    assert trusting("key", "list").out.rstrip("\n") == own
    assert trusting("key", "list", "--json").document["trusted"] is None
    assert trusting("key", "list", "@").status == 10


def test_without_a_key_nothing_is_signed_and_one_is_told_so(agent, cli):
    assert cli("sign", "--json").error["code"] == "no_key"
    assert cli("key", "list").out.startswith("No trust file")
    stranger = "ed25519:3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    told = cli("key", "trust", stranger, "--as", "ada")
    assert told.status == 0 and told.err.startswith("Note: not signed")
    assert codes(cli) == {"unsigned"}


@pytest.mark.parametrize(("call", "status"), CASES["test_a_call_that_does_not_add_up_is_refused"])
def test_a_call_that_does_not_add_up_is_refused(trusting, call, status):
    assert trusting(*call).status == status


def test_a_key_that_signed_two_stories_is_a_warning(agent, cli, monkeypatch):
    new(cli, "ada")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    cli("branch", "idea")
    learn(cli, "one", "text")
    cli("switch", "idea")
    learn(cli, "two", "text")
    told = cli("verify", "--json")
    assert told.status == 0
    assert [one["code"] for one in told.document["findings"]] == ["equivocation"]


@pytest.mark.parametrize(
    "call", CASES["test_a_command_that_neither_signs_nor_meets_a_signature_imports_no_cryptography"]
)
def test_a_command_that_neither_signs_nor_meets_a_signature_imports_no_cryptography(agent, call):
    modules = loaded(*call, cwd=agent)
    assert "cryptography" not in modules
    assert "platformdirs" not in modules
