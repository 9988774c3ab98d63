"""All takers, the one list of what can be adopted, and which of them knows a place."""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidInput, printable
from . import layouts, published
from .clients import SURE, Client
from .collections import Collection
from .git import CERTAIN, Git
from .letta import MemFS
from .lettafile import AgentFile
from .protocol import Found, Taker

_HOMES = (".hermes", ".claude", ".codex", ".openclaw", ".agents")


def takers() -> list[Taker]:
    """Return the takers, each made anew."""
    clients = [Client(layout) for layout in layouts.LAYOUTS if layout is not layouts.COLLECTION]
    files = [*clients, Collection()]
    letta = [MemFS(layouts.LETTA), MemFS(layouts.LETTA_SYSTEM), AgentFile(layouts.LETTA_FILE)]
    return [*files, *letta, Git([*files, *letta])]


def detect(path: Path, kind: str | None = None) -> tuple[Taker, Found]:
    """Return the taker that knows what is at `path`, and what it found.

    `kind` decides where several do; the name of a program stands for all its kinds. Raises
    `InvalidInput` (`no_source`, `unknown_source`, `ambiguous_source`, `bad_kind`).
    """
    if not path.exists():
        raise InvalidInput(
            f"nothing is at {printable(path)}",
            code="no_source",
            hint="name a folder that a program keeps, such as ~/.hermes",
        )
    every = takers()
    if kind is not None and not any(_is_of(taker, kind) for taker in every):
        raise InvalidInput(
            f"no kind of source is called {printable(kind)}",
            code="bad_kind",
            hint=f"use one of: {', '.join(taker.kind for taker in every)}",
        )
    wanted = [taker for taker in every if kind is None or _is_of(taker, kind)]
    found = [(taker, seen) for taker in wanted if (seen := taker.detect(path))]
    clients = [taker for taker in wanted if isinstance(taker, Client)]
    written = published.kinds(path) - {taker.kind for taker, _ in found}
    if written:  # what a brain wrote there may be too little to know the program by
        ours = [taker for taker in clients if taker.kind in written]
        found.extend([(taker, seen) for taker in ours if (seen := taker.assume(path))])
    if kind is not None and not found:
        found.extend([(taker, seen) for taker in clients if (seen := taker.assume(path))][:1])
    likely = _likely(found)
    if not likely:
        raise _unknown(path, kind)
    if len(likely) > 1:
        kinds = [f"{seen.kind} ({seen.why})" for _, seen in likely]
        raise InvalidInput(
            f"{printable(path)} may be {' or '.join(kinds)}",
            code="ambiguous_source",
            hint=f"say which with --as {likely[0][1].kind}; adopt it again as the other",
        )
    return likely[0]


def _likely(found: list[tuple[Taker, Found]]) -> list[tuple[Taker, Found]]:
    """Return the best of each program that is surely there, else what has the most signs.

    The files of a program that lie in a repository of git are taken as its agent has them
    now; the history is taken of what no program claims, or if asked for.
    """
    best: dict[str, tuple[Taker, Found]] = {}
    for taker, seen in sorted(found, key=lambda pair: -pair[1].weight):
        best.setdefault(_program(taker), (taker, seen))
    claims = list(best.values())
    for sure in (CERTAIN, SURE):
        if claims and claims[0][1].weight >= sure:
            return [pair for pair in claims if pair[1].weight >= sure]
    return claims[:1]


def _program(taker: Taker) -> str:
    return taker.layout.client if isinstance(taker, Client) else taker.kind


def _is_of(taker: Taker, kind: str) -> bool:
    return kind in (taker.kind, _program(taker))


def _unknown(path: Path, kind: str | None) -> InvalidInput:
    what = f"{kind}" if kind else "anything that can be adopted"
    there = [name for name in _HOMES if (path / name).is_dir()]
    inside = f"there is {' and '.join(there)} in it: name that folder" if there else ""
    return InvalidInput(
        f"{printable(path)} does not look like {what}",
        code="unknown_source",
        hint=inside or "see `brain adopt --help` for what can be",
    )
