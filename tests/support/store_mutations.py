"""Stores in which one value was changed and every checksum recomputed."""

import contextlib
import random
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import zstandard

from brain import Brain
from brain.digest import blob_id
from brain.encoding import pack, unpack
from brain.store import reader, rows
from brain.store.blobs import CODEC_CHUNK_LIST
from brain.store.rows import object_checksum
from tests.support.store_tampering import (
    execute_in_store,
    pending_write_statement,
    query_store,
    replace_facts,
)

RowValues = dict[str, Any]


class InvalidUtf8(NamedTuple):
    """Text that is not UTF-8."""

    raw: bytes


INVALID_VALUES: tuple[Any, ...] = (
    None, b"", "", 0, 1, -1, 2**63 - 1, -(2**63), 1.5, bytes(32), b"\xff" * 31, b"\xff" * 33,
    b"\xff" * 40, b"\xff" * 8, b"\xff" * 9, b"x" * 2_000_000, "x" * 2_000_000, "a\0b", "\u202e",
    "9" * 4301, "\u00b2", InvalidUtf8(b"\xff\xfe"), InvalidUtf8(b"a\xc3("), "../../x", "\x1b[2J",
    b"\xc1",
    b"\xdf\xff\xff\xff\xff", bytes(16), "heads/main", "snapshot", "upsert",
)  # fmt: skip
"""What a field may hold that it never should."""


_MEMORY_TEXT = b"A line of memory.\n" * 20_000


def make_brain(root: Path) -> None:
    """Make a brain with something in every table."""
    with Brain.init(root, name="agent", author="tester", sign_with=lambda: bytes(32)) as brain:
        _store_dictionary_packed_blobs(brain)
        for number in range(3):
            brain.skills.upsert(f"skill-{number}", f"Do it {number} times.\n", description="d")
        (root / "memory").mkdir(exist_ok=True)
        (root / "memory/MEMORY.md").write_bytes(_MEMORY_TEXT)
        (root / "memory/link").symlink_to("MEMORY.md")
        (root / "memory/secret.md").write_text("a secret to be redacted, long enough\n")
        brain.snapshot("files")
        with open(root / "memory/MEMORY.md", "ab") as file:
            file.write(b"One more.\n")
        brain.snapshot("grown")
        brain.branches.create("other")
        brain.files.redact("memory/secret.md", reason="a test")
        brain.skills.upsert("skill-0", "Do it better.\n")
        brain.skills.delete("skill-2")
        brain.undo()
        brain.branches.switch("other")
        brain.skills.upsert("skill-1", "Do it elsewhere.\n")
        brain.branches.switch("main")
        brain.merge.start("other")
    execute_in_store(
        root,
        pending_write_statement(
            "memory/MEMORY.md", 0, blob_id(_MEMORY_TEXT + b"One more.\n"), b"was"
        ),
    )


def _store_dictionary_packed_blobs(brain: Brain) -> None:
    """Put many small blobs into the store, packed as those of a large folder are."""
    some = [b"---\nname: skill-%d\ndescription: d\n---\nStep %d.\n" % (n, n) for n in range(40)]
    dictionary = zstandard.train_dictionary(2048, some * 20)
    packer = zstandard.ZstdCompressor(dict_data=dictionary)
    data = dictionary.as_bytes()
    row = (data, rows.row_checksum(b"1", data))
    with brain._session.store.transaction() as tx:
        tx.put_blobs([(blob_id(content), content) for content in some])
    put, packed = (
        "INSERT INTO dictionaries VALUES (?, ?, ?)",
        "UPDATE blobs SET codec = 3, data = ?",
    )
    execute_in_store(
        brain.root,
        (put, (1, *row)),
        (put, (-1, *row)),
        *[(f"{packed} WHERE id = ?", (packer.compress(one), blob_id(one))) for one in some],
    )


RECORDED_TABLES = (
    "blobs",
    "dictionaries",
    "facts",
    "objects",
    "operations",
    "pending",
    "redactions",
    "signatures",
)
"""The tables that hold what is recorded, and is not derived from it."""


def table_columns(root: Path) -> dict[str, list[str]]:
    """Return these tables of a store with their columns."""
    return {
        name: [row[1] for row in query_store(root, f"PRAGMA table_info({name})")]
        for name in RECORDED_TABLES
    }


class StoreMutation(NamedTuple):
    """What was changed: of which row of a table, which column, to what."""

    table: str
    column: str
    row_number: int
    value: Any

    def __str__(self) -> str:
        return f"{self.table}.{self.column} of row {self.row_number}: {self.value!r:.80}"


def draw_mutations(root: Path, rng: random.Random) -> Iterator[StoreMutation]:
    """Yield changes for ever, each table and column as often as any other."""
    known = table_columns(root)
    counts = {name: query_store(root, f"SELECT count(*) FROM {name}")[0][0] for name in known}
    columns = [(name, column) for name in known for column in known[name] if counts[name]]
    while True:
        rng.shuffle(columns)
        for name, column in columns:
            place = rng.randrange(counts[name])
            (old,) = query_store(root, f"SELECT {column} FROM {name} LIMIT 1 OFFSET {place}")[0]
            yield StoreMutation(
                name, column, place, rng.choice([*INVALID_VALUES, *_similar_values(old, rng)])
            )


def _similar_values(old: Any, rng: random.Random) -> list[Any]:
    """Return values like an old one."""
    if isinstance(old, int):
        return [old + 1, old - 1, -old, old * 2]
    if not old:
        return []
    if isinstance(old, str):
        return [old[:-1], old + "x", old[::-1], old.upper()]
    at = rng.randrange(len(old))
    flipped = bytearray(old)
    flipped[at] ^= 1 << rng.randrange(8)
    near: list[Any] = [bytes(flipped), old[:at], old + b"\0", old[at:] + old[:at]]
    try:
        fields = list(unpack(old))
    except Exception:  # noqa: BLE001  no record
        return near
    for number in range(len(fields)):
        for value in (0, 2**64 - 1, "\u202e", "9" * 4301, b"\xff" * 32, b"", [], [[2**40, 1, 2]]):
            near.append(pack([*fields[:number], value, *fields[number + 1 :]]))
    return near


def apply_mutation(root: Path, change: StoreMutation) -> None:
    """Change a value, whatever type the table wants, and make the checksums of the row anew."""
    names = table_columns(root)[change.table]
    casts = ", ".join(f"CAST({name} AS BLOB), typeof({name})" for name in names)
    found = query_store(root, f"SELECT {casts} FROM {change.table}")
    all_rows = [
        {
            name: _from_sql(raw, kind)
            for name, raw, kind in zip(names, row[::2], row[1::2], strict=True)
        }
        for row in found
    ]
    if change.row_number >= len(all_rows):  # another change took one away
        return
    row = all_rows[change.row_number]
    old = dict(row)
    row[change.column] = change.value
    if change.table == "facts":
        _write_rows(root, change.table, names, [(old, row)])
        _reseal_facts(root)
        return
    changed = [(old, row)]
    if change.table == "operations":
        changed = _relink_operations(all_rows, change.row_number, old)
    elif change.column != "checksum" and (resum := RESEAL_BY_TABLE.get(change.table)):
        resum(row)
    _write_rows(root, change.table, names, changed)
    if change.table == "operations":
        last = changed[-1][1]
        number, id = last["number"], last["id"]
        if isinstance(number, int) and 0 <= number < 2**64 and isinstance(id, bytes):
            with contextlib.suppress(UnicodeDecodeError, TypeError):  # another change broke them
                _set_fact_raw(root, "operations", reader.encode_log_head(number, id))


def _from_sql(raw: bytes | None, kind: str) -> Any:
    match kind:
        case "null":
            return None
        case "integer":
            return int(raw or b"0")
        case "real":
            return float(raw or b"0")
        case "text":
            return (raw or b"").decode("utf-8", "surrogateescape")
    return raw


def _to_blob(value: Any) -> bytes:
    """Return what SQLite makes of a value that is cast to a blob, as the reader does."""
    match value:
        case None:
            return b""
        case InvalidUtf8():
            return value.raw
        case str():
            return value.encode("utf-8", "surrogateescape")
        case bytes():
            return value
    return str(value).encode()


def _to_int(value: Any) -> int:
    match value:
        case int() | float():
            return int(value)
        case None:
            return 0
    text = _to_blob(value).decode("ascii", "replace")
    digits = re.match("[0-9]{0,18}", text)
    return int((digits and digits[0]) or 0)


def _reseal_object(row: RowValues) -> None:
    row["checksum"] = object_checksum(
        _to_blob(row["id"]), _to_int(row["kind"]), _to_blob(row["data"])
    )


def _reseal_blob(row: RowValues) -> None:
    if row["codec"] == CODEC_CHUNK_LIST:
        body = _to_blob(row["data"])[rows.CHECKSUM_BYTES :]
        row["data"] = rows.row_checksum(_to_blob(row["id"]), body) + body


def _reseal_dictionary(row: RowValues) -> None:
    row["checksum"] = rows.row_checksum(b"%d" % abs(_to_int(row["number"])), _to_blob(row["data"]))


def _reseal_pending(row: RowValues) -> None:
    kind = b"%d" % _to_int(row["kind"])
    fields = _to_blob(row["path"]), kind, _to_blob(row["blob"]), _to_blob(row["before"])
    row["checksum"] = rows.row_checksum(*fields)


def _field_resealer(*names: str) -> Callable[[RowValues], None]:
    def resum(row: RowValues) -> None:
        row["checksum"] = rows.row_checksum(*(_to_blob(row[name]) for name in names))

    return resum


RESEAL_BY_TABLE: dict[str, Callable[[RowValues], None]] = {
    "objects": _reseal_object,
    "blobs": _reseal_blob,
    "dictionaries": _reseal_dictionary,
    "pending": _reseal_pending,
    "redactions": _field_resealer("blob", "snapshot"),
    "signatures": _field_resealer("snapshot", "key", "signature"),
}
"""What makes the checksums of a row anew."""


def _relink_operations(
    all_rows: list[RowValues], place: int, old: RowValues
) -> list[tuple[RowValues, RowValues]]:
    """Return the rows of the log from a changed one on, linked anew."""
    changed = [(old, all_rows[place]), *((dict(row), row) for row in all_rows[place + 1 :])]
    before = _to_blob(all_rows[place - 1]["id"]) if place else b""
    for _, row in changed:
        row["id"] = reader.chain_operation_id(before, _to_blob(row["data"]))
        before = row["id"]
    return changed


def _write_rows(
    root: Path, table: str, names: list[str], changed: list[tuple[RowValues, RowValues]]
) -> None:
    """Write rows into a table that takes any type meanwhile."""
    with closing(apsw.Connection(str(root / ".brain" / "store.db"))) as db:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        ((sql,),) = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
        loose = sql.replace(" NOT NULL", "")
        for kind in ("BLOB", "TEXT", "INTEGER"):
            loose = loose.replace(f" {kind},", " ,").replace(f" {kind}\n", " \n")
            loose = loose.replace(f" {kind} UNIQUE", " UNIQUE")
            if kind != "INTEGER":
                loose = loose.replace(f" {kind} PRIMARY", " PRIMARY")
        loose = loose.replace(" STRICT, WITHOUT", " WITHOUT").replace(" STRICT", "")
        _set_schema(db, table, loose)
    with closing(apsw.Connection(str(root / ".brain" / "store.db"))) as db:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        try:
            for old, _ in changed:
                where = " AND ".join(f"{name} IS ?" for name in names)
                db.execute(f"DELETE FROM {table} WHERE {where}", _bound_values(old, names))
            for _, row in changed:
                marks = ", ".join(_placeholder(row[name]) for name in names)
                db.execute(
                    f"INSERT OR REPLACE INTO {table} VALUES ({marks})", _bound_values(row, names)
                )
        except apsw.Error:  # a key that the engine takes no such value for
            pass
        _set_schema(db, table, sql)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _placeholder(value: Any) -> str:
    return "CAST(? AS TEXT)" if isinstance(value, InvalidUtf8) else "?"


def _bound_values(row: RowValues, names: list[str]) -> list[Any]:
    return [value.raw if isinstance(value := row[name], InvalidUtf8) else value for name in names]


def _set_schema(db: apsw.Connection, table: str, sql: str) -> None:
    db.execute("PRAGMA writable_schema=ON").fetchall()
    db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table)).fetchall()
    db.execute("PRAGMA writable_schema=OFF").fetchall()


def _reseal_facts(root: Path) -> None:
    """Make the seal over the facts anew, as far as they can be read as facts."""
    sql = "SELECT CAST(ifnull(name, '') AS BLOB), CAST(ifnull(value, '') AS BLOB) FROM facts"
    found = [(name, value) for name, value in query_store(root, f"{sql} ORDER BY name") if name]
    fields = [part for pair in found for part in pair]
    execute_in_store(
        root, ("UPDATE facts SET value = ? WHERE name = ''", (rows.row_checksum(*fields),))
    )


def _set_fact_raw(root: Path, name: str, value: bytes) -> None:
    found = dict(query_store(root, "SELECT name, value FROM facts WHERE name != ''"))
    found[name] = value
    replace_facts(root, found)
