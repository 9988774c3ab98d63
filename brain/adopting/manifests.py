"""The manifest of a brain that begins as the home of another program."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from json import dumps

from .. import manifest
from ..brain import Brain
from ..objects.entry import FILE
from .layouts import BY_KIND, Layout
from .protocol import File, Step


def text_for(name: str, layout: Layout, in_place: bool) -> bytes:
    """Return the text of a manifest with the files that belong into the system prompt.

    They are named also where they are not there yet. In place, it says what home the brain
    is, for paths are then those of the program.
    """

    def path(home: str) -> str:
        return home if in_place else layout.place(home) or home

    lines = [manifest.new(name, "directory").decode()]
    if in_place:
        lines.append(f"home: {layout.kind}\n")
    if layout.system or layout.memory:
        lines.append("prompt:\n")
    if layout.system:
        lines.append("  system:\n")
        lines.extend(f"    - {dumps(path(home))}\n" for home in layout.system)
    if layout.memory:
        lines.append("  memory:\n")
        for home, limit in layout.memory:
            lines.append(f"    - path: {dumps(path(home))}\n      limit: {limit}\n")
    return "".join(lines).encode()


def with_manifest(brain: Brain, kind: str, steps: Iterator[Step]) -> Iterator[Step]:
    """Add the manifest to the first state of a new brain, if its kind says what goes in."""
    layout = BY_KIND.get(kind)
    first = next(steps, None)
    if first is None:
        return
    if layout is not None and (layout.system or layout.memory):
        text = text_for(brain.root.name, layout, False)
        made: tuple[str, File | None] = (manifest.PATH, File(FILE, text))
        first = first._replace(files=chain((made,), first.files))
    yield first
    yield from steps
