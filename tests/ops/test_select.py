"""Selection in a brain: what it finds after any change is what a fresh look finds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from brain import Brain
from brain.errors import InvalidInput, ModelError, NotFound
from tests.support.brains import skill_text, write_file
from tests.support.derived_data import cache_folder
from tests.support.refusals import raises_code


def found(brain: Brain, task: str, **options: object) -> list[str]:
    return [one.slug for one in brain.skills.select(task, **options)]  # type: ignore[arg-type]


def described(name: str, description: str) -> str:
    return skill_text(name).replace(f"About {name}", description)


def test_a_task_gets_the_skills_that_fit(brain):
    brain.skills.upsert("csv-to-excel", "Do.", description="Convert tables into spreadsheets")
    brain.skills.upsert("dates", "Do.", description="Read dates in any notation")
    (one,) = brain.skills.select("which spreadsheet?")
    assert (one.slug, one.name, one.path) == (
        "csv-to-excel",
        "csv-to-excel",
        "skills/csv-to-excel/SKILL.md",
    )
    assert one.description == "Convert tables into spreadsheets" and one.score > 0
    assert found(brain, "dates spreadsheets", limit=1) != []
    assert sorted(found(brain, "nothing of this", limit=0)) == ["csv-to-excel", "dates"]


def test_an_unknown_way_to_select_is_refused_with_those_there_are(brain):
    with raises_code("bad_selector", InvalidInput) as error:
        brain.skills.select("x", by="magic")
    assert "bm25" in error.value.hint


def test_an_upsert_a_delete_and_an_undo_are_followed(brain):
    assert found(brain, "penguins") == []
    brain.skills.upsert("a", "Do.", description="Count penguins")
    assert found(brain, "penguins") == ["a"]
    brain.skills.upsert("a", description="Count whales")
    assert (found(brain, "penguins"), found(brain, "whale")) == ([], ["a"])
    brain.skills.delete("a")
    assert found(brain, "whale") == []
    brain.undo()
    assert found(brain, "whale") == ["a"]


def test_a_file_beside_a_skill_that_comes_later_is_no_skill_any_more(brain):
    write_file(brain, "skills/tools/search.md", described("search", "Find penguins"))
    brain.snapshot()
    assert found(brain, "penguins") == ["search"]
    write_file(brain, "skills/tools/SKILL.md", described("tools", "All of them"))
    brain.snapshot()
    assert found(brain, "penguins") == []
    (brain.root / "skills/tools/SKILL.md").unlink()
    brain.snapshot()
    assert found(brain, "penguins") == ["search"]


def test_another_revision_is_selected_from_as_it_was(brain):
    brain.skills.upsert("a", "Do.", description="Count penguins")
    before = brain.head
    brain.skills.upsert("a", description="Count whales")
    assert found(brain, "penguins", rev=before) == ["a"]
    assert found(brain, "penguins") == []


def test_what_was_collected_meanwhile_does_no_harm(brain):
    brain.branches.create("other")
    brain.branches.switch("other")
    brain.skills.upsert("a", "Do.", description="Count penguins")
    assert found(brain, "penguins") == ["a"]
    with Brain.open(brain.root) as another:
        another.branches.switch("main")
        another._session.clock = lambda: 1 << 45  # long after
        another.gc(grace=0)
    assert found(brain, "penguins") == []


@pytest.mark.parametrize("by", ["keyword", "bm25"])
def test_after_any_changes_the_answer_is_that_of_a_fresh_look(brain, by):
    rng = random.Random(by)
    names = [f"cat{n % 3}/skill{n}" for n in range(6)] + [f"skill{n}" for n in range(6)]
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    for _ in range(8):
        for name in rng.sample(names, 4):
            ending = rng.choice(["/SKILL.md", ".md"])
            text = described(name.rpartition("/")[2], " ".join(rng.choices(words, k=3)))
            write_file(brain, f"skills/{name}{ending}", text)
        for file in rng.sample(sorted((brain.root / "skills").rglob("*.md")), 2):
            file.unlink()
        brain.snapshot()
        task = " ".join(rng.sample(words, 2))
        with Brain.open(brain.root) as fresh:
            expected = fresh.skills.select(task, 0, by=by)
        scores = {one.path: one.score for one in brain.skills.select(task, 0, by=by)}
        assert scores == pytest.approx({one.path: one.score for one in expected})


def test_the_index_and_the_prompt_for_a_task_hold_what_it_needs(brain):
    brain.skills.upsert("penguins", "Do.", description="Count penguins")
    brain.skills.upsert("whales", "Do.", description="Count whales")
    made = brain.prompt.build_index(task="how many penguins?", top=1)
    assert (made.index, made.skills) == ("▸ penguins: Count penguins", 1)
    prompt = brain.prompt.build(task="how many whales?", top=1)
    assert "whales" in prompt.prompt and "penguins" not in prompt.prompt
    assert brain.prompt.build_index(task="nothing of the kind").skills == 0


def test_another_process_finds_the_index_of_words_as_the_last_one_left_it(brain):
    brain.skills.upsert("a", "Do.", description="Count penguins")
    assert found(brain, "penguins") == ["a"]
    file = cache_folder(brain) / "derived.db"
    before = file.stat().st_ino
    with Brain.open(brain.root) as another:
        another.skills.upsert("b", "Do.", description="Count whales")
        assert found(another, "whales") == ["b"]
    assert found(brain, "whales") == ["b"]
    assert file.stat().st_ino == before


@pytest.mark.parametrize("damage", ["gone", "nonsense", "another", "folder"])
def test_whatever_becomes_of_the_index_of_words_the_answer_is_the_same(brain, damage):
    brain.skills.upsert("a", "Do.", description="Count penguins")
    assert found(brain, "penguins") == ["a"]
    file = cache_folder(brain) / "derived.db"
    brain.close()
    for beside in file.parent.glob("derived.db-*"):
        beside.unlink()
    if damage == "nonsense":
        file.write_bytes(file.read_bytes()[:4096] + b"\xff" * 20_000)
    else:
        file.unlink()
    if damage == "folder":
        file.mkdir()
    if damage == "another":  # of a brain with other skills, and the state of none
        with Brain.init(brain.root.parent / "other") as other:
            other.skills.upsert("liar", "Do.", description="Count penguins")
            assert found(other, "penguins") == ["liar"]
            words = sorted(cache_folder(other).glob("derived.db*"))
        for path in words:
            path.rename(file.with_name(path.name))
    with Brain.open(brain.root) as again:
        assert found(again, "penguins") == ["a"]


def test_what_an_index_of_words_says_of_a_skill_that_is_not_there_is_not_believed(brain):
    brain.skills.upsert("a", "Do.", description="Count penguins")
    assert found(brain, "penguins") == ["a"]
    shelf = brain._session.search_cache
    assert shelf is not None and shelf.index is not None
    with shelf.index.transaction():
        rows = [("liar/SKILL.md", ("liar", "Count penguins", ""))]
        shelf.index.update(shelf.index.state, (), rows)
    assert found(brain, "penguins") == ["a"]


def test_where_no_cache_can_be_kept_skills_are_selected_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "caches").write_text("in the way")
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(tmp_path / "caches"))
    with Brain.init(tmp_path / "agent") as brain:
        brain.skills.upsert("a", "Do.", description="Count penguins")
        assert found(brain, "penguins") == ["a"]
    assert (tmp_path / "caches").read_text() == "in the way"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "caches"]


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


def found_by(brain: Brain, task: str, by: str = "", limit: int = 1) -> list[str]:
    return [one.slug for one in brain.skills.select(task, limit, by=by)]


def test_a_skill_is_found_though_no_word_is_the_same(library):
    assert found_by(library, "which bird has feathers", "bm25") == []
    assert found_by(library, "which bird has feathers", "embedding") == ["antarctica"]
    assert found_by(library, "a loaf of bread", "hybrid") == ["baking"]
    assert found_by(library, "fish of the sea") == ["ocean"]


def test_each_skill_is_embedded_once_and_after_a_change_again(library, toy):
    found_by(library, "bird")
    assert len(toy.texts) == 4
    found_by(library, "fish")
    assert toy.texts[4:] == ["fish"]
    library.skills.upsert("ocean", description="Feed each penguin")
    assert set(found_by(library, "bird", limit=2)) == {"antarctica", "ocean"}
    assert toy.texts[5:] == ["bird", "ocean: Feed each penguin"]
    with Brain.open(library.root, embedder=lambda: toy) as another:
        found_by(another, "whale")
    assert toy.texts[7:] == ["whale"]


def test_of_the_vectors_of_redacted_skills_nothing_is_kept(library):
    found_by(library, "bird")
    before = cache_folder(library) / "derived.db"
    assert count_vectors(library) == 3
    library.files.redact("skills/ocean/SKILL.md", reason="x")
    assert not before.exists()
    assert found_by(library, "bird", "embedding") == ["antarctica"]
    assert count_vectors(library) == 2


def test_a_vector_that_was_damaged_is_made_again(library, toy):
    found_by(library, "bird")
    library._session.cache.db.execute("UPDATE vectors SET vector = zeroblob(16)")
    del toy.texts[:]
    with Brain.open(library.root, embedder=lambda: toy) as another:
        assert found_by(another, "fish", "embedding") == ["ocean"]
    assert len(toy.texts) == 4


def count_vectors(brain: Brain) -> int:
    ((count,),) = brain._session.cache.db.fetch_all("SELECT count(*) FROM vectors")
    return int(count)


def test_a_limit_from_zero_down_takes_all(library):
    assert len(found_by(library, "bird", "embedding", 0)) == 3
    assert len(found_by(library, "bird", "hybrid", 0)) == 3


def test_without_skills_there_is_nothing_to_select(brain, toy):
    brain._session.open_embedder = lambda: toy
    assert found_by(brain, "bird", "embedding") == found_by(brain, "bird") == []


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
    assert [one.slug for one in chosen.skills] == found_by(library, "penguin", by) == ["antarctica"]
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
    found_by(library, "bird")
    toy.more = 3
    del toy.texts[:]
    assert found_by(library, "bird", "embedding") == ["antarctica"]
    assert len(toy.texts) == 4
    library.skills.upsert("desert", description="Count each camel")
    assert found_by(library, "a loaf", "embedding") == ["baking"]


def test_vectors_that_do_not_go_together_are_no_answer(library, toy):
    toy.uneven = True
    with raises_code("bad_answer", ModelError):
        library.skills.select("bird", by="embedding")
    assert found_by(library, "penguin") == ["antarctica"]
