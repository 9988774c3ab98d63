"""A store in which any value was changed: each command ends as it says, none with an error of ours.

`python -m tests.support.store_mutation_campaign SEED COUNT` does the same at length.
"""

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from brain_cli.invocation import run_cli

from brain.encoding import pack
from tests.support.command_outcomes import ALL_COMMANDS, READ_COMMANDS, find_fault_in_outcome
from tests.support.store_mutations import (
    RECORDED_TABLES,
    InvalidUtf8,
    StoreMutation,
    apply_mutation,
    draw_mutations,
    make_brain,
)
from tests.support.store_tampering import execute_in_store, query_store, set_fact

SEED = 11
EACH = 1
"""Changes of each column."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    root = tmp_path_factory.mktemp("whole") / "agent"
    make_brain(root)
    return root


@pytest.fixture
def copy(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "agent", symlinks=True))


def chosen(whole: Path, table: str) -> Iterator[StoreMutation]:
    """Yield some changes of each column of a table."""
    rng = random.Random(f"{SEED} {table}")
    seen: dict[str, int] = {}
    columns = {row[1] for row in query_store(whole, f"PRAGMA table_info({table})")}
    for change in draw_mutations(whole, rng):
        if change.table == table and seen.get(change.column, 0) < EACH:
            seen[change.column] = seen.get(change.column, 0) + 1
            yield change
        if len(seen) == len(columns) and min(seen.values()) == EACH:
            return


def ends_well(brain: Path, commands: Sequence[Sequence[str]] = READ_COMMANDS) -> list[str]:
    return [
        f"{' '.join(arguments)}: {wrong}"
        for arguments in commands
        if (wrong := find_fault_in_outcome(run_cli, brain, arguments))
    ]


@pytest.mark.parametrize("table", RECORDED_TABLES)
def test_every_command_ends_as_documented_whatever_a_field_holds(whole, tmp_path, table):
    for number, change in enumerate(chosen(whole, table)):
        copy = Path(shutil.copytree(whole, tmp_path / f"{number}" / "agent", symlinks=True))
        apply_mutation(copy, change)
        assert ends_well(copy, ALL_COMMANDS) == [], str(change)


def verified(brain: Path) -> int:
    return run_cli(["-C", str(brain), "verify"])


FACTS = [
    ("meta:branch", b"\xff\xfe"),
    ("meta:branch", b"x" * 5000),
    ("meta:branch", "main\u202e".encode()),
    ("meta:brain", b""),
    ("meta:brain", b"x" * 31),
    ("meta:let-go", b"\xff" * 8),
    ("meta:let-go", b"\xff" * 9),
    ("operations", b"\xff" * 40),
    ("operations", b""),
    ("epoch", b"\x01" + bytes(8)),
    ("epoch", b"\xff" * 8),
    ("redactions", b"\xff" * 8),
    ("ref:heads/main", b""),
    ("ref:heads/main", b"x" * 33),
    ("ref:heads/" + "x" * 3000, bytes(32)),
    ("ref:heads/\u202e", bytes(32)),
]


@pytest.mark.parametrize(("name", "value"), FACTS)
def test_a_fact_that_cannot_be_right_is_named_by_verification_and_by_all_others(
    copy, name, value, capsys
):
    set_fact(copy, name, value)
    assert verified(copy) == 3
    assert "is damaged" in capsys.readouterr().out
    assert ends_well(copy) == []


def operation(**changed: object) -> bytes:
    fields: dict[str, object] = {
        "time": 1,
        "author": "a",
        "kind": "snapshot",
        "description": "d",
        "refs": [],
        "moved": (b"", b""),
        "target": 0,
    }
    return pack(list({**fields, **changed}.values()))


@pytest.mark.parametrize(
    "data",
    [
        operation(time=2**63),
        operation(time="x"),
        operation(author=7),
        operation(kind=b"x"),
        operation(refs=[(1, b"", b"")]),
        operation(refs=[("x", 2**40, b"")]),
        operation(refs=[("x", b"short", b"")]),
        operation(refs=7),
        operation(moved=(2**40, b"")),
        operation(moved=(b"x", b"")),
        operation(target=2**63),
        operation(kind="undo", target=10_000),
        b"",
        b"\xc1",
        b"\x97" * 2000,
    ],
)
def test_an_operation_that_cannot_be_right_is_named(copy, data, capsys):
    ((count,),) = query_store(copy, "SELECT count(*) FROM operations")
    apply_mutation(copy, StoreMutation("operations", "data", count - 1, data))
    assert verified(copy) == 3
    assert f"operation {count}" in capsys.readouterr().out
    assert ends_well(copy) == []


@pytest.mark.parametrize(
    "change",
    [
        StoreMutation("facts", "name", 3, InvalidUtf8(b"\xff")),
        StoreMutation("pending", "path", 0, InvalidUtf8(b"\xff")),
        StoreMutation("pending", "path", 0, "a\0b"),
        StoreMutation("pending", "blob", 0, b"x"),
        StoreMutation("pending", "kind", 0, 2**63 - 1),
        StoreMutation("pending", "before", 0, b"x" * 1000),
        StoreMutation("redactions", "blob", 0, b"x"),
        StoreMutation("signatures", "key", 0, b"x" * 5000),
        StoreMutation("signatures", "signature", 0, b""),
        StoreMutation("dictionaries", "number", 0, 7),
        StoreMutation("dictionaries", "data", 0, b"x"),
        StoreMutation("dictionaries", "checksum", 0, b"x"),
        StoreMutation("blobs", "id", 0, b"x"),
        StoreMutation("blobs", "codec", 0, -5),
        StoreMutation("blobs", "codec", 0, 2**62),
        StoreMutation("blobs", "id", 49, None),
        StoreMutation("facts", "name", 2, "EPOCH"),
        StoreMutation("objects", "id", 0, b"x"),
        StoreMutation("objects", "kind", 0, 9),
        StoreMutation("operations", "number", 14, 2**60),
        StoreMutation("operations", "number", 0, -1),
    ],
    ids=str,
)
def test_verification_names_what_is_wrong_in_each_table(copy, change):
    apply_mutation(copy, change)
    assert verified(copy) == 3
    assert run_cli(["-C", str(copy), "verify", "--deep"]) == 3
    assert ends_well(copy) == []


def test_a_field_that_is_larger_than_any_is_refused_before_it_is_read(copy, capsys):
    execute_in_store(
        copy, ("UPDATE facts SET value = zeroblob(40000000) WHERE name = 'meta:brain'", ())
    )
    assert verified(copy) == 3
    assert "store.db is damaged" in capsys.readouterr().out
    assert ends_well(copy) == []


def test_no_redaction_is_forgotten_by_taking_out_that_there_was_one(copy):
    set_fact(copy, "redactions", None)
    assert verified(copy) == 3


def test_operations_beyond_the_end_of_the_log_are_named(copy):
    execute_in_store(copy, ("INSERT INTO operations VALUES (99, ?, ?)", (bytes(32), operation())))
    assert verified(copy) == 3
    assert ends_well(copy) == []
