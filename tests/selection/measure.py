"""How well each selector does on the labelled set: `python -m tests.selection.measure FILE`.

The table between the two marks in FILE (docs/selection.md) is written anew. With
`--model FOLDER` the rows of a sentence-transformers model are measured, too; without it
those that are there stay.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from brain.selection.bm25 import WEIGHTS, Bm25, texts
from brain.selection.catalogue import Catalogue
from brain.selection.fusion import Hybrid
from brain.selection.keyword import Keyword
from brain.store import fulltext

from .labelled import KINDS, Labelled, load

if TYPE_CHECKING:
    from brain.selection.protocol import Selector

BEGIN, END = "<!-- measured -->", "<!-- end -->"
FIRST = 5
"""Places that count."""
BODIES = "bm25, bodies too"
WITH_MODEL = ("embedding", "hybrid")


def recall(selector: Selector, labelled: Labelled) -> dict[str, float]:
    """Return by kind of task, and as `all`, the share whose skill is among the first places."""
    hits: dict[str, list[bool]] = {"all": [], **{kind: [] for kind in KINDS}}
    for task in labelled.tasks:
        found = any(one.slug == task.slug for one in selector.rank(task.text, FIRST))
        for kind in ("all", task.kind):
            hits[kind].append(found)
    return {kind: sum(found) / len(found) for kind, found in hits.items()}


def catalogue(labelled: Labelled) -> Catalogue:
    """Return the skills of the set."""
    made = Catalogue()
    made.change((), labelled.documents)
    return made


def bm25(labelled: Labelled, bodies: bool = False) -> Bm25:
    """Return the selector by BM25 over the set; `bodies` lets their words count, too."""
    index = fulltext.in_memory((*WEIGHTS, 1.0) if bodies else WEIGHTS)
    with index.changing():
        rows = [(one, (body,) if bodies else ()) for one, body in labelled.skills]
        index.change(b"", (), ((one.path, (*texts(one), *more)) for one, more in rows))
    return Bm25(index)


def by_words(labelled: Labelled) -> dict[str, dict[str, float]]:
    """Return the figures of the selectors that need no model."""
    selectors: dict[str, Selector] = {
        "keyword": Keyword(catalogue(labelled)),
        "bm25": bm25(labelled),
        BODIES: bm25(labelled, bodies=True),
    }
    return {name: recall(selector, labelled) for name, selector in selectors.items()}


def by_model(labelled: Labelled, folder: str) -> dict[str, dict[str, float]]:
    """Return the figures of the selectors with a model in `folder`."""
    from brain.selection.embedding.local import Local
    from brain.selection.embedding.selector import Embedding
    from brain.selection.embedding.vectors import Vectors

    embedder = Local(folder)
    with tempfile.TemporaryDirectory() as kept:
        vectors = Vectors(kept, embedder.identity)
        embedding = Embedding(catalogue(labelled), embedder, vectors)
        hybrid = Hybrid([embedding, bm25(labelled)])
        selectors: dict[str, Selector] = dict(zip(WITH_MODEL, (embedding, hybrid), strict=True))
        return {name: recall(selector, labelled) for name, selector in selectors.items()}


def table(figures: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of the table."""
    counts = {kind: sum(task.kind == kind for task in load().tasks) for kind in KINDS}
    kinds = [f"{words} ({counts[kind]})" for kind, words in KINDS.items()]
    yield f"| recall@{FIRST} | all ({len(load().tasks)}) | {' | '.join(kinds)} |"
    yield "|---|" + "---|" * (1 + len(KINDS))
    for name, found in figures.items():
        yield f"| {name} | {' | '.join(f'{found[kind]:.3f}' for kind in ('all', *KINDS))} |"


def read(text: str) -> dict[str, dict[str, float]]:
    """Return the figures of a document."""
    found: dict[str, dict[str, float]] = {}
    for line in text.partition(BEGIN)[2].partition(END)[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 2 + len(KINDS) and re.fullmatch(r"[01]\.\d{3}", cells[1]):
            found[cells[0]] = dict(zip(("all", *KINDS), map(float, cells[1:]), strict=True))
    return found


def main(file: Path, model: str) -> None:
    """Measure, and write the table."""
    text = file.read_text("utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    figures = by_words(load())
    known = by_model(load(), model) if model else read(text)
    figures.update({name: known[name] for name in WITH_MODEL if name in known})
    lines = "\n".join(table(figures))
    file.write_text(f"{before}{BEGIN}\n{lines}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="")
    main(**vars(parser.parse_args()))
