"""Adopting, publishing and secrets."""

import random
from pathlib import Path

import pytest

from tests.support import agent_homes, planted_secrets
from tests.support.cases import read_cases
from tests.support.planted_secrets import SECRET_MAKERS

CASES = read_cases(__file__)


@pytest.fixture
def home(folder):
    """A Hermes home in the current folder."""
    return agent_homes.make_hermes_home(folder / "home")


def test_what_was_taken_and_left_out_is_said_by_reason(home, cli):
    told = cli("adopt", "home", "copy")
    assert told.status == 0
    assert told.out.startswith("Adopted 2 skills, 7 files from hermes at ")
    assert "  secrets: .env, auth.json\n" in told.out
    assert "  backups of the program: skills/.curator_backups\n" in told.out


def test_a_dry_run_tells_the_same_and_writes_nothing(home, cli):
    before = sorted(home.rglob("*"))
    told = cli("adopt", "home", "copy", "--dry-run")
    assert told.out.startswith("Would adopt 2 skills, 7 files from hermes at ")
    assert "  secrets: .env, auth.json\n" in told.out
    assert cli("adopt", "home", "--dry-run").status == 0
    assert sorted(home.rglob("*")) == before and not Path("copy").exists()


def test_nothing_is_told_to_be_new_where_nothing_changed(home, cli):
    cli("adopt", "home", "copy")
    told = cli("adopt", "home", "copy")
    assert told.out.startswith("Nothing changed since hermes at ") and told.out.count("\n") == 1


def test_a_change_on_both_sides_is_asked_about(home, cli):
    cli("adopt", "home", "copy")
    (home / "SOUL.md").write_text("You are bold.")
    Path("copy/SOUL.md").write_text("You are shy.")
    cli("-C", "copy", "snapshot")

    told = cli("adopt", "home", "copy")

    assert told.status == 12 and "SOUL.md" in told.out
    assert told.err.splitlines()[1].startswith("Hint: resolve them with `brain resolve`")
    assert Path("copy/SOUL.md").read_text() == "You are shy."
    assert cli("-C", "copy", "resolve", "SOUL.md", "--theirs").status == 0
    assert cli("-C", "copy", "merge", "--continue").status == 0
    assert Path("copy/SOUL.md").read_text() == "You are bold."


@pytest.mark.parametrize(
    ("call", "error", "hint"), CASES["test_what_cannot_be_adopted_says_why_and_what_to_do"]
)
def test_what_cannot_be_adopted_says_why_and_what_to_do(home, cli, call, error, hint):
    agent_homes.write_files(Path("src"), {"main.c": ""})
    agent_homes.write_files(Path(".hermes"), {"SOUL.md": ""})
    agent_homes.write_files(Path("both"), {"state.db": "", "todos/": ""})
    agent_homes.make_claude_project(Path("project"))
    told = cli("adopt", *call)
    assert told.status == 1 and error in told.err
    assert f"Hint: {hint}" in told.err


def test_the_kind_can_be_said_where_a_place_has_two(folder, cli):
    agent_homes.write_files(
        Path("both"),
        {"CLAUDE.md": "", ".agents/skills/a/SKILL.md": agent_homes.skill_text("a", "b")},
    )
    for kind, count in (("claude", "1 skill, 2 files "), ("codex", "1 skill, 1 file ")):
        told = cli("adopt", "both", "copy", "--as", kind)
        assert told.status == 0 and told.out.startswith(f"Adopted {count}from {kind} at ")


def test_skills_beside_a_home_in_place_are_named_with_a_command_that_copies_them(folder, cli):
    text = agent_homes.skill_text
    home = agent_homes.write_files(
        folder / ".claude",
        {
            "projects/": "",
            "skills/a/SKILL.md": text("a", "A."),
            "my tools/b/SKILL.md": text("b", "B."),
            "backups/c/SKILL.md": text("c", "C."),
        },
    )
    told = cli("adopt", ".claude")
    assert "  not a part of a brain, with 1 skill: my tools\n" in told.out
    assert told.out.count("Hint:") == 1
    hint = f"Hint: `brain adopt '{home}/my tools' {home}` copies its skills into the brain"
    assert hint in told.out
    assert "Hint: `brain adopt 'my tools' .`" in cli("-C", ".claude", "status").err
    assert cli("adopt", f"{home}/my tools", str(home)).status == 0
    listed = cli("-C", ".claude", "skill", "list", "--json").document["skills"]
    assert [skill["slug"] for skill in listed] == ["a", "b"]


def test_a_folder_of_skills_in_place_names_the_command_for_those_elsewhere(folder, cli):
    files = {
        f"{place}/SKILL.md": agent_homes.skill_text(place[-1], "S.")
        for place in ("skills/a", "tools/skills/b")
    }
    agent_homes.write_files(folder / "all", files)
    told = cli("adopt", "all")
    place = folder / "all"
    assert f"Hint: `brain adopt {place}/tools/skills {place}` copies" in told.out
    assert cli("adopt", f"{place}/tools/skills", str(place)).status == 0
    listed = cli("-C", "all", "skill", "list", "--json").document["skills"]
    assert [skill["slug"] for skill in listed] == ["a", "b"]


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
    assert (
        "Hint: import them with `brain adopt ../out`, or replace them with --overwrite" in told.err
    )
    assert cli("publish", "--to", "agentskills", "../out", "--overwrite").status == 0


def test_an_earlier_revision_can_be_published(agent, cli):
    cli("skill", "delete", "reentrancy")
    told = cli("publish", "--to", "agentskills", "../out", "@~1")
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


@pytest.mark.parametrize(
    "call", [["--to", "emacs", "out"], ["--to", "claude"], ["--to", "claude", ""]]
)
def test_a_client_that_is_known_and_a_folder_are_needed(agent, cli, call):
    assert cli("publish", *call).status == 2


def test_the_clients_of_the_command_are_those_of_the_library():
    from brain_cli.commands.import_export import PUBLISH_CLIENTS

    from brain import adopting

    assert PUBLISH_CLIENTS == adopting.PUBLISH_CLIENTS


KEY = planted_secrets.SECRET_MAKERS["aws-access-key"](random.Random(21))


def test_a_snapshot_says_where_and_which_rule_and_how_to_be_rid_of_it(agent, cli):
    Path("memory/notes.md").write_text(f"one\nkey {KEY}\n")
    told = cli("snapshot")
    assert told.status == 0
    assert told.err.startswith("Note: memory/notes.md: line 2 looks like a secret (aws-access-key,")
    assert KEY not in told.out + told.err
    _, command, _ = told.err.split("`")
    assert cli(*command.split()[1:], "--yes").status == 0
    assert cli("secrets", "--history").status == 0 and not Path("memory/notes.md").exists()


def test_an_upsert_warns_as_a_snapshot_does(agent, cli):
    Path("../body.md").write_text(f"one\nkey {KEY}\n")
    told = cli("skill", "upsert", "Oracle manipulation", "-f", "../body.md")
    path = "skills/oracle-manipulation/SKILL.md"
    assert told.status == 0 and told.err.startswith(f"Note: {path}: line ")
    assert f"brain redact {path}" in told.err and KEY not in told.out + told.err


def test_findings_end_with_status_1_and_an_accepted_one_does_not(agent, cli):
    assert cli("secrets").out == "No secrets in 5 files.\n"
    Path("memory/notes.md").write_text(KEY)
    cli("snapshot")
    told = cli("secrets")
    assert told.status == 1 and told.out.startswith("memory/notes.md:1:1: aws-access-key ")
    assert "brain redact" in told.err and KEY not in told.out + told.err
    (found,) = cli("secrets", "--json").document["findings"]
    Path("manifest.yaml").write_text(f'secrets:\n  accepted: ["{found["id"]}"]\n')
    cli("snapshot")
    told = cli("secrets")
    assert (told.status, told.out) == (0, "No secrets in 5 files, 1 accepted.\n")


def test_in_json_findings_keep_the_schema(agent, cli):
    Path("memory/notes.md").write_text(KEY)
    snapshot = cli("snapshot", "--json").document
    assert [notice["code"] for notice in snapshot["notices"]] == ["secret"]
    told = cli("secrets", "--history", "--json")
    assert told.status == 1 and told.document["findings"][0]["snapshot"] == snapshot["snapshot"]
