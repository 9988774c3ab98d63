"""An open brain: its folder, its store, and recently loaded objects; and how a brain is found."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .. import limits
from ..digest import blob_id, is_hex
from ..errors import InvalidInput, NoBrain, NotFound, StoreError, printable_text
from ..named_tuple import NamedTuple
from ..objects import bundle as bundles
from ..objects import lineage
from ..objects import snapshot as snapshots
from ..objects.bundle import Sections, State
from ..objects.node_cache import NodeCache
from ..objects.snapshot import Snapshot
from ..objects.tree import Difference
from ..store.reader import StoreReader
from ..store.rows import ObjectKind
from ..util.checked_calls import checked
from ..util.progress import Progress, no_progress
from .derived_db import DERIVATION_VERSION

if TYPE_CHECKING:
    from ..experience import store as experience
    from ..experience.settings import LoadExperienceSettings
    from ..experience.usage import UsageStore
    from ..search.embedder import OpenEmbedder
    from ..search.selectors import SearchCache
    from ..skills.index_lines import IndexText
    from ..skills.skill_metadata import SkillMetadata
    from .derived_db import CacheUnusable, DerivedCache, DerivedSnapshot


SigningKeyProvider = Callable[[], bytes]
"""Returns a private key, 32 bytes; called whenever one is needed, and not before."""

PinnedRootsProvider = Callable[[str], Iterable[str]]
"""Returns the root keys (`ed25519:…`) that the user has pinned for a brain, by its id."""

_MAX_RESOLVED_SNAPSHOTS = 32

K = TypeVar("K")
V = TypeVar("V")


class Loaded(dict[K, V]):
    """What was loaded, by its key; it forgets all when it is full."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self._size:
            self.clear()
        super().__setitem__(key, value)


def current_time_ms() -> int:
    """Return the time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class Session:
    """The state that every operation needs: store, objects in memory, cache, and settings.

    `clock` returns milliseconds since 1970. `reader` is the store, or its open transaction.
    Objects are hashed to their ids as they are read, and kept in memory. Data derived from
    them is kept in the user's `cache`; `staged_updates` and `new_cards` have what the open
    transaction adds to it. `resolved_snapshots` are the last ones that were looked up beside
    the refs; `complete_snapshots` those with no ancestor missing. `declared_names` has, by
    path and blob, the names of skills in the open transaction that differ from the paths.
    `code_paths` are those of all skill.py, with the state that has them. `own_programs` are the
    ids of those that it had admitted: of what is proposed, only these run before it is accepted.
    A frozenset stays as it is: so nothing runs for a session that several clients share.

    `progress` is called during long work on the cache. `sign_with` returns the key that signs
    each new snapshot, and `last_recorded` is the last of these; `open_embedder` opens the
    embedder of selection by meaning; `load_experience_settings` says where experience is stored;
    `pinned_roots_provider` returns the root keys that the user pinned, and
    `verified_signatures` has the signatures already verified against them. `search_cache`
    keeps the skills of the head for selection.
    """

    has_folder = True
    """True if snapshots are written to the folder, and its manual edits are recorded first."""
    proposal = ""
    """The name of the proposal that it works on."""

    def __init__(
        self,
        root: Path,
        store: StoreReader,
        author: str = "",
        clock: Callable[[], int] = current_time_ms,
    ) -> None:
        self.root = root
        self.store = store
        self.author = validate_text(author, limits.MAX_AUTHOR_BYTES, "author")
        self.clock = clock
        self.sign_with: SigningKeyProvider | None = None
        self.last_recorded: bytes | None = None
        self.open_embedder: OpenEmbedder | None = None
        self.load_experience_settings: LoadExperienceSettings | None = None
        self.pinned_roots_provider: PinnedRootsProvider | None = None
        self.verified_signatures: set[tuple[bytes, bytes, frozenset[bytes]]] = set()
        self.reader = store
        self.nodes = NodeCache(lambda node_id: self.reader.read_object(ObjectKind.NODE, node_id))
        self.progress: Progress = no_progress
        self.staged_updates: dict[bytes, StagedDerivation] = {}
        self.new_cards: dict[bytes, bytes] = {}
        self.resolved_snapshots: deque[bytes] = deque(maxlen=_MAX_RESOLVED_SNAPSHOTS)
        self.snapshots_in_cache: set[bytes] = set()
        self.complete_snapshots: set[bytes] = set()
        self._cache: DerivedCache | None = None
        self._cache_redactions = b""
        self._redaction_digest = (-1, b"")
        self.declared_names: dict[tuple[str, bytes], str] = {}
        self.code_paths: tuple[State, frozenset[str]] | None = None
        self.loaded_cards: Loaded[bytes, SkillMetadata] = Loaded(4096)
        self.rendered_indexes: Loaded[object, IndexText] = Loaded(4)
        self.search_cache: SearchCache | None = None
        self.own_programs: set[bytes] | frozenset[bytes] = set()
        self._brain_id = b""
        self._epoch = 0
        self.snapshots: Loaded[bytes, Snapshot] = Loaded(4096)
        self.states: Loaded[bytes, BrainState] = Loaded(64)

    def close(self) -> None:
        """Close the store and the caches."""
        if self._cache is not None:
            self._cache.close()
        for name in ("usage", "experience"):
            if name in self.__dict__:
                getattr(self, name).close()
        self.store.close()

    @cached_property
    def usage(self) -> UsageStore:
        """The counts of uses of skills; threads may share them."""
        from ..experience.usage import UsageStore

        return UsageStore(self.control_folder)

    @cached_property
    def experience(self) -> experience.Store:
        """What agents went through, where the user's settings say; threads may share it.

        Raises `InvalidInput` (`bad_experience_url`), `StoreError` (`not_installed`).
        """
        from ..experience.store import open_store

        settings = self.load_experience_settings and self.load_experience_settings()
        return open_store(self.control_folder, self.brain_id().hex(), settings)

    @property
    def cache(self) -> DerivedCache:
        """The user's cache of this brain, opened when it is first asked for.

        Another one takes its place as soon as something was redacted, and what was derived
        before is dropped: it may hold redacted text.
        """
        cache = self._cache
        if cache is None or (
            self.reader is self.store  # no transaction is open, neither here nor in the cache
            and not cache.db.in_transaction
            and self._compute_redaction_digest() != self._cache_redactions
        ):
            cache = self._open_cache()
        return cache

    def _open_cache(self) -> DerivedCache:
        from .derived_db import open_cache

        may_keep = partial(is_safe_cache_path, self.root)
        redacted = self._compute_redaction_digest()
        return self._use_cache(open_cache(self.brain_id(), DERIVATION_VERSION, redacted, may_keep))

    def _compute_redaction_digest(self) -> bytes:
        epoch = self.reader.removal_epoch()
        if epoch != self._redaction_digest[0]:
            gone = sorted(self.reader.list_redaction_rows())
            self._redaction_digest = epoch, blob_id(b"".join(gone))[:16] if gone else b""
        return self._redaction_digest[1]

    def _use_cache(self, cache: DerivedCache) -> DerivedCache:
        self.search_cache = None  # not closed: it may be the caller
        if self._cache is not None:
            self._cache.close()
        self._cache, self._cache_redactions = cache, self._compute_redaction_digest()
        self.new_cards.clear()
        self.snapshots_in_cache.clear()
        self.loaded_cards.clear()
        self.rendered_indexes.clear()
        return cache

    def use_memory_cache(self) -> None:
        """Use an empty cache in memory; the one on the disk is unusable."""
        from .derived_db import open_memory_cache

        self._use_cache(open_memory_cache(DERIVATION_VERSION))

    def replace_cache(self) -> None:
        """Replace the cache on the disk, which deviates from the store, by an empty one."""
        from .derived_db import clear_cache_folder

        folder = self._open_cache().folder
        self.use_memory_cache()
        if folder is not None:
            clear_cache_folder(folder, "\0")
        self._open_cache()

    def give_up_cache(self, error: CacheUnusable) -> None:
        """Use an empty cache instead: on the disk if that one is damaged, else in memory."""
        if isinstance(error.__cause__, StoreError) and error.__cause__.code == "bad_store":
            self.replace_cache()
        else:
            self.use_memory_cache()

    def reopen_cache_after_fork(self) -> None:
        """Reopen the cache in a forked child, without closing the connection of its parent."""
        self._parent_cache, self._cache = self._cache, None

    def timestamp_ms(self) -> int:
        """Return the time of the clock, in ms, within what a snapshot can hold."""
        return min(max(self.clock(), 0), snapshots.MAX_TIME_MS)

    @property
    def control_folder(self) -> Path:
        """The folder of the store."""
        return self.root / CONTROL_FOLDER

    def load_snapshot(self, snapshot_id: bytes) -> Snapshot:
        """Return a snapshot. Raises `NotFound`, `StoreError` or `FormatError`."""
        found = self.snapshots.get(snapshot_id)
        if found is None:
            data = self.reader.read_object(ObjectKind.SNAPSHOT, snapshot_id)
            found = snapshots.decode_verified_snapshot(snapshot_id, data)
            self.snapshots[snapshot_id] = found
        return found

    def note_resolved(self, snapshot_id: bytes) -> None:
        """Note that the lineage of a snapshot may be needed next."""
        if snapshot_id not in self.resolved_snapshots:
            self.resolved_snapshots.append(snapshot_id)

    def load_state(self, bundle_id: bytes) -> BrainState:
        """Return the state of a bundle by its id. Raises as `load_snapshot`."""
        found = self.states.get(bundle_id)
        if found is None:
            data = self.reader.read_object(ObjectKind.BUNDLE, bundle_id)
            found = BrainState(self, bundles.decode_verified_bundle(bundle_id, data))
            self.states[bundle_id] = found
        return found

    def clear_loaded(self) -> None:
        """Drop all objects from memory: a failed transaction has not stored some of them."""
        self.nodes.clear()
        self.snapshots.clear()
        self.states.clear()
        self.rendered_indexes.clear()
        self.staged_updates.clear()
        self.new_cards.clear()
        self.snapshots_in_cache.clear()
        self.complete_snapshots.clear()
        self.code_paths = None

    def drop_collected(self) -> None:
        """Drop all objects from memory if any was removed from the store since."""
        epoch = self.reader.removal_epoch()
        if epoch != self._epoch:
            self._epoch = epoch
            self.clear_loaded()

    def state_of(self, snapshot_id: bytes) -> BrainState:
        """Return the state of a snapshot."""
        return self.load_state(self.load_snapshot(snapshot_id).bundle)

    def parent_state(self, snapshot: Snapshot) -> BrainState:
        """Return the state of the first parent of a snapshot, an empty one for a genesis."""
        return self.state_of(snapshot.parents[0]) if snapshot.parents else BrainState(self)

    def at(self, revision: str = "@") -> BrainState:
        """Return the state at a revision. Raises as `resolve`."""
        return self.state_of(self.resolve(revision))

    def resolve(self, revision: str) -> bytes:
        """Return the snapshot id that a revision names.

        `@`, or `HEAD`, is the head. The name of a branch is its head, that of a tag its snapshot.
        An id, or a unique prefix of one of six digits or more, is that snapshot. `~N` behind any of
        these is its N-th ancestor along first parents.

        Raises `InvalidInput` (`bad_revision`, `ambiguous_id`) or `NotFound` (`no_revision`).
        """
        base, tilde, steps_back = revision.partition("~")
        if tilde and not (steps_back.isascii() and steps_back.isdigit() and len(steps_back) <= 9):
            raise _bad_revision_error(revision)
        found = self._resolve_base(base)
        if tilde:
            depth = self.load_snapshot(found).jump.depth - int(steps_back)
            ancestor = lineage.find_ancestor_at(self.load_snapshot, found, depth)
            if ancestor is None:
                raise NotFound(
                    f"{revision} goes back before the first snapshot",
                    code="no_revision",
                    hint="`brain log` lists the snapshots",
                )
            found = ancestor
        self.note_resolved(found)
        return found

    def _resolve_base(self, base: str) -> bytes:
        if base == "@":
            return self.head()
        if not is_hex(base) or not MIN_ID_DIGITS <= len(base) <= 64:
            read_ref = self.reader.read_ref
            named = (read_ref(head_ref(base)) or read_ref(TAG_REF_PREFIX + base)) if base else None
            if named is None and base == "HEAD":
                return self.head()
            if named is None:
                raise _bad_revision_error(base)
            return named  # no branch or tag looks like an id, see `check_branch_name`
        found = self.reader.find_snapshots(base)
        if len(found) > 1:
            raise InvalidInput(
                f"{base} is the start of more than one id",
                code="ambiguous_id",
                hint="give more digits",
            )
        if not found:
            raise NotFound(
                f"there is no snapshot, branch or tag {base}",
                code="no_revision",
                hint="`brain log`, `brain branch` and `brain tag --list` list them",
            )
        return found[0][1]

    def current_branch(self) -> str:
        """Return the name of the branch the head is on."""
        name = self.reader.read_meta("branch")
        if name is None:
            raise StoreError(
                "the store does not name its current branch", hint="run `brain doctor`"
            )
        return name.decode()

    def head(self) -> bytes:
        """Return the id of the head of the current branch."""
        return self._read_branch_head(self.current_branch())

    def folder_head(self) -> bytes:
        """Return the head that the folder has, also in the session of a proposal."""
        return self._read_branch_head(Session.current_branch(self))

    def base(self) -> bytes:
        """Return the snapshot that changes are compared with: the head."""
        return self.head()

    def _read_branch_head(self, branch: str) -> bytes:
        head = self.reader.read_ref(head_ref(branch))
        if head is None:
            raise StoreError(
                f"the branch {branch} points to no snapshot",
                hint="run `brain doctor`",
            )
        return head

    def pinned_root_keys(self) -> frozenset[bytes]:
        """Return the root keys that the user has pinned for this brain; none without.

        Raises `InvalidInput` (`bad_roots`, `bad_key`).
        """
        if self.pinned_roots_provider is None:
            return frozenset()
        from ..trust.ed25519 import parse_key

        return frozenset(map(parse_key, self.pinned_roots_provider(self.brain_id().hex())))

    def brain_id(self) -> bytes:
        """Return the id of the brain: that of its genesis snapshot, which the head names.

        Raises `StoreError` (`wrong_brain`) if the store says another one than its head.
        """
        if not self._brain_id:
            found = self.read_brain_id()
            head = self._read_branch_head((self.reader.read_meta("branch") or b"").decode())
            if (self.load_snapshot(head).brain or head) != found:
                raise StoreError(
                    "the store names another brain than its head does",
                    code="wrong_brain",
                    hint="run `brain verify`, and restore the folder .brain from a copy",
                )
            self._brain_id = found
        return self._brain_id

    def read_brain_id(self) -> bytes:
        """Return the id of the brain that the store states, which a verification checks."""
        found = self.reader.read_meta("brain")
        if found is None:
            raise StoreError("the store does not name its brain", hint="run `brain doctor`")
        return found


class BrainState(State):
    """A state of an open brain, whose trees and caches are reached through `session`."""

    def __init__(self, session: Session, sections: Sections | None = None) -> None:
        super().__init__(session.nodes, sections)
        self.session = session


class StagedDerivation(NamedTuple):
    """Derived data of a new snapshot, and its changes from `before` to `after`."""

    derived: DerivedSnapshot
    before: BrainState
    after: BrainState
    changed: list[Difference]


def validate_text(text: str, max_bytes: int, field: str) -> str:
    """Return a text that goes into a snapshot.

    Raises `InvalidInput` (`bad_char` for what is not UTF-8, `too_large`).
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the {field} is not valid UTF-8", code="bad_char", hint="write it in UTF-8"
        ) from error
    if size > max_bytes:
        raise InvalidInput(
            f"the {field} has {size} bytes; at most {max_bytes} are allowed",
            code="too_large",
            hint="shorten it",
        )
    return text


def head_ref(branch: str) -> str:
    """Return the ref of a branch."""
    return f"heads/{branch}"


CONTROL_FOLDER = ".brain"
"""The folder inside of a brain's folder that holds the store."""
STORE_FILE = "store.db"


@checked
def find_brain(start: str | Path) -> Path:
    """Return the nearest folder with a brain, from `start` upwards.

    A brain in a folder that an outer brain records, such as a skill, is passed over in favour
    of the outer one, unless the user may not read that. A `.brain` that is a link does not
    count. Raises `NoBrain`, and `PermissionError` if only a brain is found that they may not read.
    """
    start = Path(start).absolute()
    nearest: Path | None = None
    for folder in (start, *start.parents):
        try:
            has_store = is_brain(folder) and not (folder / CONTROL_FOLDER).is_symlink()
            if has_store and (nearest is None or _is_recorded_folder(folder, nearest)):
                nearest = folder
        except PermissionError:
            if nearest is None:
                raise
    if nearest is not None:
        return nearest
    for folder in (start, *start.parents):
        with suppress(PermissionError):
            refuse_missing_store(folder)
    raise NoBrain(
        f"there is no brain in {start} or in a folder above it",
        hint="make one with `brain init`, or name one with -C",
    )


def refuse_missing_store(folder: Path) -> None:
    """Refuse a folder whose `.brain` has lost its store. Raises `NoBrain`."""
    if (folder / CONTROL_FOLDER).is_dir() and not is_brain(folder):
        raise NoBrain(
            f"the brain in {folder} has lost its store: {CONTROL_FOLDER}/{STORE_FILE} is missing",
            hint="restore the folder .brain from a copy; to begin anew without the history, move"
            " .brain away and run `brain init`",
        )


def is_brain(folder: Path) -> bool:
    """Return whether a folder has a brain, also one whose `.brain` is a link."""
    return (folder / CONTROL_FOLDER / STORE_FILE).is_file()


def is_safe_cache_path(root: Path, path: str) -> bool:
    """Return whether a cache at `path` is outside of the files that the brain at `root` records.

    Others may write those files, for instance by a merge.
    """
    cache_path, real_root = Path(path), Path(os.path.realpath(root))
    if not cache_path.is_relative_to(real_root):
        return True
    return not cache_path.is_relative_to(real_root / CONTROL_FOLDER) and not _is_recorded_folder(
        real_root, cache_path
    )


def _is_recorded_folder(root: Path, folder: Path) -> bool:
    from ..folder.ignore import IgnoreRules

    try:
        return not IgnoreRules.load(root).excludes(f"{folder.relative_to(root).as_posix()}/x")
    except InvalidInput:  # malformed rules ignore nothing
        return True


MIN_ID_DIGITS = 6
TAG_REF_PREFIX = "tags/"
"""The prefix of the refs of tags."""


def has_snapshot(session: Session, snapshot: str) -> bool:
    """Tell whether this brain has the snapshot of a full id, on any branch or none."""
    return (
        is_hex(snapshot) and len(snapshot) == 64 and bool(session.reader.find_snapshots(snapshot))
    )


def _bad_revision_error(text: str) -> InvalidInput:
    return InvalidInput(
        f"'{printable_text(text, 80)}' is not a revision",
        code="bad_revision",
        hint="a revision is @, @~N, a branch, a tag, or six or more hex digits of an id; where"
        " skills are taken too, `brain skill list` lists them",
    )


REJECTED_REF_PREFIX = "rejected/"
MAX_REJECTED = 20
"""Rejected attempts of a brain that garbage collection keeps, the newest ones."""
DROP_KIND = "gc"
"""The kind of the operation by which garbage collection drops refs; undo passes over it."""


def list_rejected_refs(session: Session, slug: str = "") -> list[tuple[str, bytes]]:
    """Return ref and snapshot of the rejected attempts, all or of a slug, newest first."""
    prefix = f"{REJECTED_REF_PREFIX}{slug}/" if slug else REJECTED_REF_PREFIX
    refs = session.reader.list_refs().items()
    found = [(name, snapshot) for name, snapshot in refs if name.startswith(prefix)]
    times = {snapshot: session.load_snapshot(snapshot) for _, snapshot in found}
    found.sort(key=lambda row: (times[row[1]].time, times[row[1]].generation, row), reverse=True)
    return found
