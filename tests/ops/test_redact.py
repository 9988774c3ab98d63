import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from brain import Brain, Conflict, InvalidInput, NotFound
from brain.digest import blob_id
from brain.errors import BrainError
from brain.ops import redact
from brain.repo.derived_db import CONTENT_TABLES
from brain.repo.transaction import log_operation
from brain.results import Finding
from brain.store import rows
from brain.store.blobs import BlobDecoder
from brain.store.database import TABLES
from brain.trust.ed25519 import format_key
from tests.support.brains import skill_text, write_file
from tests.support.derived_data import cache_folder, drop_memory_cache
from tests.support.old_stores import pack_with_dictionary
from tests.support.refusals import raises_code
from tests.support.signed_lineages import KEY_SEEDS, PUBLIC_KEYS

NOTES = "memory/notes.md"


def secret(number: int = 0) -> str:
    return f"the key is {random.Random(number).randbytes(24).hex()}"


def files_with(folder: Path, sought: bytes) -> list[str]:
    """Return the files at any depth of a folder that hold some bytes."""
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and sought in path.read_bytes()
    ]


def holders(brain: Brain, text: str) -> list[str]:
    """Return the files of the brain, its store and its cache, and the rows, that hold a text."""
    sought = text.encode()
    found = files_with(brain.root, sought)
    found += [f"cache/{name}" for name in files_with(cache_folder(brain).parent, sought)]
    db = brain._session.store._db  # type: ignore[attr-defined]
    decoder = BlobDecoder(db)
    for id, codec, data in db.fetch_all("SELECT id, codec, data FROM blobs WHERE codec != 1"):
        if sought in decoder.decode(id, codec, data):
            found.append(f"blob {id.hex()}")
    cache = brain._session.cache.db
    tables = [(db, sql.split()[2]) for sql in TABLES] + [(cache, name) for name in CONTENT_TABLES]
    for where, name in tables:
        for row in where.fetch_all(f"SELECT * FROM {name}"):
            if any(sought in (v if isinstance(v, bytes) else str(v).encode()) for v in row):
                found.append(name)
    return found


def code_of(action: Callable[[], object], kind: type[BrainError]) -> str:
    with pytest.raises(kind) as error:
        action()
    return error.value.code


def told(brain: Brain) -> list[tuple[str, str, str]]:
    found = brain.verify(deep=True)
    assert found.ok
    return [(finding.code, finding.severity, finding.path) for finding in found.findings]


def test_of_redacted_content_nothing_is_left_but_its_id_and_who_when_and_why(brain):
    word = secret()
    write_file(brain, NOTES, f"One.\n{word}\nThree.\n")
    brain.snapshot("Learn")
    assert holders(brain, word)
    done = brain.files.redact(NOTES, reason="It holds a key")
    assert holders(brain, word) == []
    assert (done.removed, done.branches, done.scrubbed) == ([NOTES], [], True)
    assert not (brain.root / NOTES).exists()
    info = brain.history.show().info
    assert info.operation == {
        "kind": "redact",
        "path": NOTES,
        "blob": done.blobs[0],
        "reason": "It holds a key",
    }
    with raises_code("redacted", NotFound, match=r"redacted by tester on .*: It holds a key"):
        brain._session.store.read_blob(bytes.fromhex(done.blobs[0]))
    assert told(brain) == [("redacted", "note", NOTES)]
    folders = brain.root, cache_folder(brain).parent
    brain.close()
    assert [name for folder in folders for name in files_with(folder, word.encode())] == []


def notes(brain: Brain) -> list[bytes]:
    return [(brain.root / f"memory/{number}.md").read_bytes() for number in range(400)]


def test_what_a_dictionary_was_trained_on_is_gone_from_it_too(brain):
    word = secret()
    chance = random.Random(1)
    for number in range(400):
        line = word if number % 50 == 7 else f"{chance.random()}"
        write_file(brain, f"memory/{number}.md", f"# Note {number}\nWhat was learnt:\n{line}\n" * 3)
    brain.snapshot()
    pack_with_dictionary(brain._session.store, notes(brain))
    db = brain._session.store._db  # type: ignore[attr-defined]
    ((dictionary,),) = db.fetch_all("SELECT data FROM dictionaries WHERE number = 1")
    part = word[-30:-10]
    assert part.encode() in dictionary
    for number in range(7, 400, 50):
        brain.files.redact(f"memory/{number}.md", reason="A key")
    assert holders(brain, part) == []
    assert {code for code, _, _ in told(brain)} == {"redacted"}
    write_file(brain, "memory/new.md", "Learnt later.\n" * 50)
    brain.snapshot()
    assert {code for code, _, _ in told(brain)} == {"redacted"}


def test_a_reader_in_the_midst_of_a_blob_that_is_packed_anew_gets_its_content(brain):
    chance = random.Random(1)
    for number in range(400):
        text = f"# Note {number}\nWhat was learnt:\n{chance.random()}\n" * 3
        write_file(brain, f"memory/{number}.md", text)
    brain.snapshot()
    pack_with_dictionary(brain._session.store, notes(brain))
    text = (brain.root / "memory/7.md").read_bytes()
    with Brain.open(brain.root) as other:
        store = other._session.store
        row = store._fetch_blob_row(blob_id(text))  # type: ignore[attr-defined]
        for number in range(20, 60):
            brain.files.redact(f"memory/{number}.md", reason="x")
        assert store._fetch_blob_row(blob_id(text)) != row  # type: ignore[attr-defined]
        content = store._decode_content(blob_id(text), *row)  # type: ignore[attr-defined]
        assert content == text
        assert dict(store.read_small_blobs([blob_id(text)])) == {blob_id(text): text}


def test_all_a_file_ever_held_goes_with_its_history_also_what_was_undone(brain):
    word = secret()
    for text in (f"{word}\n", f"{word}\nMore.\n", f"{word}\nMore.\nAnd more.\n"):
        write_file(brain, NOTES, text)
        brain.snapshot()
    brain.undo()
    write_file(brain, NOTES, "Clean.\n")
    brain.snapshot()
    done = brain.files.redact(NOTES, reason="A key", history=True)
    assert len(done.blobs) == 4
    assert holders(brain, word) == []
    assert {code for code, _, _ in told(brain)} == {"redacted"}


def test_large_files_lose_their_chunks_and_those_that_grew_from_them_still_read(brain):
    words = [secret(number) for number in range(4)]
    chance = random.Random(2)
    filler = "".join(f"{chance.random()}\n" for _ in range(20_000))
    texts = []
    for number in range(4):
        texts.append((texts[-1] if texts else filler) + f"{words[number]}\n{chance.random()}\n" * 2)
        write_file(brain, "memory/log.jsonl", texts[-1])
        brain.snapshot(f"{number}")
    brain.files.redact("memory/log.jsonl", rev="@~1", reason="An earlier one")
    assert {code for code, _, _ in told(brain)} == {"redacted"}
    assert (brain.root / "memory/log.jsonl").read_text() == texts[-1]
    brain.files.redact("memory/log.jsonl", reason="All of it", history=True)
    assert {code for code, _, _ in told(brain)} == {"redacted"}
    assert [word for word in (*words, filler[:200], filler[-200:]) if holders(brain, word)] == []


def test_a_small_file_that_is_a_chunk_of_a_grown_one_goes_and_the_grown_one_stays(brain):
    small = secret() + "\n"
    write_file(brain, "memory/log.txt", small)
    brain.snapshot()
    grown = small + "".join(f"{number}\n" for number in range(60_000))
    write_file(brain, "memory/log.txt", grown)
    brain.snapshot()
    done = brain.files.redact("memory/log.txt", rev="@~1", reason="Short")
    assert done.removed == []
    assert not brain._session.store.has_object(bytes.fromhex(done.blobs[0]))
    (brain.root / "memory/log.txt").unlink()
    brain.restore("@", ["memory/log.txt"])
    assert (brain.root / "memory/log.txt").read_text() == grown
    assert told(brain) == [("redacted", "note", "memory/log.txt")]


def test_redacted_content_does_not_come_back(brain):
    write_file(brain, NOTES, "A secret.\n")
    write_file(brain, "memory/other.md", "Another.\n")
    brain.snapshot()
    brain.files.redact(NOTES, reason="A key")
    head = brain.head
    write_file(brain, "memory/again.md", "A secret.\n")
    with raises_code(
        "redacted", Conflict, match=r"was redacted by .*: .*, and is not stored again"
    ):
        brain.snapshot()
    assert brain.head == head
    (brain.root / "memory/again.md").unlink()
    assert brain.status().clean


def test_a_skill_can_be_redacted_and_written_again_at_a_higher_version(brain):
    word = secret()
    brain.skills.upsert("Oracle", f"{word}\n", description=f"About {word}")
    brain.files.redact("skills/oracle/SKILL.md", reason="A key")
    assert holders(brain, word) == []
    assert brain.skills.list() == []
    assert brain.skills.upsert("Oracle", "Clean.\n").version == 2
    assert {code for code, _, _ in told(brain)} == {"redacted"}
    assert [row.version for row in brain.skills.history("oracle")] == [2, 1, 1]


def test_a_file_changed_by_hand_is_not_taken_along(brain):
    write_file(brain, NOTES, "One.\n")
    brain.snapshot()
    write_file(brain, NOTES, "One.\nBy hand.\n")
    head = brain.head
    redact = lambda: brain.files.redact(NOTES, reason="x")  # noqa: E731
    assert code_of(redact, Conflict) == "unrecorded_changes"
    assert brain.head == head
    assert (brain.root / NOTES).read_text() == "One.\nBy hand.\n"


@pytest.mark.parametrize("text", ["", "x"])
def test_nothing_and_a_single_byte_cannot_be_redacted(brain, text):
    write_file(brain, NOTES, text)
    brain.snapshot()
    assert code_of(lambda: brain.files.redact(NOTES, reason="x"), InvalidInput) == "too_small"


def test_a_redaction_needs_a_reason_and_a_file(brain):
    assert code_of(lambda: brain.files.redact(NOTES, reason=" "), InvalidInput) == "no_reason"
    assert code_of(lambda: brain.files.redact(NOTES, reason="x"), NotFound) == "no_path"
    write_file(brain, NOTES, "One.\n")
    brain.snapshot()
    brain.files.redact(NOTES, reason="x")
    again = lambda: brain.files.redact(NOTES, reason="x", rev="@~1")  # noqa: E731
    assert code_of(again, NotFound) == "redacted"


def test_restore_leaves_out_what_was_redacted_and_names_it(brain):
    write_file(brain, NOTES, "A secret.\n")
    write_file(brain, "memory/other.md", "One.\n")
    brain.snapshot()
    brain.files.redact(NOTES, reason="x")
    write_file(brain, NOTES, "Clean.\n")
    write_file(brain, "memory/other.md", "Two.\n")
    brain.snapshot()
    done = brain.restore("@~2")
    assert (done.written, done.removed, done.redacted) == (["memory/other.md"], [], [NOTES])
    assert (brain.root / NOTES).read_text() == "Clean.\n"


def test_a_branch_that_still_lists_it_is_named_and_switching_there_leaves_it_out(brain):
    write_file(brain, NOTES, "A secret.\n")
    brain.snapshot()
    brain.branches.create("idea")
    assert brain.files.redact(NOTES, reason="x").branches == ["idea"]
    assert brain.branches.switch("idea").redacted == [NOTES]
    assert brain.status().removed == [NOTES]
    brain.snapshot()
    brain.branches.switch("main")
    assert not brain.merge.start("idea").conflicts
    assert {code for code, _, _ in told(brain)} == {"redacted"}


def test_a_redaction_cannot_be_undone(brain):
    write_file(brain, NOTES, "A secret.\n")
    brain.snapshot()
    brain.files.redact(NOTES, reason="x")
    assert code_of(brain.undo, Conflict) == "redacted"
    brain.skills.delete(brain.skills.upsert("A", "One.\n").slug)
    brain.files.redact("skills/a/SKILL.md", rev="@~1", reason="x")
    assert code_of(brain.undo, Conflict) == "redacted"


def test_merging_what_lists_redacted_content_records_a_merge_without_it(brain):
    brain.branches.create("idea")
    write_file(brain, NOTES, "A secret.\n")
    brain.snapshot()
    brain.branches.create("late")
    brain.files.redact(NOTES, reason="x")
    brain.branches.switch("idea")
    done = brain.merge.start("late")
    assert (done.changed, done.fast_forward) == (True, False)
    assert [(row.code, row.path) for row in done.notices] == [("redacted", NOTES)]
    assert not (brain.root / NOTES).exists() and brain.status().clean
    assert NOTES not in [file.path for file in brain.files.list()]
    assert brain._session.store.list_pending_writes() == []


def test_a_fork_refuses_what_was_redacted_too(brain, tmp_path):
    write_file(brain, NOTES, "A secret.\n")
    brain.snapshot()
    brain.files.redact(NOTES, reason="x")
    with pytest.raises(NotFound):
        brain.fork(tmp_path / "early", "@~1")
    assert not (tmp_path / "early").exists()
    brain.fork(tmp_path / "child")
    with Brain.open(tmp_path / "child") as child:
        write_file(child, NOTES, "A secret.\n")
        assert code_of(child.snapshot, Conflict) == "redacted"


def test_a_version_that_was_redacted_is_as_before_one_that_raised_the_skill(brain):
    for number in range(3):
        brain.skills.upsert("a", f"Text {number}.\n", description="d")
    brain.files.redact("skills/a/SKILL.md", reason="x")
    drop_memory_cache(brain)
    found = [(row.version, row.change) for row in brain.skills.history("a")[1:]]
    assert found == [(3, "upgraded"), (2, "upgraded"), (1, "added")]


def test_history_is_looked_at_over_what_was_redacted(brain):
    for number in range(3):
        write_file(brain, "skills/a/SKILL.md", skill_text("a", number + 1, f"Line {number}.\n"))
        brain.snapshot()
    brain.files.redact("skills/a/SKILL.md", rev="@~1", reason="x")
    assert [line.text for line in brain.history.blame("a")][-1] == "Line 2."
    assert list(brain.history.patch(brain.history.diff("@~3", "@~2")))
    drop_memory_cache(brain)
    assert [row.version for row in brain.skills.history("a")] == [3, 1, 1]
    brain.skills.upsert("b", "New.\n")
    assert {code for code, _, _ in told(brain)} == {"redacted"}


DYING = """
import os, sys
from brain import Brain
from brain.store.writer import Store
Store.compact = lambda self: os._exit(9)
with Brain.open(sys.argv[1]) as brain:
    brain.files.redact("memory/notes.md", reason="x")
"""


def test_what_a_killed_redaction_left_in_old_pages_the_next_writer_clears(brain, project):
    word = secret()
    write_file(brain, NOTES, word)
    brain.snapshot()
    brain.close()
    done = subprocess.run([sys.executable, "-c", DYING, brain.root], cwd=project, check=False)
    assert done.returncode == 9
    wal = brain.root / ".brain/store.db-wal"
    assert word.encode() in wal.read_bytes()
    with Brain.open(brain.root) as after:
        after.skills.upsert("A", "One.\n")
        assert holders(after, word) == []
        assert not after._session.store.needs_compaction()
        assert told(after) == [("redacted", "note", NOTES)]


def test_while_a_reader_holds_old_pages_that_is_said_and_a_collection_clears_them(
    brain, monkeypatch
):
    word = secret()
    write_file(brain, NOTES, word)
    for number in range(3):
        write_file(brain, f"memory/{number}.md", f"{number}\n")
    brain.snapshot()
    brain._session.store._db._raw.set_busy_timeout(0)  # type: ignore[attr-defined]
    with Brain.open(brain.root) as other:
        rows = other._session.store.stream_object_ids()
        next(rows)
        assert not brain.files.redact(NOTES, reason="x").scrubbed
        list(rows)
    assert brain._session.store.needs_compaction()
    assert brain.gc().compacted
    assert not brain._session.store.needs_compaction()
    assert holders(brain, word) == []


def test_a_trust_file_cannot_be_redacted(brain):
    write_file(brain, "trust.json", "version: 1\n")
    write_file(brain, NOTES, "version: 1\n")
    brain.snapshot()
    for path in ("trust.json", NOTES):
        redact = lambda path=path: brain.files.redact(path, reason="x")  # noqa: E731
        assert code_of(redact, InvalidInput) == "trust_file"


def test_no_cache_of_selection_knows_what_was_redacted(brain):
    word = "quetzal4be17c09f2ad7"  # no ending that a stemmer would take off
    brain.skills.upsert("bird", "Watch.", description=f"Watch the {word}")
    brain.skills.upsert("fish", "Watch.", description="Watch the herring")
    assert [one.slug for one in brain.skills.select(word)] == ["bird"]
    assert any("/derived.db" in path for path in holders(brain, word))
    brain.files.redact("skills/bird/SKILL.md", reason="a name")
    assert holders(brain, word) == []
    assert brain.skills.select(word) == []
    assert [one.slug for one in brain.skills.select("herring")] == ["fish"]
    assert holders(brain, word) == []


def test_what_files_and_receipts_refer_to_is_told_from_the_rest(brain):
    for number in range(300):
        write_file(brain, f"memory/{number:03}.md", f"{number}\n")
    brain.snapshot()
    brain.skills.upsert("A", "x\n", description="d", receipt=b"A letter")
    session = brain._session
    root = session.at().sections["memory"].node
    files = {blob_id(b"0\n"), blob_id(b"299\n")}
    others = {blob_id(b"nobody"), root, session.head()}
    with session.store.transaction() as tx:
        unreferenced = tx.put_blob(b"stored, and referred to by nothing")
    asked = files | others | {blob_id(b"A letter"), unreferenced}
    found = redact.find_referenced_blobs(session.reader, asked)
    assert found == files | {blob_id(b"A letter")}
    assert redact.find_referenced_blobs(session.reader, others) == set()


def planted(brain: Brain, path: str, said: str, at: str = "") -> bytes:
    """Take the content of a file out of the store, and let a row say that it was redacted."""
    session = brain._session
    held = bytes.fromhex(at) if at else session.head()
    entry = session.state_of(held).get(path)
    assert entry is not None
    db = session.store._db  # type: ignore[attr-defined]
    snapshot = bytes.fromhex(said)
    with session.store.transaction() as tx:
        tx.redact_blob(entry.blob, snapshot, lambda others: others)
    db.execute("DELETE FROM redactions")
    row = (entry.blob, snapshot, rows.row_checksum(entry.blob, snapshot))
    db.execute("INSERT INTO redactions VALUES (?, ?, ?)", row)
    session.clear_loaded()
    session.loaded_cards.clear()
    return entry.blob


def errors(brain: Brain) -> list[Finding]:
    return [one for one in brain.verify().findings if one.severity == "error"]


@pytest.fixture
def robbed(brain):
    """A brain with one honest redaction, whose snapshot a planted row names for another blob."""
    brain.skills.upsert("Oracle", "Ask.\n", description="d")
    write_file(brain, "memory/a.md", "a secret\n")
    write_file(brain, "memory/b.md", "no secret\n")
    brain.snapshot()
    said = brain.files.redact("memory/a.md", reason="a name").snapshot
    planted(brain, "memory/b.md", said)
    return brain


def test_verification_calls_it_missing_and_names_the_row(robbed):
    codes = [one.code for one in errors(robbed)]
    assert "missing_object" in codes and "false_redaction" in codes
    (missing,) = [one for one in errors(robbed) if one.code == "missing_object"]
    assert missing.path == "memory/b.md"


def test_nothing_that_needs_the_content_takes_it_for_redacted(robbed, tmp_path):
    (robbed.root / "memory/b.md").unlink()
    for ask in (
        lambda: robbed.restore("@~1"),
        robbed.gc,
        lambda: robbed.fork(tmp_path / "fork"),
        lambda: robbed.files.read("memory/b.md"),
    ):
        with pytest.raises(BrainError) as caught:
            ask()
        assert caught.value.code in ("missing_object", "incomplete")


def test_a_merge_does_not_take_its_base_for_redacted(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    write_file(brain, "notes.txt", "one\ntwo\nthree\n")
    brain.snapshot()
    said = brain.files.redact("memory/a.md", reason="a name").snapshot
    brain.branches.create("idea")
    write_file(brain, "notes.txt", "one\ntwo\n3\n")
    brain.snapshot()
    brain.branches.switch("idea")
    write_file(brain, "notes.txt", "1\ntwo\nthree\n")
    brain.snapshot()
    planted(brain, "notes.txt", said, at=said)
    with raises_code("missing_object", BrainError):
        brain.merge.start("main")


def test_a_skill_is_not_shown_as_redacted(brain):
    brain.skills.upsert("Oracle", "Ask.\n", description="d")
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    said = brain.files.redact("memory/a.md", reason="a name").snapshot
    planted(brain, "skills/oracle/SKILL.md", said)
    with raises_code("missing_object", BrainError):
        brain.skills.view("oracle")
    assert "missing_object" in {one.code for one in errors(brain)}


def test_content_is_not_refused_for_a_planted_row(robbed):
    write_file(robbed, "memory/c.md", "no secret\n")
    robbed.snapshot()
    assert robbed.files.read("memory/c.md") == b"no secret\n"


def test_content_that_came_back_behind_a_redaction_is_named(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    said = brain.files.redact("memory/a.md", reason="a name").snapshot
    row = (blob_id(b"a secret\n"), b"a secret\n")
    brain._session.store._db.execute("INSERT INTO blobs (id, codec, data) VALUES (?, 0, ?)", row)
    found = [(one.code, one.severity) for one in brain.verify().findings if one.snapshot == said]
    assert ("not_destroyed", "warning") in found


def test_a_redaction_that_the_store_has_forgotten_is_named(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    said = brain.files.redact("memory/a.md", reason="a name").snapshot
    assert brain.verify().ok
    brain._session.store._db.execute("DELETE FROM redactions")  # type: ignore[attr-defined]
    (found,) = errors(brain)
    assert (found.code, found.snapshot) == ("unknown_redaction", said)


def test_a_redaction_on_a_branch_that_nothing_leads_to_any_more_counts_for_nothing(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    head = bytes.fromhex(brain.snapshot().snapshot)
    said = bytes.fromhex(brain.files.redact("memory/a.md", reason="a name").snapshot)
    session = brain._session
    with session.store.transaction() as tx:
        tx.update_ref("heads/main", said, head)
        log_operation(session, tx, "undo", "back", [("heads/main", said, head)])
    assert {one.code for one in errors(brain)} == {"missing_object", "false_redaction"}


def test_who_demands_signatures_is_told_of_a_redaction_beside_the_head(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.files.redact("memory/a.md", reason="a name")
    brain.branches.switch("main")
    assert brain.verify().ok
    strict = brain.verify(require_signatures=True)
    assert "redacted_elsewhere" in {one.code for one in strict.findings}
    brain.merge.start("idea")
    strict = brain.verify(require_signatures=True)
    assert "redacted_elsewhere" not in {one.code for one in strict.findings}


def test_who_has_pinned_a_root_demands_signatures(brain):
    brain._session.sign_with = lambda: KEY_SEEDS[0]
    brain.trust.add(format_key(PUBLIC_KEYS[0]), "me")
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    brain._session.sign_with = None
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.files.redact("memory/a.md", reason="a name")
    brain.branches.switch("main")
    assert brain.verify().ok
    brain._session.pinned_roots_provider = lambda _: [format_key(PUBLIC_KEYS[0])]
    assert {one.code for one in errors(brain)} == {"redacted_elsewhere"}


def test_a_redaction_before_a_fork_counts_in_the_fork(brain, tmp_path):
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    brain.files.redact("memory/a.md", reason="a name")
    brain.fork(tmp_path / "fork")
    with Brain.open(tmp_path / "fork") as fork:
        assert fork.verify(deep=True).findings == []
        (fork.root / "memory").mkdir(exist_ok=True)
        (fork.root / "memory/b.md").write_text("a secret\n")
        with raises_code("redacted", BrainError):
            fork.snapshot()


def test_a_redaction_is_found_behind_a_merge(brain):
    write_file(brain, "memory/a.md", "a secret\n")
    brain.snapshot()
    brain.branches.create("idea")
    brain.branches.switch("idea")
    brain.files.redact("memory/a.md", reason="a name")
    brain.skills.upsert("Idea", "i\n", description="d")
    brain.branches.switch("main")
    brain.skills.upsert("Main", "m\n", description="d")
    brain.merge.start("idea")
    brain.branches.delete("idea")
    assert [(one.code, one.severity) for one in brain.verify().findings] == [("redacted", "note")]
    brain.gc(grace=0)
    assert brain.restore("@~2").redacted == ["memory/a.md"]
