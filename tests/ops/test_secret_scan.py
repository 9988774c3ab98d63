"""Secrets are noticed as they are recorded, and found in all that ever was."""

import random

import pytest

from brain import Brain
from brain.errors import InvalidInput, NotFound
from brain.repo import secrets
from tests.support import planted_secrets

KEY = planted_secrets.SECRET_MAKERS["github-token"](random.Random(11))
OTHER = planted_secrets.SECRET_MAKERS["stripe-key"](random.Random(12))


def write(brain: Brain, path: str, content: str) -> None:
    (brain.root / path).write_text(content)


def accept(brain: Brain, *ids: str) -> None:
    lines = ["secrets:", "  accepted:", *(f'    - "{name}"' for name in ids)]
    write(brain, "manifest.yaml", "\n".join(lines) + "\n")


def test_a_snapshot_names_what_looks_like_a_secret_by_path_line_rule_and_id(brain):
    write(brain, "memory/notes.md", f"# Notes\n\nuse {KEY}\n")
    (notice,) = brain.snapshot().notices
    assert (notice.code, notice.path) == ("secret", "memory/notes.md")
    assert "line 3" in notice.message and "github-token" in notice.message
    assert "brain redact memory/notes.md" in notice.message
    (leak,) = brain.secrets.scan().findings
    assert leak.id in notice.message and KEY not in repr(notice)


def test_a_snapshot_of_named_paths_notices_too(brain):
    write(brain, "memory/notes.md", KEY)
    assert [notice.code for notice in brain.snapshot(paths=["memory"]).notices] == ["secret"]


def test_only_what_changed_is_noticed_again(brain):
    write(brain, "memory/notes.md", KEY)
    brain.snapshot()
    write(brain, "memory/other.md", "nothing")
    assert brain.snapshot().notices == []


def test_a_secret_is_found_until_its_content_is_redacted(brain):
    write(brain, "memory/notes.md", KEY)
    write(brain, "memory/other.md", "nothing")
    brain.snapshot()
    (brain.root / "memory/notes.md").unlink()
    brain.snapshot()
    assert brain.secrets.scan().ok
    found = brain.secrets.scan(history=True)
    assert [(leak.path, leak.line, leak.column) for leak in found.findings] == [
        ("memory/notes.md", 1, 1)
    ]
    brain.files.redact("memory/notes.md", reason="a key", rev=found.findings[0].snapshot)
    assert brain.secrets.scan(history=True).ok


def test_an_accepted_id_lets_that_one_secret_pass_and_no_other(brain):
    write(brain, "memory/notes.md", f"{KEY}\n{OTHER}\n")
    brain.snapshot()
    first, second = brain.secrets.scan().findings
    accept(brain, first.id)
    write(brain, "memory/again.md", f"{KEY}\n{OTHER}\n")
    (notice,) = brain.snapshot().notices
    assert notice.path == "memory/again.md" and second.id in notice.message
    found = brain.secrets.scan()
    assert {leak.id for leak in found.findings} == {second.id} and found.accepted == 2


def test_accepted_ids_that_are_no_text_are_refused(brain):
    write(brain, "manifest.yaml", "secrets:\n  accepted: [1234567812345678]\n")
    brain.snapshot()
    with pytest.raises(InvalidInput, match="in quotes"):
        brain.secrets.scan()


def test_large_files_are_left_to_a_search_which_knows_their_lines(brain):
    line = "x" * 99 + "\n"
    write(brain, "memory/large.md", line * 60_000 + KEY + "\n" + line)
    write(brain, "memory/notes.md", OTHER)
    small, large = brain.snapshot().notices
    assert (small.code, small.path) == ("secret", "memory/notes.md")
    assert large.code == "secrets_not_sought" and large.message.startswith("1 file was not")
    assert (60_001, 1) in [(leak.line, leak.column) for leak in brain.secrets.scan().findings]


def test_a_large_file_is_looked_through_where_there_is_room(brain):
    write(brain, "memory/large.md", f"{'x' * 99}\n" * 9000 + KEY)
    (notice,) = brain.snapshot().notices
    assert notice.path == "memory/large.md" and notice.message.startswith("line 9001 ")


def test_a_secret_in_a_skill_is_told_as_it_is_written(brain):
    done = brain.skills.upsert("Oracle", f"Use {KEY} for that.\n", description="Ask")
    (notice,) = done.notices
    assert (notice.code, notice.path) == ("secret", done.path)
    (leak,) = brain.secrets.scan().findings
    assert leak.id in notice.message
    write(brain, "manifest.yaml", f'secrets:\n  accepted: ["{leak.id}"]\n')
    brain.snapshot()
    assert brain.skills.upsert("Oracle", f"Use {KEY} always.\n").notices == []


def test_beyond_some_megabytes_a_snapshot_says_that_it_did_not_look(brain):
    part = secrets.MAX_SCANNED_BYTES // 16
    for number in range(18):
        write(brain, f"memory/{number}.md", f"{KEY}\n" + "x" * (part - len(KEY) - 1))
    *found, notice = brain.snapshot().notices
    assert len(found) == 16 and {one.code for one in found} == {"secret"}
    assert notice.code == "secrets_not_sought" and "brain secrets" in notice.message
    assert notice.message.startswith("2 files were not")
    assert len(brain.secrets.scan().findings) == 18


def test_a_search_looks_only_where_it_is_told(brain):
    write(brain, "memory/notes.md", KEY)
    write(brain, "top.md", OTHER)
    brain.snapshot()
    assert [leak.path for leak in brain.secrets.scan(["memory"]).findings] == ["memory/notes.md"]
    assert [leak.path for leak in brain.secrets.scan(["top.md"]).findings] == ["top.md"]
    with pytest.raises(NotFound):
        brain.secrets.scan(["nowhere"])


def test_a_manifest_that_cannot_be_read_keeps_no_snapshot_from_being_made(brain):
    write(brain, "manifest.yaml", "secrets: [\n")
    write(brain, "memory/notes.md", f"{KEY}\n")
    made = brain.snapshot()
    assert made.changed and [one.code for one in made.notices] == ["secret", "bad_manifest"]
    assert brain.status().clean


def test_a_secret_in_a_message_is_never_recorded_for_nothing_could_redact_it(brain):
    write(brain, "memory/notes.md", "nothing\n")
    done = brain.snapshot(f"Use {KEY} from now on")
    assert [(one.code, one.path) for one in done.notices] == [("secret", "")]
    assert next(brain.history.log(limit=1)).message == "Use [redacted: github-token] from now on"
    made = brain.skills.upsert("deploy", b"Ship it.\n", message=f"with {OTHER}")
    assert [one.code for one in made.notices] == ["secret"]
    assert OTHER not in next(brain.history.log(limit=1)).message
    for data in (brain.root / ".brain").rglob("*"):
        assert not data.is_file() or KEY.encode() not in data.read_bytes()


def test_a_message_says_what_it_says_where_a_person_accepted_it(brain):
    write(brain, "memory/notes.md", KEY)
    brain.snapshot()
    accept(brain, *(one.id for one in brain.secrets.scan().findings))
    brain.snapshot()
    write(brain, "memory/notes.md", "nothing\n")
    done = brain.snapshot(f"Remove {KEY}")
    assert done.notices == [] and next(brain.history.log(limit=1)).message == f"Remove {KEY}"


def test_the_reason_of_a_redaction_does_not_repeat_the_secret(brain):
    write(brain, "memory/notes.md", f"use {KEY}\n")
    brain.snapshot()
    brain.files.redact("memory/notes.md", reason=f"it held {KEY}")
    assert KEY not in repr(list(brain.history.log()))


def test_a_keystore_in_the_folder_is_noticed(brain):
    hexed = "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46"
    name = "UTC--2026-01-01T00-00-00.000Z--008aeeda4d805471df9b2a5b0f38a0c3bcba786b"
    keystore = f'{{"crypto": {{"ciphertext": "{hexed}", "kdf": "scrypt", "mac": "{hexed}"}}}}'
    write(brain, name, keystore)
    (notice,) = brain.snapshot().notices
    assert notice.path == name and "keystore" in notice.message


def test_a_secret_in_a_message_of_old_is_found_in_the_history(brain, monkeypatch):
    write(brain, "memory/notes.md", "nothing\n")
    with monkeypatch.context() as before:  # as programs recorded it that mask nothing
        before.setattr(secrets, "mask_recorded_message", lambda session, message: message)
        done = brain.snapshot(f"Use\n{KEY} from now on")
    assert brain.secrets.scan().ok
    (leak,) = brain.secrets.scan(history=True).findings
    assert (leak.path, leak.line, leak.rule) == ("", 2, "github-token")
    assert leak.snapshot == done.snapshot
    accept(brain, leak.id)
    brain.snapshot()
    assert brain.secrets.scan(history=True).ok


def test_neither_a_removed_file_nor_a_link_hides_a_secret_beside_it(brain):
    write(brain, "memory/a.md", "nothing")
    brain.snapshot()
    (brain.root / "memory/a.md").unlink()
    (brain.root / "memory/b.md").symlink_to("c.md")
    write(brain, "memory/c.md", KEY)
    assert [(one.code, one.path) for one in brain.snapshot().notices] == [("secret", "memory/c.md")]


def test_a_rename_tells_of_a_secret_as_an_upsert_does(brain):
    told = brain.skills.upsert("deploy", f"# Deploy\n\nUse {KEY}\n", description="d").notices
    (again,) = brain.skills.rename("deploy", "release").notices
    assert [one.code for one in told] == [again.code] == ["secret"]
    assert again.path == "skills/release/SKILL.md"
