"""The labelled set is what it says, and the document says what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain.selection import likeness
from brain.selection.words import COMMON, words

from . import measure
from .labelled import KINDS, load
from .near import PAIRS, alike

DOCUMENT = Path(__file__).parents[2] / "docs/selection.md"


def test_there_are_enough_skills_and_tasks_and_none_twice() -> None:
    labelled = load()
    slugs = [one.slug for one in labelled.documents]
    assert len(slugs) >= 300 and len(set(slugs)) == len(slugs)
    assert len(labelled.tasks) >= 300
    assert {task.kind for task in labelled.tasks} == set(KINDS)
    assert {task.slug for task in labelled.tasks} <= set(slugs)
    assert len({task.text for task in labelled.tasks}) == len(labelled.tasks)


def test_tasks_do_not_repeat_descriptions() -> None:
    labelled = load()
    described = {one.slug: one for one in labelled.documents}
    shares: dict[str, list[float]] = {}
    for task in labelled.tasks:
        one = described[task.slug]
        own = set(words(f"{one.slug} {one.description}")) - COMMON
        asked = set(words(task.text)) - COMMON
        shares.setdefault(task.kind, []).append(len(asked & own) / len(asked))
    mean = {kind: sum(found) / len(found) for kind, found in shares.items()}
    assert mean["s"] <= 0.05 and mean["t"] <= 0.45 and mean["m"] <= 0.35
    assert len(shares["s"]) >= 300


def test_the_figures_of_the_document_are_what_the_command_gives() -> None:
    told = measure.read(DOCUMENT.read_text("utf-8"))
    for name, figures in measure.by_words(load()).items():
        assert told[name] == pytest.approx(figures, abs=0.0006), name
    assert set(measure.WITH_MODEL) <= set(told)


def test_near_duplicates_are_found_and_others_are_not_named() -> None:
    index, named = measure.bm25(load()), load().documents
    found = [alike(index, name, told, slug) for slug, name, told in PAIRS]
    assert all(found)
    strangers = [one for one in named if alike(index, one.slug, one.description, "", one.path)]
    assert len(strangers) <= 0.05 * len(named)
    assert likeness.ALIKE == 0.5
