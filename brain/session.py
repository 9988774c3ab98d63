"""An open brain: its folder, its store, and what was read of it lately."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import limits
from .cache.version import VERSION
from .digest import blob_id
from .errors import InvalidInput, NoBrain, StoreError, printable
from .objects import proven
from .objects import snapshot as snapshots
from .objects.bundle import Bundle
from .objects.nodes import Nodes
from .objects.snapshot import Snapshot
from .store.protocol import Kind, Reader, Store

if TYPE_CHECKING:
    from .cache.cache import Cache
    from .cache.staged import Staged
    from .selection.embedding.protocol import OpenEmbedder
    from .selection.shelf import Shelf
    from .skills.card import Card
    from .skills.index import IndexText

CONTROL = ".brain"
"""The folder, inside a brain's, that holds the store."""

SignWith = Callable[[], bytes]
"""Returns a private key, 32 bytes; called whenever one is needed, and not before."""

PinnedRoots = Callable[[str], Iterable[str]]
"""Returns the root keys (`ed25519:…`) that the user has pinned for a brain, by its id."""

_KEPT_SNAPSHOTS = 4096
_KEPT_BUNDLES = 64
_KEPT_CARDS = 4096
_KEPT_INDEXES = 4
_KEPT_RESOLVED = 32


def now() -> int:
    """Return the time in milliseconds since 1970, UTC."""
    return time.time_ns() // 1_000_000


class Session:
    """What every action works on. `clock` gives milliseconds since 1970.

    Objects are hashed to their ids as they are read. What is derived from them lies in the
    user's `cache`; `staged` has, by snapshot, what of it the open transaction made, and
    `resolved` the last snapshots that were asked about beside those the refs lead to, and `whole`
    snapshots behind which nothing is missing.
    `progress`, if set, is told of long work on the cache: what, how much, of how much.

    `sign_with`, if set, gives the key that signs each snapshot that is recorded, and
    `open_embedder` what selection by meaning needs; `roots` gives the root keys that the
    user pinned, and `entitled` has what was found signed by rights that lead to them.
    `named_otherwise` has, by blob, the names of skills that went through the open
    transaction and bear another name than their place. `shelf` has what selection keeps
    at hand of the skills of the head.
    """

    has_folder = True
    """Whether what is written goes to the folder, and what is there by hand is recorded first."""

    def __init__(
        self, root: Path, store: Store, author: str = "", clock: Callable[[], int] = now
    ) -> None:
        self.root = root
        self.store = store
        self.author = checked_text(author, limits.MAX_AUTHOR_BYTES, "author")
        self.clock = clock
        self.sign_with: SignWith | None = None
        self.open_embedder: OpenEmbedder | None = None
        self.roots: PinnedRoots | None = None
        self.entitled: set[tuple[bytes, bytes, frozenset[bytes]]] = set()
        self.reader: Reader = store
        self.nodes = Nodes(lambda node_id: self.reader.get(Kind.NODE, node_id))
        self.progress: Callable[[str, int, int], None] | None = None
        self.staged: dict[bytes, Staged] = {}
        self.new_cards: dict[bytes, bytes] = {}
        self.resolved: deque[bytes] = deque(maxlen=_KEPT_RESOLVED)
        self.learned: set[bytes] = set()
        self.whole: set[bytes] = set()
        self._cache: Cache | None = None
        self._cache_without = b""
        self._redacted = (-1, b"")
        self.named_otherwise: dict[bytes, str] = {}
        self.cards: dict[bytes, Card] = {}
        self.indexes: dict[object, IndexText] = {}
        self.shelf: Shelf | None = None
        self._brain = b""
        self._epoch = 0
        self._snapshots: dict[bytes, Snapshot] = {}
        self._bundles: dict[bytes, Bundle] = {}

    def close(self) -> None:
        """Give the store back, and what was read of it."""
        if self.shelf is not None:
            self.shelf.close()
        if self._cache is not None:
            self._cache.close()
        self.store.close()

    @property
    def cache(self) -> Cache:
        """The user's cache of this brain, opened when it is first asked for.

        Another one takes its place as soon as something was redacted.
        """
        cache = self._cache
        if cache is None or (self._is_settled and self._redactions() != self._cache_without):
            cache = self._open_cache()
        return cache

    def _open_cache(self) -> Cache:
        from .cache.cache import open_cache

        may_keep = partial(_may_keep, self.root)
        cache = open_cache(self.brain_id(), VERSION, self._redactions(), may_keep)
        self.use_cache(cache)
        return cache

    def replace_cache(self) -> None:
        """Go on with an empty cache in the place of the one on the disk, which deviates."""
        from .cache import folder as folders

        folder = self._open_cache().folder
        self.lose_cache()
        if folder is not None:
            folders.clear(folder, "\0")
        self._open_cache()

    def follow_redactions(self) -> None:
        """Forget what is derived and at hand if something was redacted since."""
        _ = self.cache

    @property
    def _is_settled(self) -> bool:
        """Whether neither the store nor the cache is in the midst of a transaction."""
        in_cache = self._cache is not None and self._cache.is_changing
        return self.reader is self.store and not in_cache

    def _redactions(self) -> bytes:
        """Return a digest of the ids of all redacted blobs, empty if there are none."""
        epoch = self.reader.epoch()
        if epoch != self._redacted[0]:
            gone = sorted(self.reader.all_redacted())
            self._redacted = epoch, blob_id(b"".join(gone))[:16] if gone else b""
        return self._redacted[1]

    def report(self, what: str, done: int, total: int) -> None:
        """Tell of long work on the cache; `total` is 0 where it is not known."""
        if self.progress is not None:
            self.progress(what, done, total)

    def lose_cache(self) -> None:
        """Go on with an empty cache in memory, since that on the disk cannot be used."""
        from .cache.cache import in_memory

        self.use_cache(in_memory(VERSION))

    def reopen_cache(self) -> None:
        """Open the cache anew in a forked child; that of its parent is not even closed there."""
        self._of_parent, self._cache = self._cache, None

    def use_cache(self, cache: Cache) -> None:
        """Go on with another cache."""
        self.shelf = None  # not closed: it may be what asks
        if self._cache is not None:
            self._cache.close()
        self._cache, self._cache_without = cache, self._redactions()
        self.learned.clear()
        self.cards.clear()
        self.indexes.clear()

    def clear_cache(self) -> None:
        """Forget what is derived, here and in the files of the cache."""
        from .cache.cache import Unusable

        if self.shelf is not None:
            self.shelf.close()
            self.shelf = None
        try:
            self.cache.clear()
        except Unusable:
            self.lose_cache()
        self.learned.clear()
        self.cards.clear()
        self.indexes.clear()

    def time(self) -> int:
        """Return the time of the clock, in ms, within what a snapshot can hold."""
        return min(max(self.clock(), 0), snapshots.MAX_TIME)

    @property
    def control(self) -> Path:
        """The folder of the store."""
        return self.root / CONTROL

    def load(self, snapshot_id: bytes) -> Snapshot:
        """Return a snapshot. Raises `NotFound`, `StoreError` or `FormatError`."""
        found = self._snapshots.get(snapshot_id)
        if found is None:
            found = proven.snapshot(snapshot_id, self.reader.get(Kind.SNAPSHOT, snapshot_id))
            self.keep(snapshot_id, found)
        return found

    def is_at_hand(self, snapshot_id: bytes) -> bool:
        """Tell whether a snapshot was loaded lately, and so is in the store."""
        return snapshot_id in self._snapshots

    def ask_about(self, snapshot_id: bytes) -> None:
        """Note that the lineage of a snapshot may be asked about."""
        if snapshot_id not in self.resolved:
            self.resolved.append(snapshot_id)

    def keep(self, snapshot_id: bytes, snapshot: Snapshot) -> None:
        """Keep a snapshot at hand."""
        if len(self._snapshots) >= _KEPT_SNAPSHOTS:
            self._snapshots.clear()
        self._snapshots[snapshot_id] = snapshot

    def bundle(self, bundle_id: bytes) -> Bundle:
        """Return a bundle by its id. Raises as `load`."""
        found = self._bundles.get(bundle_id)
        if found is None:
            found = proven.bundle(bundle_id, self.reader.get(Kind.BUNDLE, bundle_id))
            self.keep_bundle(bundle_id, found)
        return found

    def keep_bundle(self, bundle_id: bytes, bundle: Bundle) -> None:
        """Keep a bundle at hand."""
        if len(self._bundles) >= _KEPT_BUNDLES:
            self._bundles.clear()
        self._bundles[bundle_id] = bundle

    def keep_cards(self, cards: dict[bytes, Card]) -> None:
        """Keep cards of skills, by blob, at hand."""
        if len(self.cards) >= _KEPT_CARDS:
            self.cards.clear()
        self.cards.update(cards)

    def keep_index(self, key: object, index: IndexText) -> None:
        """Keep an index of a snapshot that was fitted to its room at hand."""
        if len(self.indexes) >= _KEPT_INDEXES:
            self.indexes.clear()
        self.indexes[key] = index

    def forget(self) -> None:
        """Forget what was at hand: some of it has not been stored after all."""
        self.nodes.forget()
        self._snapshots.clear()
        self._bundles.clear()
        self.indexes.clear()
        self.staged.clear()
        self.new_cards.clear()
        self.learned.clear()
        self.whole.clear()

    def refresh(self) -> None:
        """Forget what was at hand if anything was taken out of the store since."""
        epoch = self.reader.epoch()
        if epoch != self._epoch:
            self._epoch = epoch
            self.forget()

    def bundle_of(self, snapshot_id: bytes) -> Bundle:
        """Return the bundle of a snapshot."""
        return self.bundle(self.load(snapshot_id).bundle)

    def branch(self) -> str:
        """Return the name of the branch the head is on."""
        name = self.reader.meta("branch")
        if name is None:
            raise StoreError("the store names no branch", hint="run `brain doctor`")
        return name.decode()

    def head(self) -> bytes:
        """Return the id of the snapshot the branch stands at."""
        return self._standing(self.branch())

    def folder_head(self) -> bytes:
        """Return the snapshot that the folder is of, whatever branch this session is on."""
        return self._standing(Session.branch(self))

    def base(self) -> bytes:
        """Return the snapshot that what is worked on is compared with: the head."""
        return self.head()

    def _standing(self, branch: str) -> bytes:
        head = self.reader.ref(head_ref(branch))
        if head is None:
            raise StoreError("the branch leads nowhere", hint="run `brain doctor`")
        return head

    def pinned(self) -> frozenset[bytes]:
        """Return the root keys that the user has pinned for this brain; none without.

        Raises `InvalidInput` (`bad_roots`, `bad_key`).
        """
        if self.roots is None:
            return frozenset()
        from .trust.statement import parse_key

        return frozenset(map(parse_key, self.roots(self.brain_id().hex())))

    def brain_id(self) -> bytes:
        """Return the id of the brain: that of its genesis snapshot, which the head names.

        Raises `StoreError` (`wrong_brain`) if the store says another one than its head.
        """
        if not self._brain:
            found = self.named_brain()
            head = self._standing((self.reader.meta("branch") or b"").decode())
            if (self.load(head).brain or head) != found:
                raise StoreError(
                    "the store names another brain than its head does",
                    code="wrong_brain",
                    hint="run `brain verify`, and restore the folder .brain from a copy",
                )
            self._brain = found
        return self._brain

    def named_brain(self) -> bytes:
        """Return the id of the brain as the store says it, which a verification asks about."""
        found = self.reader.meta("brain")
        if found is None:
            raise StoreError("the store names no brain", hint="run `brain doctor`")
        return found


def checked_text(text: str, most: int, what: str) -> str:
    """Return a text that goes into a snapshot.

    Raises `InvalidInput` (`bad_char` for what is not UTF-8, `too_large`).
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the {what} is not UTF-8", code="bad_char") from error
    if size > most:
        raise InvalidInput(
            f"{what} of {size} bytes", code="too_large", hint=f"at most {most} bytes"
        )
    return text


def head_ref(branch: str) -> str:
    """Return the ref of a branch."""
    return f"heads/{branch}"


def find(start: Path) -> Path:
    """Return the nearest folder, from `start` upwards, that holds a brain.

    One that lies in what another brain holds, such as in a skill, is not that of whoever works
    there: the outer one is. A `.brain` that is a link is passed over. Raises `NoBrain`.
    """
    here = start.absolute()
    found: Path | None = None
    for folder in (here, *here.parents):
        if holds_brain(folder) and (found is None or _is_part(folder, found)):
            found = folder
    if found is not None:
        return found
    raise NoBrain(
        f"no brain in {printable(here)} or above",
        hint="make one with `brain init`, or name one with -C",
    )


def holds_brain(folder: Path) -> bool:
    """Tell whether a folder has a store of its own, which it does not reach through a link."""
    control = folder / CONTROL
    return (control / "store.db").is_file() and not control.is_symlink()


def _may_keep(root: Path, path: str) -> bool:
    """Tell whether the user's cache may lie at `path`, which others must not be able to write."""
    place, here = Path(path), Path(os.path.realpath(root))
    if not place.is_relative_to(here):
        return True
    return not place.is_relative_to(here / CONTROL) and not _is_part(here, place)


def _is_part(root: Path, folder: Path) -> bool:
    """Tell whether `folder` is a part of what the brain at `root` holds."""
    from .worktree.named import is_left_out

    try:
        return not is_left_out(root, f"{folder.relative_to(root).as_posix()}/x")
    except InvalidInput:  # rules that cannot be read leave nothing out
        return True
