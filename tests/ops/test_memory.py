"""Where memories are, how large they may get, and changes of several entries at once."""

import pytest

from brain import Brain, InvalidInput, NotFound, limits
from brain.merging.memory_entries import MemoryOperation
from brain.ops import memory as memory_files
from tests.support.brains import write_file
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


def place(brain: Brain, target: str = "memory") -> tuple[str, int]:
    found = brain.memory.locate(target)
    return found.path, found.limit


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(
    ("existing", "memory", "user"), CASES["test_notes_are_where_they_are_or_beside_the_other_notes"]
)
def test_notes_are_where_they_are_or_beside_the_other_notes(
    brain, existing, memory, user, recorded
):
    for path in existing:
        write_file(brain, path, "x\n")
    if recorded:
        brain.snapshot()
    assert place(brain) == (memory, 4000)
    assert place(brain, "user") == (user, 2000)


def set_manifest(brain: Brain, *lines: str) -> None:
    text = "\n".join(["prompt:", "  memory:", *(f"  {line}" for line in lines), ""])
    write_file(brain, "manifest.yaml", text)
    brain.snapshot()


def test_the_manifest_says_where_notes_are_and_how_large_they_get(brain):
    set_manifest(
        brain,
        *(
            "  - path: notes/MEMORY.md",
            "    limit: 77",
            "  - path: memory/log.jsonl",
            "    limit: 9",
        ),
    )
    assert place(brain) == ("notes/MEMORY.md", 77)
    assert place(brain, "user") == ("memory/USER.md", 2000)
    assert place(brain, "log.jsonl") == ("memory/log.jsonl", 9)
    write_file(brain, "memory/MEMORY.md", "x\n")
    assert place(brain) == ("memory/MEMORY.md", 4000)
    write_file(brain, "notes/MEMORY.md", "x\n")
    assert place(brain) == ("notes/MEMORY.md", 77)


@pytest.mark.parametrize(
    ("existing", "target", "path"), CASES["test_records_are_in_a_folder_of_memories"]
)
def test_records_are_in_a_folder_of_memories(brain, existing, target, path):
    if existing:
        write_file(brain, existing, "{}\n")
    assert place(brain, target) == (path, limits.MAX_EDIT_BYTES)


def test_what_is_no_memory_is_refused_with_those_that_there_are(brain, monkeypatch):
    for path in ("memory/a.jsonl", "memory/deep/b.jsonl", "memories/c.ndjson", "memory/d.md"):
        write_file(brain, path, "{}\n")
    brain.snapshot()
    with pytest.raises(NotFound) as caught:
        brain.memory.locate("notes.txt")
    assert (caught.value.code, caught.value.message) == (
        "no_memory",
        "there is no memory notes.txt",
    )
    assert caught.value.hint == (
        "there are: memory, user, a.jsonl, c.ndjson; a new one has a name such as notes.jsonl"
    )
    monkeypatch.setattr(memory_files, "_MAX_NAMED_RECORDS", 1)
    with pytest.raises(NotFound, match="no memory x") as caught:
        brain.memory.locate("x")
    assert "memory, user, a.jsonl;" in caught.value.hint
    with pytest.raises(NotFound) as elsewhere:
        brain.memory.locate("prompts/a.jsonl")
    assert elsewhere.value.message == "prompts/a.jsonl is not in memory or memories"
    with pytest.raises(InvalidInput):
        brain.memory.locate("../a.jsonl")


def test_without_memories_of_records_the_notes_are_named_alone(brain):
    with pytest.raises(NotFound) as caught:
        brain.memory.locate("x")
    assert caught.value.hint.startswith("there are: memory, user; ")


def test_the_prompt_holds_the_notes_or_what_the_manifest_lists(brain):
    session = brain._session
    for path in ("USER.md", "memory/MEMORY.md", "notes/a.md", "notes/deep/b.md", "notes/c.txt"):
        write_file(brain, path, "x\n")
    brain.snapshot()

    def listed() -> list[tuple[str, int]]:
        found = memory_files.list_prompt_memories(session, session.head())
        return [(file.path, file.limit) for file in found]

    assert listed() == [("memory/MEMORY.md", 4000), ("USER.md", 2000)]
    set_manifest(brain, "  - path: notes/", "    limit: 5", "  - path: USER.md", "    limit: 6")
    assert listed() == [("notes/a.md", 5), ("notes/deep/b.md", 5), ("USER.md", 6)]


def test_a_folder_of_the_manifest_may_leave_out_folders_below_it(brain):
    for path in ("notes/a.md", "notes/deep/b.md", "notes/c.txt"):
        write_file(brain, path, "x\n")
    set_manifest(brain, "  - path: notes/*.md", "    limit: 5")
    session = brain._session
    found = memory_files.list_prompt_memories(session, session.head())
    assert [file.path for file in found] == ["notes/a.md"]


def test_changes_are_recorded_together_and_counted(brain):
    operations = [MemoryOperation("add", text) for text in ("one", "two", "three")]
    operations += [MemoryOperation("remove", old_text="two")]
    operations += [MemoryOperation("replace", "3", "three")]
    before = brain.head
    done = brain.memory.apply("memory", operations)
    assert (done.path, done.entries, done.characters) == ("memory/MEMORY.md", 2, len("one\n§\n3"))
    assert (done.limit, done.changed, done.snapshot) == (4000, True, brain.head)
    detail = brain.history.show().info
    assert detail.message == "add 3, replace 1, remove 1 in memory/MEMORY.md"
    assert detail.parents == [before]
    found = brain.memory.read()
    assert (found.path, found.entries, found.text) == (done.path, ["one", "3"], "one\n§\n3\n")
    assert (found.characters, found.limit) == (done.characters, 4000)
    assert (brain.root / done.path).read_text() == "one\n§\n3\n"
    again = brain.memory.add("memory", "one")
    assert (again.changed, again.snapshot) == (False, done.snapshot)
    assert brain.memory.add("memory", "four", message="Mine").changed
    assert brain.history.show().info.message == "Mine"


def test_a_memory_that_is_not_there_is_empty(brain):
    found = brain.memory.read("user")
    assert (found.path, found.entries, found.text, found.characters) == (
        *("memory/USER.md", [], "", 0),
    )


def test_one_change_that_fails_undoes_the_others_and_is_numbered(brain):
    head = brain.head
    operations = [MemoryOperation("add", "one"), MemoryOperation("remove", old_text="two")]
    with raises_code("no_match", InvalidInput) as caught:
        brain.memory.apply("memory", operations)
    assert caught.value.message == "operation 2 of 2: no entry has 'two'. None was done"
    with pytest.raises(InvalidInput) as alone:
        brain.memory.remove("memory", "two")
    assert alone.value.message == "no entry has 'two'"
    assert brain.head == head and not (brain.root / "memory/MEMORY.md").exists()


def test_an_action_that_is_not_known_is_refused_with_those_that_are(brain):
    with pytest.raises(InvalidInput) as caught:
        brain.memory.apply("memory", [MemoryOperation("drop", "x")])
    assert (caught.value.code, caught.value.message) == (
        "bad_arguments",
        "there is no memory action drop",
    )
    assert caught.value.hint == "the actions are: add, replace, remove"


def test_a_memory_gets_as_large_as_its_limit(brain):
    assert brain.memory.add("user", "x" * 2000).characters == 2000
    brain.undo()
    with raises_code("memory_full", InvalidInput) as caught:
        brain.memory.add("user", "x" * 2001)
    assert caught.value.hint == "say it shorter"
    assert caught.value.message == ("memory/USER.md would have 2001 of 2000 characters; it has 0")
    brain.memory.add("user", "x" * 1990)
    with pytest.raises(InvalidInput) as full:
        brain.memory.add("user", "y" * 8)
    assert full.value.message.endswith("would have 2001 of 2000 characters; it has 1990")
    assert full.value.hint.startswith("make room in the same call") and "1. xx" in full.value.hint
    assert brain.memory.add("user", "y" * 7).characters == 2000


def test_a_memory_past_its_limit_may_be_changed_but_not_grow(brain):
    write_file(brain, "USER.md", "x" * 3000 + "\n§\ny\n")
    brain.snapshot()
    assert brain.memory.replace("user", "y", "z").characters == 3004
    with pytest.raises(InvalidInput):
        brain.memory.replace("user", "z", "zz")


def test_a_file_that_is_no_text_is_refused_and_stays(brain):
    (brain.root / "USER.md").write_bytes(b"\xff")
    brain.snapshot()
    for ask in (lambda: brain.memory.read("user"), lambda: brain.memory.add("user", "x")):
        with pytest.raises(InvalidInput) as caught:
            ask()
        assert (caught.value.code, caught.value.message) == (
            "not_text",
            "USER.md is not UTF-8 text, so it cannot be edited as memory",
        )
    assert (brain.root / "USER.md").read_bytes() == b"\xff"


def test_a_check_gets_both_contents_and_may_refuse(brain):
    seen: list[tuple[bytes | None, bytes | None]] = []
    add = [MemoryOperation("add", "one")]
    brain.memory.apply("memory", add, check=lambda *both: seen.append(both))
    brain.memory.apply("memory", add, check=lambda *both: seen.append(both))
    assert seen == [(None, b"one\n"), (b"one\n", b"one\n")]

    def refuse(old: bytes | None, new: bytes | None) -> None:
        raise InvalidInput("no", code="refused")

    head = brain.head
    with pytest.raises(InvalidInput, match="no"):
        brain.memory.apply("memory", [MemoryOperation("add", "two")], check=refuse)
    assert brain.head == head
