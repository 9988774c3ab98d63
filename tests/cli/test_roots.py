"""Pinned root keys, and the repair of a trust file, as people and programs use them."""

import json
import os
import shutil
from pathlib import Path

import pytest
from brain_cli.context import App
from brain_cli.mcp_options import open_brain_pool

from tests.cli.conftest import Call
from tests.cli.test_commands import learn
from tests.cli.test_trust_commands import codes, new
from tests.support.agent_homes import make_hermes_home

VOUCHED = "Signed by keys that may sign"
UNKNOWN = "Signed; no root key is pinned for this brain, so the keys cannot be checked"


def pins() -> dict[str, list[str]]:
    """Return what is pinned, of all brains."""
    path = Path(os.environ["BRAIN_ROOTS"])
    brains: dict[str, list[str]] = json.loads(path.read_text())["brains"] if path.exists() else {}
    return brains


def shown(cli: Call) -> list[str]:
    """Return the roots that are shown."""
    roots: list[str] = cli("key", "roots", "--json").document["roots"]
    return roots


def frame(cli: Call) -> str:
    """Return the line before the skills in the prompt, which says what signatures are worth."""
    return next(line for line in cli("prompt").out.splitlines() if line.startswith("[Skills."))


@pytest.fixture
def strange(agent, cli):
    """A brain by somebody else, who signs: nothing of it is pinned. Returns the keys."""
    keys = new(cli, "ada", "bob")
    cli("key", "trust", "ada", "--as", "Ada", "--key", "ada")
    learn(cli)
    cli("sign", "--key", "ada")
    Path(os.environ["BRAIN_ROOTS"]).unlink()
    return keys


def test_whoever_makes_a_brain_with_a_key_pins_it(folder, cli, monkeypatch):
    (key,) = new(cli, "ada")
    assert cli("init", "plain").status == 0 and pins() == {}
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    told = cli("init", "signed", "--json")
    assert pins() == {told.document["brain"]: [key]} and told.err == ""
    assert cli("-C", "signed", "verify").status == 0
    monkeypatch.delenv("BRAIN_SIGN_KEY")
    learn(lambda *call: cli("-C", "signed", *call))
    told = cli("-C", "signed", "verify")
    assert told.status == 3 and f"not signed by the root key {key}" in told.out


def test_whoever_adopts_or_forks_with_a_key_pins_it(agent, cli, monkeypatch):
    (key,) = new(cli, "ada")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    make_hermes_home(Path("../home"))
    adopted = cli("adopt", "../home", "../copy", "--json").document["brain"]
    forked = cli("fork", "../child", "--json").document["brain"]
    assert pins() == {adopted: [key], forked: [key]}
    assert cli("-C", "../copy", "verify").status == 0 == cli("-C", "../child", "verify").status
    cli("adopt", "../home", "../copy")
    cli("adopt", "../home", "../none", "--dry-run")
    assert pins().keys() == {adopted, forked}


def test_whoever_signs_the_first_trust_file_is_pinned_once(agent, cli):
    ada, bob = new(cli, "ada", "bob")
    told = cli("key", "trust", bob, "--as", "Bob", "--key", "ada")
    assert f"Pinned for this brain as root, in {os.environ['BRAIN_ROOTS']}: {ada}" in told.err
    assert "Pinned" not in cli("key", "trust", ada, "--as", "Ada", "--key", "bob").err
    assert shown(cli) == [ada]


def test_a_root_that_is_named_once_is_pinned_if_it_holds(strange, cli):
    ada, bob = strange
    assert shown(cli) == [] and "No root key is pinned" in cli("key", "roots").out
    assert codes(cli, "--root", bob) == {"below_threshold"} and pins() == {}
    told = cli("verify", "--root", "ada")
    assert told.status == 0 and told.err.startswith("Pinned for this brain as root")
    assert shown(cli) == [ada]
    assert codes(cli) == set() and "Pinned" not in cli("verify", "--root", "ada").err
    assert codes(cli, "--root", bob) == {"other_roots", "below_threshold"}
    assert "key roots" in cli("verify", "--root", bob).err and shown(cli) == [ada]


def test_roots_are_shown_and_changed(strange, cli):
    ada, bob = strange
    assert cli("key", "roots", "--add", "bob").out == f"{bob}\n"
    assert codes(cli) == {"below_threshold"}
    cli("key", "roots", "--add", ada, "--remove", "bob")
    assert shown(cli) == [ada] and codes(cli) == set()
    told = cli("key", "roots", "--remove", bob, "--json")
    assert told.status == 1 and told.error["code"] == "not_pinned" and shown(cli) == [ada]
    assert cli("key", "roots", "--add", "ed25519:00", "--json").error["code"] == "bad_key"


def test_the_prompt_says_who_may_sign_only_on_the_word_of_a_pin(strange, cli):
    ada, bob = strange
    assert UNKNOWN in frame(cli) and VOUCHED not in cli("prompt").out
    cli("key", "roots", "--add", bob)
    assert "Signed by no key that may sign" in frame(cli)
    cli("key", "roots", "--add", ada, "--remove", bob)
    assert VOUCHED in frame(cli)


@pytest.mark.parametrize(("reads", "approves"), [(False, False), (False, True), (True, False)])
def test_agents_are_told_by_the_same_pins(strange, agent, cli, reads, approves):
    def told() -> list[str]:
        app = App(str(agent))
        with open_brain_pool(app, reads, approves, None) as served:
            return [served.instructions("x"), served.read_index("x").text, served.read_prompt("x")]

    assert all(UNKNOWN in text and VOUCHED not in text for text in told())
    cli("key", "roots", "--add", "ada")
    assert all(VOUCHED in text for text in told())
    cli("key", "roots", "--add", "bob")
    assert all("Signed by no key that may sign" in text for text in told())


def test_a_brain_that_was_handed_over_is_vouched_for_by_nothing(strange, agent, cli):
    """What is pinned is pinned for one brain: another one in its place has none."""
    cli("verify", "--root", "ada")
    assert VOUCHED in frame(cli)
    shutil.rmtree(agent / ".brain")
    cli("init")
    cli("snapshot")
    cli("sign", "--key", "bob")
    assert UNKNOWN in frame(cli)


def test_who_wrote_himself_into_the_trust_file_is_told_everywhere(strange, cli):
    cli("verify", "--root", "ada")
    cli("key", "trust", "bob", "--as", "Bob", "--key", "bob")
    learn(cli, "evil", "text")
    cli("sign", "--key", "bob")
    assert "Signed by no key that may sign" in frame(cli)
    assert codes(cli) == {"unknown_key", "below_threshold"}


def test_a_file_of_pins_that_is_broken_stops_what_asks_for_it(strange, cli):
    Path(os.environ["BRAIN_ROOTS"]).write_text("{}")
    for call in (["prompt"], ["key", "roots"], ["key", "roots", "--add", "ada"]):
        assert cli(*call, "--json").error["code"] == "bad_roots"
    assert codes(cli) == {"bad_roots"}
    assert "repair the file of pinned root keys" in cli("verify").err


def test_settings_that_cannot_be_written_stop_nothing_but_the_pin(
    agent, cli, tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BRAIN_ROOTS", str(tmp_path / "file" / "roots.json"))
    new(cli, "ada")
    monkeypatch.setenv("BRAIN_SIGN_KEY", "ada")
    told = cli("init", "../new")
    assert told.status == 0 and "could not be pinned" in told.err
    assert len(codes(cli)) == 1
    told = cli("key", "roots", "--add", "ada", "--json")
    assert told.status != 0 and told.error["code"]


def test_without_a_file_that_is_named_they_are_with_the_settings(
    strange, cli, tmp_path, monkeypatch
):
    monkeypatch.setenv("BRAIN_ROOTS", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = cli("key", "roots", "--add", "ada", "--json").document["path"]
    assert path.startswith(str(tmp_path)) and path.endswith("brain/roots.json")
    assert Path(path).is_file()


def test_a_broken_trust_file_is_repaired(strange, agent, cli):
    (agent / "trust.json").write_text("[]")
    cli("snapshot")
    told = cli("verify")
    assert told.status == 3 and "key repair" in told.err
    assert "key repair" in cli("key", "trust", "--threshold", "1", "--key", "ada").err
    told = cli("key", "repair", "--key", "ada")
    assert told.status == 0 and "signed" in told.out
    cli("sign", "--all", "--key", "ada")
    assert codes(cli, "--root", "ada") == set()
    assert cli("key", "repair", "--key", "ada").out == "Nothing to change\n"


def test_a_branch_beside_the_trust_file_is_told(strange, cli):
    cli("branch", "aside", "@~2")
    cli("switch", "aside")
    told = cli("verify")
    assert told.status == 3 and "heads/aside" in told.out and "heads/main" in told.out
    assert "switch to the branch" in told.err
