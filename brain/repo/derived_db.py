"""The user's cache of a brain: data derived from its blobs, snapshots and trees, in one folder."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from zlib import crc32

from ..encoding import pack, unpack_unchecked
from ..errors import Locked, StoreError
from ..named_tuple import NamedTuple
from ..store import rows as checksums
from ..store.connection import Connection, FileFormat
from ..store.database import (
    open_disposable,
    open_in_memory,
    typed_columns,
)

CACHE_DIR_VARIABLE = "BRAIN_CACHE_DIR"
"""Environment variable that names another folder for caches."""
_PLATFORM: str = sys.platform


# The folder


def make_cache_folder(
    brain: bytes, redacted: bytes = b"", usable: Callable[[str], bool] = lambda path: True
) -> str | None:
    """Create the cache folder of the brain with this id, for its owner alone, and return it.

    `redacted` is a digest of the redactions: folders of other digests may hold redacted
    content and are cleared. `usable` tells of a path, whose links were followed, whether a cache
    may be kept there. Returns None if it may not, or the folder cannot be created or belongs to
    another user.
    """
    try:
        root, name = cache_root(), brain.hex()
        path = os.path.join(root, f"{name}-{redacted.hex()}" if redacted else name)
        if not usable(os.path.realpath(path)):
            return None
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return None
        if redacted:
            with os.scandir(root) as every:
                others = [other for other in every if other.name.partition("-")[0] == name]
            for other in others:
                if other.path != path and not other.is_symlink():
                    clear_cache_folder(other.path, "\0")
                    with suppress(OSError):
                        os.rmdir(other.path)
    except (OSError, ValueError, RuntimeError):  # the last if the home folder is unknown
        return None
    return path


def cache_root() -> str:
    """Return the folder that holds the caches of all brains of this user."""
    named = os.environ.get(CACHE_DIR_VARIABLE)
    if named:
        return os.path.abspath(named)
    if _PLATFORM == "linux":  # as platformdirs has it, without the 7 ms of importing it
        for name, below in (("XDG_CACHE_HOME", "brain"), ("HOME", ".cache/brain")):
            base = os.environ.get(name, "")
            if os.path.isabs(base):  # a relative one would depend on the current folder
                return os.path.join(base, below)
    import platformdirs

    return platformdirs.user_cache_dir("brain")


def clear_cache_folder(folder: str, keep: str | tuple[str, ...]) -> None:
    """Delete the files of a cache folder, except those whose name begins with (one of) `keep`."""
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        for file in found:
            if not file.name.startswith(keep) and not file.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    os.unlink(file.path)


# The tables

DERIVATION_VERSION = 13
"""Raised when what is derived, or how it is stored, changes; other files are replaced."""
CACHE_FILE_NAME = "derived.db"
STAT_CACHE_PREFIX = "stat-"
"""How the names of the other files of the folder begin: the stat caches of `folder/`."""
_TABLES = (
    """CREATE TABLE cards (
  blob BLOB PRIMARY KEY,
  data BLOB NOT NULL,
  checksum BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE snapshots (
  id BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE facts (
  key TEXT NOT NULL,
  generation INTEGER NOT NULL,
  snapshot BLOB NOT NULL,
  label TEXT NOT NULL,
  data BLOB NOT NULL,
  checksum BLOB NOT NULL,
  PRIMARY KEY (key, generation, snapshot)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE names (
  slug TEXT NOT NULL,
  path TEXT NOT NULL,
  PRIMARY KEY (slug, path)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE lines (
  path TEXT PRIMARY KEY,
  line TEXT NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE states (
  name TEXT PRIMARY KEY,
  state BLOB NOT NULL,
  checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID""",
)
CONTENT_TABLES = tuple(sql.split()[2] for sql in _TABLES)
_CACHE = FileFormat(
    file_name=CACHE_FILE_NAME,
    noun="a cache",
    label="the cache",
    folder="the user's cache folder",
    damaged="delete the file",
    application_id=0x62726E63,  # "brnc"
    version=DERIVATION_VERSION,
    tables=_TABLES,
    timeout=5.0,
    synchronous="OFF",  # after a power cut it may be damaged, and is then made anew
    is_disposable=True,
)

# The rows

MERGES = "/merges"
"""The key of all snapshots with several parents. A path never begins with "/"."""
PROVISIONAL_KEY = "/provisional"
"""The key of all decisions that let a provisional change live."""


class Fact(NamedTuple):
    """What a snapshot of a generation says about `key`; `data` is packed.

    A key is the path of a skill, `MERGES`, or what finds a decision. `label` is the version that
    the skill then has, "" if it was added: so both are found without reading all of a history.
    """

    key: str
    generation: int
    snapshot: bytes
    label: str = ""
    data: bytes = b""


class SkillHistoryRow(NamedTuple):
    """A change in the history of a skill; `change` is 0 added, 1 upgraded, 2 changed, 3 removed.

    `generation` is that of the snapshot.
    """

    path: str
    generation: int
    snapshot: bytes
    change: int
    version: str
    slugs: tuple[str, ...]

    @property
    def fact(self) -> Fact:
        """The row as a fact."""
        label = self.version if self.change else ""
        return Fact(*self[:3], label, pack(self[3:]))


class DecisionRow(NamedTuple):
    """A decision about a skill and the program that its verdict names; build it by keyword.

    `kind` is admit, retire or reinstate; `version` is the one that the skill then has.
    `program` is the id of the program, empty if there is none. `is_provisional`: it lets a change
    live that is only shown to help the cases it was tried on.
    """

    kind: str
    slug: str
    version: str
    program: bytes
    snapshot: bytes
    generation: int
    is_provisional: bool

    @property
    def facts(self) -> list[Fact]:
        """The decision by its skill, by its program, and among the provisional ones."""
        keys = [skill_key(self.slug), *[PROVISIONAL_KEY] * self.is_provisional]
        keys += [program_key(self.program)] if self.program else []
        data = pack((*self[:4], int(self.is_provisional)))
        return [Fact(key, self.generation, self.snapshot, "", data) for key in keys]


def decode_skill_row(fact: Fact) -> SkillHistoryRow:
    """Return the change of a skill that a fact says."""
    return SkillHistoryRow(*fact[:3], *unpack_unchecked(fact.data))


def decode_decision(fact: Fact) -> DecisionRow:
    """Return the decision that a fact says."""
    kind, slug, version, program, is_provisional = unpack_unchecked(fact.data)
    return DecisionRow(
        kind, slug, version, program, fact.snapshot, fact.generation, bool(is_provisional)
    )


def skill_key(slug: str) -> str:
    """Return the key of the decisions about the skills of a slug."""
    return f"/skill/{slug}"


def program_key(program: bytes) -> str:
    """Return the key of the decisions about a program."""
    return f"/program/{program.hex()}"


MAX_SINGLE_LOOKUPS = 256
"""Up to this many cards are looked up one by one."""
_METADATA_COLUMNS = typed_columns("blob BLOB, data BLOB, checksum BLOB")
_FACT_COLUMNS = typed_columns(
    "key TEXT, generation INTEGER, snapshot BLOB, label TEXT, data BLOB, checksum BLOB"
)
_LINE_COLUMNS = typed_columns("path TEXT, line TEXT")
_STATE_COLUMNS = typed_columns("state BLOB, checksum INTEGER")
_INDEX, _TEXT = "index", "text"


class CacheUnusable(Exception):
    """The cache file is damaged, full, locked or gone; derive its content again."""


class DerivedSnapshot(NamedTuple):
    """Derived data of a snapshot, whose ancestors are in the cache already.

    `names` are (slug, path) of skills that are not where their slugs say.
    """

    snapshot: bytes
    facts: list[Fact]
    names: Set[tuple[str, str]] = frozenset()


@contextmanager
def _errors_as_unusable() -> Iterator[None]:
    try:
        yield
    except (StoreError, Locked) as error:
        raise CacheUnusable(error.message) from error


class DerivedCache:
    """An open cache, from `open_cache` or `open_memory_cache`.

    Any method may raise `CacheUnusable`. `folder` is for other cache files of the brain, or
    None. What selects skills by words or by meaning has tables of its own in `db`, too.
    """

    def __init__(self, db: Connection, folder: str | None) -> None:
        self.db = db
        self.folder = folder

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything in the block, or nothing; other writers wait."""
        if self.db.in_transaction:
            yield
            return
        with _errors_as_unusable():
            self.db.begin()
        try:
            yield
            with _errors_as_unusable():
                self.db.commit()
        finally:
            self.db.roll_back()

    @_errors_as_unusable()
    def read_metadata(self, blobs: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the encoded cards of those SKILL.md blobs that are in the cache, by blob."""
        if self.db.should_scan("cards", len(blobs), MAX_SINGLE_LOOKUPS):
            wanted = set(blobs)
            rows = self.db.stream_rows(f"SELECT {_METADATA_COLUMNS} FROM cards")
            found_rows = [row for row in rows if row[0] in wanted]
        else:
            sql = f"SELECT {_METADATA_COLUMNS} FROM cards WHERE blob IN ({{keys}})"
            found_rows = list(self.db.fetch_by_keys(sql, blobs))
        return {
            blob: data
            for blob, data, checksum in found_rows
            if checksums.cache_row_checksum(blob, data) == checksum
        }

    @_errors_as_unusable()
    def list_metadata(self) -> list[tuple[bytes, bytes]]:
        """Return all (blob, encoded card), sorted, damaged ones included."""
        sql = f"SELECT {_METADATA_COLUMNS} FROM cards ORDER BY blob"
        return [row[:2] for row in self.db.fetch_all(sql)]

    @_errors_as_unusable()
    def put_metadata(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Write cards, given as (blob, card), sorted to fill pages in order."""
        self.db.execute_many(
            "INSERT OR REPLACE INTO cards (blob, data, checksum) VALUES (?, ?, ?)",
            ((blob, data, checksums.cache_row_checksum(blob, data)) for blob, data in sorted(rows)),
        )

    @_errors_as_unusable()
    def has_snapshot(self, snapshot: bytes) -> bool:
        """Tell whether a snapshot, and so each of its ancestors, is in the cache."""
        return self.db.fetch_one("SELECT 1 FROM snapshots WHERE id = ?", (snapshot,)) is not None

    @_errors_as_unusable()
    def put_snapshots(self, derived_snapshots: Iterable[DerivedSnapshot]) -> None:
        """Write derived data of snapshots; parents come before children."""
        for derived in derived_snapshots:
            self.db.execute("INSERT OR IGNORE INTO snapshots (id) VALUES (?)", (derived.snapshot,))
            self.db.execute_many(
                "INSERT OR REPLACE INTO facts (key, generation, snapshot, label, data, checksum)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [(*fact, _fact_checksum(fact)) for fact in derived.facts],
            )
            self.db.execute_many(
                "INSERT OR IGNORE INTO names (slug, path) VALUES (?, ?)", sorted(derived.names)
            )

    @_errors_as_unusable()
    def find_skill_paths(self, slug: str) -> list[str]:
        """Return all nonstandard paths that a skill of that slug ever had, sorted."""
        sql = f"SELECT {typed_columns('path TEXT')} FROM names WHERE slug = ? ORDER BY path"
        return [path for (path,) in self.db.fetch_all(sql, (slug,))]

    @_errors_as_unusable()
    def list_skill_names(self) -> set[tuple[str, str]]:
        """Return (slug, path) of all nonstandard paths of skills."""
        return set(self.db.fetch_all(f"SELECT {typed_columns('slug TEXT, path TEXT')} FROM names"))

    @_errors_as_unusable()
    def read_facts(self, key: str, label: str | None = None) -> list[Fact]:
        """Return the facts about a key, by generation; those without a label or with this one."""
        where, args = "key = ?", [key]
        if label is not None:
            where, args = f"{where} AND label IN ('', ?)", [key, label]
        return self._fetch_facts(where, args)

    @_errors_as_unusable()
    def list_facts(self, pattern: str = "*") -> list[Fact]:
        """Return the facts about all keys that fit a pattern, as a shell has it."""
        return self._fetch_facts("key GLOB ?", [pattern])

    def _fetch_facts(self, where: str, args: list[str]) -> list[Fact]:
        sql = f"SELECT {_FACT_COLUMNS} FROM facts WHERE {where} ORDER BY key, generation, snapshot"
        found = []
        for *fields, checksum in self.db.fetch_all(sql, args):
            found.append(fact := Fact(*fields))
            if _fact_checksum(fact) != checksum:
                raise StoreError("cached facts are damaged", hint="see `brain doctor`")
        return found

    @_errors_as_unusable()
    def read_index_state(self) -> bytes:
        """Return the id of the bundle that the lines of the index are of, b"" without any."""
        return self._read_state(_INDEX)[0]

    @_errors_as_unusable()
    def read_index(self) -> tuple[bytes, bytes]:
        """Return that id, and the index in UTF-8; (b"", b"") if they do not match.

        The text is written beside the lines once it was needed: reading 100,000 lines takes 0.1 s.
        """
        rows = self.db.fetch_all(f"SELECT name, {_STATE_COLUMNS} FROM states")  # at one moment
        known = {name: (data, checksum) for name, data, checksum in rows}
        found = state, checksum = known.get(_INDEX, (b"", 0))
        data, data_checksum = known.get(_TEXT, (b"", 0))
        if data and crc32(data) == data_checksum:
            return state, data
        row = self.db.fetch_one(
            "SELECT group_concat(line, char(10)) FROM (SELECT line FROM lines ORDER BY line)"
        )
        lines = str(row[0]) if row and row[0] else ""
        if _sum_lines(lines) != checksum:
            return b"", b""
        data = show_lines(lines).encode()
        with suppress(CacheUnusable), self.transaction():
            if self._read_state(_INDEX) == found:  # else another process changed the lines
                self._write_state(_TEXT, data, crc32(data))
        return state, data

    @_errors_as_unusable()
    def list_index_lines(self) -> tuple[bytes, dict[str, str]]:
        """Return that id, and the lines by path; (b"", {}) if they do not match.

        See `derive.format_index_lines`.
        """
        lines: dict[str, str] = dict(self.db.fetch_all(f"SELECT {_LINE_COLUMNS} FROM lines"))
        state, checksum = self._read_state(_INDEX)
        return (state, lines) if checksum == _sum_lines("\n".join(lines.values())) else (b"", {})

    @_errors_as_unusable()
    def put_index(
        self, state: bytes, lines: Mapping[str, str], gone: Iterable[str] | None = None
    ) -> None:
        """Write the lines of some paths, after those of the paths `gone`, of all by default."""
        checksum = 0
        if gone is None:
            self.db.execute("DELETE FROM lines")
        else:
            checksum = self._read_state(_INDEX)[1]
            for path in {*gone, *lines}:
                old = self.db.fetch_all("DELETE FROM lines WHERE path = ? RETURNING line", (path,))
                checksum -= sum(_sum_lines(line) for (line,) in old)
        self.db.execute_many("INSERT INTO lines (path, line) VALUES (?, ?)", sorted(lines.items()))
        self._write_state(_INDEX, state, checksum + _sum_lines("\n".join(lines.values())))
        if lines or gone or gone is None:
            self.db.execute("DELETE FROM states WHERE name = ?", (_TEXT,))

    def _write_state(self, name: str, state: bytes, checksum: int) -> None:
        self.db.execute(
            "INSERT OR REPLACE INTO states (name, state, checksum) VALUES (?, ?, ?)",
            (name, state, checksum),
        )

    def _read_state(self, name: str) -> tuple[bytes, int]:
        sql = f"SELECT {_STATE_COLUMNS} FROM states WHERE name = ?"
        row = self.db.fetch_one(sql, (name,))
        return (bytes(row[0]), int(row[1])) if row else (b"", 0)

    def close(self) -> None:
        """Close the cache."""
        self.db.close()


def open_cache(
    brain: bytes,
    version: int,
    redacted: bytes = b"",
    usable: Callable[[str], bool] = lambda path: True,
) -> DerivedCache:
    """Open the user's cache of the brain with this id, in memory if there can be no file.

    Data of another derivation `version` or another digest `redacted` of the redactions
    (empty for none) is not used, nor a folder that is not `usable`.
    """
    folder = make_cache_folder(brain, redacted, usable)
    if folder is not None:
        with suppress(OSError):
            clear_cache_folder(folder, (CACHE_FILE_NAME, STAT_CACHE_PREFIX))  # of earlier versions
        path = os.path.join(folder, CACHE_FILE_NAME)
        db = open_disposable(path, _CACHE._replace(version=version))
        if db is not None:
            return DerivedCache(db, folder)
    return open_memory_cache(version, folder)


def open_memory_cache(version: int, folder: str | None = None) -> DerivedCache:
    """Return an empty cache in memory."""
    return DerivedCache(open_in_memory(_CACHE._replace(version=version)), folder)


def _fact_checksum(fact: Fact) -> bytes:
    text = f"{fact.generation} {fact.label}\n{fact.key}\n".encode("utf-8", "replace")
    return checksums.cache_row_checksum(fact.snapshot, text + fact.data)


def show_lines(lines: str) -> str:
    """Return the text of sorted index lines, joined by newlines."""
    return lines.replace("\0", ": ")


def _sum_lines(lines: str) -> int:
    """Return a checksum of lines in any order, to which that of more can be added; 0 without."""
    return sum(map(crc32, lines.encode().split(b"\n")))
