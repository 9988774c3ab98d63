"""The labelled set is what it says, and the document says what was measured."""

from pathlib import Path

import pytest

from brain.search import similarity
from brain.search.selectors import STOP_WORDS, split_words
from tests.support.search import measure_selectors
from tests.support.search.labelled_skills import (
    NEAR_DUPLICATES,
    TASK_KINDS,
    is_named_as_duplicate,
    load_labelled_set,
)

DOCUMENT = Path(__file__).parents[2] / "docs/guides/agents.md"


def test_there_are_enough_skills_and_tasks_and_none_twice():
    labelled = load_labelled_set()
    slugs = [one.slug for one in labelled.documents]
    assert len(slugs) >= 300 and len(set(slugs)) == len(slugs)
    assert len(labelled.tasks) >= 300
    assert {task.kind for task in labelled.tasks} == set(TASK_KINDS)
    assert {task.slug for task in labelled.tasks} <= set(slugs)
    assert len({task.text for task in labelled.tasks}) == len(labelled.tasks)


def test_tasks_do_not_repeat_descriptions():
    labelled = load_labelled_set()
    described = {one.slug: one for one in labelled.documents}
    shares: dict[str, list[float]] = {}
    for task in labelled.tasks:
        one = described[task.slug]
        own = set(split_words(f"{one.slug} {one.description}")) - STOP_WORDS
        asked = set(split_words(task.text)) - STOP_WORDS
        shares.setdefault(task.kind, []).append(len(asked & own) / len(asked))
    mean = {kind: sum(found) / len(found) for kind, found in shares.items()}
    assert mean["s"] <= 0.05 and mean["t"] <= 0.45 and mean["m"] <= 0.35
    assert len(shares["s"]) >= 300


def test_the_figures_of_the_document_are_what_the_command_gives():
    told = measure_selectors.parse_table(DOCUMENT.read_text("utf-8"))
    for name, figures in measure_selectors.measure_word_selectors(load_labelled_set()).items():
        assert told[name] == pytest.approx(figures, abs=0.0006), name
    assert set(measure_selectors.MODEL_SELECTORS) <= set(told)


def test_near_duplicates_are_found_and_others_are_not_named():
    index, named = (
        measure_selectors.make_bm25_selector(load_labelled_set()),
        load_labelled_set().documents,
    )
    found = [is_named_as_duplicate(index, name, told, slug) for slug, name, told in NEAR_DUPLICATES]
    assert all(found)
    strangers = [
        one
        for one in named
        if is_named_as_duplicate(index, one.slug, one.description, "", one.path)
    ]
    assert len(strangers) <= 0.05 * len(named)
    assert similarity.NEAR_DUPLICATE_THRESHOLD == 0.5
