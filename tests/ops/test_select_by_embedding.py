"""Selection by meaning in a brain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from brain import Brain
from brain.errors import ModelError, NotFound
from brain.search import meaning
from tests.support.derived_data import cache_folder
from tests.support.refusals import raises_code

if TYPE_CHECKING:
    from brain.search.embedder import Matrix

MEANINGS = [("penguin", "bird", "feather"), ("whale", "fish", "sea"), ("oven", "bread", "loaf")]


class Toy:
    """An embedder for which a few words mean the same."""

    identity = "toy"

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.broken = self.uneven = False
        self.more = 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        if self.broken:
            raise ModelError("it is broken", code="unreachable")
        self.texts += texts
        self.more += self.uneven
        rows = [
            [0.1, *(sum(w in text for w in ws) for ws in MEANINGS), *[0] * self.more]
            for text in texts
        ]
        matrix = np.array(rows, np.float32)
        return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)


@pytest.fixture
def toy():
    return Toy()


@pytest.fixture
def library(brain, toy):
    brain.skills.upsert("antarctica", "Do.", description="Count each penguin")
    brain.skills.upsert("ocean", "Do.", description="Count each whale")
    brain.skills.upsert("baking", "Do.", description="Heat the oven")
    brain._session.open_embedder = lambda: toy
    return brain


def found(brain: Brain, task: str, by: str = "", limit: int = 1) -> list[str]:
    return [one.slug for one in brain.skills.select(task, limit, by=by)]


def test_a_skill_is_found_though_no_word_is_the_same(library):
    assert found(library, "which bird has feathers", "bm25") == []
    assert found(library, "which bird has feathers", "embedding") == ["antarctica"]
    assert found(library, "a loaf of bread", "hybrid") == ["baking"]
    assert found(library, "fish of the sea") == ["ocean"]


def test_each_skill_is_embedded_once_and_after_a_change_again(library, toy):
    found(library, "bird")
    assert len(toy.texts) == 4
    found(library, "fish")
    assert toy.texts[4:] == ["fish"]
    library.skills.upsert("ocean", description="Feed each penguin")
    assert set(found(library, "bird", limit=2)) == {"antarctica", "ocean"}
    assert toy.texts[5:] == ["bird", "ocean: Feed each penguin"]
    with Brain.open(library.root, embedder=lambda: toy) as another:
        found(another, "whale")
    assert toy.texts[7:] == ["whale"]


def test_of_the_vectors_of_redacted_skills_nothing_is_kept(library):
    found(library, "bird")
    before = cache_folder(library) / "derived.db"
    assert count_vectors(library) == 3
    library.files.redact("skills/ocean/SKILL.md", reason="x")
    assert not before.exists()
    assert found(library, "bird", "embedding") == ["antarctica"]
    assert count_vectors(library) == 2


def test_a_vector_that_was_damaged_is_made_again(library, toy):
    found(library, "bird")
    library._session.cache.db.execute("UPDATE vectors SET vector = zeroblob(16)")
    del toy.texts[:]
    with Brain.open(library.root, embedder=lambda: toy) as another:
        assert found(another, "fish", "embedding") == ["ocean"]
    assert len(toy.texts) == 4


def test_vectors_that_nobody_asks_for_any_more_go_when_there_are_many(library, toy, monkeypatch):
    found(library, "bird")
    for word in ("whale", "fish"):
        library.skills.upsert("ocean", description=f"Count each {word}")
        found(library, "bird")
    assert count_vectors(library) == 4
    monkeypatch.setattr(meaning, "_MAX_UNUSED_VECTORS", -3)
    library.skills.upsert("ocean", description="Count each sea")
    found(library, "bird")
    assert count_vectors(library) == 3


def count_vectors(brain: Brain) -> int:
    ((count,),) = brain._session.cache.db.fetch_all("SELECT count(*) FROM vectors")
    return int(count)


def test_a_limit_from_zero_down_takes_all(library):
    assert len(found(library, "bird", "embedding", 0)) == 3
    assert len(found(library, "bird", "hybrid", 0)) == 3


def test_without_skills_there_is_nothing_to_select(brain, toy):
    brain._session.open_embedder = lambda: toy
    assert found(brain, "bird", "embedding") == found(brain, "bird") == []


@pytest.mark.parametrize("by", ["embedding", "hybrid"])
def test_without_an_embedder_it_is_said_what_to_do(brain, by):
    with raises_code("no_embedder", NotFound) as error:
        brain.skills.select("x", by=by)
    assert "config embedder" in error.value.hint


@pytest.mark.parametrize("by", ["", "hybrid"])
def test_where_an_embedder_fails_words_decide_and_it_is_said(library, toy, by):
    assert library.skills.rank("penguin", by=by)[1:] == ("hybrid", None)
    toy.broken = True
    chosen = library.skills.rank("penguin", by=by)
    assert [one.slug for one in chosen.skills] == found(library, "penguin", by) == ["antarctica"]
    assert (chosen.by, chosen.fallback) == ("bm25", "it is broken")
    for made in (
        library.prompt.build_index(task="penguin", by=by),
        library.prompt.build(task="penguin", by=by),
    ):
        assert "antarctica" in made.index
        assert (made.selected_by, made.fallback) == ("bm25", "it is broken")
    toy.broken = False
    assert library.prompt.build_index(task="bird", by=by).fallback is None


def test_an_embedder_that_is_asked_for_by_name_fails_aloud(library, toy):
    toy.broken = True
    for ask in (library.prompt.build_index, library.prompt.build):
        with pytest.raises(ModelError):
            ask(task="penguin", by="embedding")


def test_a_model_of_other_dimensions_under_the_same_name_is_noticed(library, toy):
    found(library, "bird")
    toy.more = 3
    del toy.texts[:]
    assert found(library, "bird", "embedding") == ["antarctica"]
    assert len(toy.texts) == 4
    library.skills.upsert("desert", description="Count each camel")
    assert found(library, "a loaf", "embedding") == ["baking"]


def test_vectors_that_do_not_go_together_are_no_answer(library, toy):
    toy.uneven = True
    with raises_code("bad_answer", ModelError):
        library.skills.select("bird", by="embedding")
    assert found(library, "penguin") == ["antarctica"]
