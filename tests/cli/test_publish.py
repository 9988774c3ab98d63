import random

import pytest

from tests.support.planted_secrets import SECRET_MAKERS


def test_what_was_written_and_what_has_no_place_is_said(agent, cli):
    told = cli("publish", "--to", "claude", "../project")
    assert told.status == 0
    assert told.out.startswith("Wrote 2 files, 0 removed, 0 unchanged, in ")
    assert "a Claude Code project has no place for it: memory/notes.md, prompts/" in told.out
    assert (agent.parent / "project/.claude/skills/reentrancy/SKILL.md").is_file()
    assert cli("publish", "--to", "claude", "../project").out.startswith("Wrote 0 files")


def test_a_dry_run_writes_nothing(agent, cli):
    told = cli("publish", "--to", "codex", "../project", "--dry-run")
    assert told.out.startswith("Would write 2 files") and not (agent.parent / "project").exists()


def test_what_was_changed_there_is_a_conflict(agent, cli):
    cli("publish", "--to", "agentskills", "../out")
    (agent.parent / "out/reentrancy/SKILL.md").write_text("mine")
    told = cli("publish", "--to", "agentskills", "../out")
    assert told.status == 12
    assert told.out.splitlines()[0] == ("C reentrancy/SKILL.md: was changed since it was published")
    assert "Hint: import them with `brain adopt`, or replace them with --overwrite" in told.err
    assert cli("publish", "--to", "agentskills", "../out", "--overwrite").status == 0


def test_an_earlier_revision_can_be_published(agent, cli):
    cli("skill", "delete", "reentrancy")
    told = cli("publish", "--to", "agentskills", "../out", "--rev", "@~1")
    assert told.out.startswith("Wrote 2 files")


def test_a_secret_holds_back_its_file_until_its_id_is_allowed(agent, cli):
    secret = SECRET_MAKERS["github-token"](random.Random(7))
    notes = agent / "skills/reentrancy/references/notes.md"
    notes.parent.mkdir(exist_ok=True)
    notes.write_text(f"Use {secret}.\n")
    cli("snapshot")
    told = cli("--json", "publish", "--to", "agentskills", "../out")
    assert told.status == 1 and told.error["code"] == "secrets_found"
    (held_back,) = told.document["held_back"]
    assert held_back["path"] == "skills/reentrancy/references/notes.md"
    assert "Use [redacted: github-token]" in held_back["message"]
    assert secret not in told.out + told.err
    out = agent.parent / "out/reentrancy"
    assert (out / "SKILL.md").is_file() and not (out / "references/notes.md").exists()
    allowed = held_back["message"].rpartition("allow ")[2]
    assert cli("publish", "--to", "agentskills", "../out", "--allow", allowed).status == 0
    assert (out / "references/notes.md").read_text() == notes.read_text()
    assert cli("publish", "--to", "agentskills", "../out").status == 0  # nothing to write


def test_a_skill_with_a_secret_in_its_text_is_held_back_as_a_whole(agent, cli):
    skill = agent / "skills/reentrancy/SKILL.md"
    (skill.parent / "more.md").write_text("more")
    skill.write_text(skill.read_text() + "Use " + SECRET_MAKERS["npm-token"](random.Random(7)))
    cli("snapshot")
    told = cli("publish", "--to", "agentskills", "../out")
    assert told.status == 1 and "1 file held back because of secrets" in told.err
    assert "\nHeld back:\n  skills/reentrancy/SKILL.md: npm-token in line " in told.out
    assert "[redacted: npm-token]" in told.out
    assert not (agent.parent / "out/reentrancy").exists()
    assert [path.name for path in (agent.parent / "out").glob("*/SKILL.md")] == ["SKILL.md"]


def test_what_was_published_before_a_secret_came_in_stays_as_it_was(agent, cli):
    cli("publish", "--to", "agentskills", "../out")
    published = agent.parent / "out/reentrancy/SKILL.md"
    before = published.read_text()
    skill = agent / "skills/reentrancy/SKILL.md"
    skill.write_text(skill.read_text() + "Use " + SECRET_MAKERS["npm-token"](random.Random(7)))
    cli("snapshot")
    assert cli("publish", "--to", "agentskills", "../out").status == 1
    assert published.read_text() == before


def test_a_keystore_or_a_key_in_pem_beside_a_skill_is_held_back(agent, cli):
    key = "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46"
    keystore = f'{{"crypto": {{"ciphertext": "{key}", "kdf": "scrypt", "mac": "{key}"}}}}'
    encrypted = "ENCRYPTED " + "PRIVATE KEY"
    pem = f"-----BEGIN {encrypted}-----\n{key}\n-----END {encrypted}-----\n"
    for name, content in (("wallet.json", keystore), ("key.txt", pem)):
        file = agent / "skills/reentrancy" / name
        file.write_text(content)
        assert f"skills/reentrancy/{name}: line 1 looks like a secret" in cli("snapshot").err
        told = cli("--json", "publish", "--to", "agentskills", "../out")
        assert told.error["code"] == "secrets_found" and key not in told.out + told.err
        assert [row["path"] for row in told.document["held_back"]] == [f"skills/reentrancy/{name}"]
        file.unlink()


@pytest.mark.parametrize("call", [["--to", "emacs", "out"], ["out"], ["--to", "claude", ""]])
def test_a_client_and_a_folder_are_needed(agent, cli, call):
    assert cli("publish", *call).status == 2


def test_the_clients_of_the_command_are_those_of_the_library():
    from brain_cli.commands.import_export import PUBLISH_CLIENTS

    from brain import adopting

    assert PUBLISH_CLIENTS == adopting.PUBLISH_CLIENTS
