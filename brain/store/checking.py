"""Reading every blob again: small ones by all processors, then large ones.

The rows are cut into parts, which are taken in turn by this process and by forked
children, each over a connection of its own. Rows are added behind the last part, so the
parts are the same to all of them; if rows are taken out meanwhile, which the epoch of the
store tells, the caller begins again. Verdicts come in the order of the rows, whoever gave
them.

Large blobs come in the order in which they were kept, so one that only grew is
hashed on from where the one before it ended. A thousand versions of a growing
file then cost little more than its last one.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from blake3 import blake3

from ..digest import EMPTY
from ..errors import BrainError, StoreError
from ..forking import Send, Turns, forked
from .codec import RECIPE, Decoder, corrupt
from .connection import Connection
from .protocol import Checked, ExpectedSize, Look
from .recipe import NOTHING, Recipe, can_follow
from .schema import columns

PARTS = 256
"""Parts that a store is cut into, so that none has long to wait for the others at the end."""
SMALLEST_PART = 64
"""Rows in a part, unless there are fewer."""
WORTH_SHARING = 8
"""Parts from which on children pay."""

_PART = (
    f"SELECT {columns('id BLOB, codec INTEGER, data BLOB')} FROM blobs"
    " WHERE number BETWEEN ? AND ? ORDER BY number"
)

_Judged = tuple[list[tuple[bytes, int]], list[tuple[bytes, str]], list[bytes], list[bytes]]
"""Of one part: a `Checked`, and the ids of large blobs, still to be judged."""


@contextmanager
def small(
    db: Connection,
    open_own: Callable[[], Connection],
    large: list[bytes],
    processes: int,
    look: Look,
) -> Iterator[Iterator[Checked]]:
    """Begin to judge all rows but recipes; yield the verdicts, at which children are already.

    The ids of recipes are appended to `large`. `open_own` opens a connection for a child.
    What is sound is shown to `look`.
    """
    parts = _parts(db)
    turns = Turns(len(parts))

    def work(send: Send) -> None:
        with closing(open_own()) as own:
            judged = list(_judged(own, parts, turns, look))
        for part in judged:  # not before: nobody listens until the parent has time
            send(part)

    children = processes - 1 if len(parts) >= WORTH_SHARING else 0
    with closing(turns), ExitStack() as stack:
        helpers = [stack.enter_context(forked(work)) for _ in range(children)]
        yield _in_order(db, parts, turns, helpers, large, look)


def _parts(db: Connection) -> list[tuple[int, int]]:
    """Return the parts as their first and last row."""
    ((first, last),) = db.all("SELECT ifnull(min(number), 1), ifnull(max(number), 0) FROM blobs")
    step = max(SMALLEST_PART, -(-(last - first + 1) // PARTS))
    return [(start, min(start + step - 1, last)) for start in range(first, last + 1, step)]


def _judged(
    db: Connection, parts: Sequence[tuple[int, int]], turns: Turns, look: Look
) -> Iterator[tuple[int, bytes]]:
    """Judge the parts whose turn it is; yield each with its number, packed."""
    decoder = Decoder(db)
    for turn in turns:
        yield turn, marshal.dumps(_judge(db, decoder, look, *parts[turn]))


def _judge(db: Connection, decoder: Decoder, look: Look, first: int, last: int) -> _Judged:
    sizes: list[tuple[bytes, int]] = []
    faults: list[tuple[bytes, str]] = []
    named: list[bytes] = []
    large: list[bytes] = []
    for id, codec, data in db.stream(_PART, (first, last)):
        if codec == RECIPE:
            large.append(id)
            continue
        try:
            content = decoder.decode(id, codec, data)
        except StoreError as error:
            faults.append((id, error.message))
            continue
        if blake3(content).digest() == id:
            sizes.append((id, len(content)))
            if look(id, content):
                named.append(id)
        else:
            faults.append((id, corrupt(id, "its content does not hash to its id").message))
    return sizes, faults, named, large


def _in_order(
    db: Connection,
    parts: Sequence[tuple[int, int]],
    turns: Turns,
    helpers: Sequence[Iterator[tuple[int, bytes]]],
    large: list[bytes],
    look: Look,
) -> Iterator[Checked]:
    """Judge what is left and yield all verdicts, also those of the helpers."""
    waiting: dict[int, bytes] = {}
    place = 0
    for judged in (_judged(db, parts, turns, look), *helpers):
        for turn, packed in judged:
            waiting[turn] = packed
            while place in waiting:
                sizes, faults, named, recipes = marshal.loads(waiting.pop(place))
                large += recipes
                yield Checked(sizes, faults, named)
                place += 1
    if place < len(parts):
        raise BrainError("a part of the store was not checked", code="worker_died")


class LargeChecker:
    """Judges large blobs one by one.

    `recipe_of` and `read_chunk` (of a blob, a chunk, its size) raise typed errors for what
    is damaged or missing; `prefixes` are the blobs that others grew from. A blob that has
    to have another size, as `expected` says, is not read.
    """

    def __init__(
        self,
        recipe_of: Callable[[bytes], Recipe],
        read_chunk: Callable[[bytes, bytes, int], bytes],
        prefixes: set[bytes],
        expected: ExpectedSize,
    ) -> None:
        self._recipe_of = recipe_of
        self._read_chunk = read_chunk
        self._prefixes = prefixes
        self._expected = expected
        self._ends = {EMPTY: (blake3(max_threads=blake3.AUTO), NOTHING)}
        self._latest: dict[tuple[bytes, bytes], tuple[list[tuple[bytes, int]], blake3]] = {}

    def judge(self, id: bytes) -> Checked:
        """Read what has not been read of a blob and compare the whole with its id."""
        try:
            return Checked([(id, self._size(id, self._recipe_of(id)))], [], [])
        except BrainError as error:
            return Checked([], [(id, error.message)], [])

    def _size(self, id: bytes, recipe: Recipe) -> int:
        if recipe.prefix not in self._ends or not recipe.chunks:
            raise corrupt(id, "what it grew from is damaged or missing")
        size = self._expected(id, recipe.size)
        if size != recipe.size:
            raise corrupt(id, f"its recipe makes {recipe.size} bytes, not {size}")
        start, grown = self._ends[recipe.prefix]
        if recipe.depth and not can_follow(recipe, grown):
            raise corrupt(id, "its prefix does not fit")
        place = (recipe.prefix, recipe.chunks[0])
        pieces = list(zip(recipe.chunks, recipe.sizes, strict=True))
        done, digest = self._latest.get(place, ([], start))
        if pieces[: len(done)] != done:
            done, digest = [], start
        digest = digest.copy()
        for chunk, length in pieces[len(done) :]:
            digest.update(self._read_chunk(id, chunk, length))
        if digest.digest() != id:
            raise corrupt(id, "its content does not hash to its id")
        self._latest[place] = (pieces, digest)
        if id in self._prefixes:
            self._ends[id] = (digest, recipe)
        return size
