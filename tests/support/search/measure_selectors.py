"""Recall of each selector: `python -m tests.support.search.measure_selectors FILE`.

The table between the two marks in FILE (docs/guides/agents.md) is written anew. With
`--model` the rows of an embedder are measured, too, behind the endpoint `--base-url`. Without it
those that are there stay.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from brain.search import full_text
from brain.search.selectors import (
    FIELD_WEIGHTS,
    Bm25Selector,
    HybridSelector,
    KeywordSelector,
    SearchDocument,
    index_fields,
)
from tests.support.search.labelled_skills import TASK_KINDS, LabelledSet, load_labelled_set

if TYPE_CHECKING:
    from brain.search.embedder import Embedder
    from brain.search.selectors import Selector

TABLE_BEGIN, TABLE_END = "<!-- measured -->", "<!-- end -->"
TOP_PLACES = 5
"""Places that count."""
BM25_WITH_BODIES = "bm25, bodies too"
MODEL_SELECTORS = ("embedding", "hybrid")


def measure_recall(selector: Selector, labelled: LabelledSet) -> dict[str, float]:
    """Return by kind of task, and as `all`, the share whose skill is among the first places."""
    hits: dict[str, list[bool]] = {"all": [], **{kind: [] for kind in TASK_KINDS}}
    for task in labelled.tasks:
        found = any(one.slug == task.slug for one in selector.rank(task.text, TOP_PLACES))
        for kind in ("all", task.kind):
            hits[kind].append(found)
    return {kind: sum(found) / len(found) for kind, found in hits.items()}


def make_catalogue(labelled: LabelledSet) -> dict[str, SearchDocument]:
    """Return the skills of the set by their paths."""
    return {document.path: document for document in labelled.documents}


def make_bm25_selector(labelled: LabelledSet, bodies: bool = False) -> Bm25Selector:
    """Return the selector by BM25 over the set; `bodies` lets their words count, too."""
    index = full_text.open_memory_full_text((*FIELD_WEIGHTS, 1.0) if bodies else FIELD_WEIGHTS)
    with index.transaction():
        rows = [(one, (body,) if bodies else ()) for one, body in labelled.skills]
        index.update(b"", (), ((one.path, (*index_fields(one), *more)) for one, more in rows))
    return Bm25Selector(index)


def measure_word_selectors(labelled: LabelledSet) -> dict[str, dict[str, float]]:
    """Return the figures of the selectors that need no model."""
    selectors: dict[str, Selector] = {
        "keyword": KeywordSelector(make_catalogue(labelled)),
        "bm25": make_bm25_selector(labelled),
        BM25_WITH_BODIES: make_bm25_selector(labelled, bodies=True),
    }
    return {name: measure_recall(selector, labelled) for name, selector in selectors.items()}


def open_endpoint(model: str, base_url: str) -> Embedder:
    """Return the model behind an endpoint."""
    from brain.search.embedder import OPENAI_BASE_URL, EmbedderSettings, EndpointEmbedder

    settings = EmbedderSettings(model=model, base_url=base_url or OPENAI_BASE_URL)
    return EndpointEmbedder(settings, "")


def make_model_selectors(labelled: LabelledSet, embedder: Embedder) -> dict[str, Selector]:
    """Return the selectors that need an embedder; vectors are kept in memory."""
    from brain.repo.derived_db import open_memory_cache
    from brain.search.meaning import EmbeddingSelector

    db = open_memory_cache(1).db
    meaning = EmbeddingSelector(make_catalogue(labelled), embedder, db)
    hybrid = HybridSelector(meaning, make_bm25_selector(labelled))
    return dict(zip(MODEL_SELECTORS, (meaning, hybrid), strict=True))


def format_table(figures: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of the table."""
    counts = {
        kind: sum(task.kind == kind for task in load_labelled_set().tasks) for kind in TASK_KINDS
    }
    kinds = [f"{words} ({counts[kind]})" for kind, words in TASK_KINDS.items()]
    yield f"| recall@{TOP_PLACES} | all ({len(load_labelled_set().tasks)}) | {' | '.join(kinds)} |"
    yield "|---|" + "---|" * (1 + len(TASK_KINDS))
    for name, found in figures.items():
        yield f"| {name} | {' | '.join(f'{found[kind]:.3f}' for kind in ('all', *TASK_KINDS))} |"


def parse_table(text: str) -> dict[str, dict[str, float]]:
    """Return the figures of a document."""
    found: dict[str, dict[str, float]] = {}
    for line in text.partition(TABLE_BEGIN)[2].partition(TABLE_END)[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 2 + len(TASK_KINDS) and re.fullmatch(r"[01]\.\d{3}", cells[1]):
            found[cells[0]] = dict(zip(("all", *TASK_KINDS), map(float, cells[1:]), strict=True))
    return found


def main(file: Path, model: str, base_url: str) -> None:
    """Measure, and write the table."""
    text = file.read_text("utf-8")
    before, after = text.partition(TABLE_BEGIN)[0], text.partition(TABLE_END)[2]
    figures = measure_word_selectors(load_labelled_set())
    known = parse_table(text)
    if model:
        selectors = make_model_selectors(load_labelled_set(), open_endpoint(model, base_url))
        known = {name: measure_recall(one, load_labelled_set()) for name, one in selectors.items()}
    figures.update({name: known[name] for name in MODEL_SELECTORS if name in known})
    lines = "\n".join(format_table(figures))
    file.write_text(f"{before}{TABLE_BEGIN}\n{lines}\n{TABLE_END}{after}", "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="")
    parser.add_argument("--base-url", default="")
    main(**vars(parser.parse_args()))
