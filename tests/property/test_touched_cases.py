"""Which cases a change touches is what a comparison of all prompts says."""

import math
from itertools import count, islice
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain import Brain
from brain.evolve.gate.guard_cases import find_guards
from brain.evolve.gate.skills_under_test import PlannedRanks, PlannedSkills
from brain.gating.case_document import encode_case
from brain.gating.case_split import is_held_out
from brain.gating.case_types import Expectation, case_text
from brain.repo.gate.plan_change import ChangeRequest
from brain.search.bm25 import FIELD_WEIGHTS, index_fields
from brain.search.change_ranking import MAX_RANKED, ChangeIndex, DocumentChange
from brain.search.selector import SearchDocument
from brain.store.full_text_index import open_memory_full_text

WORDS = (
    *("sort", "sorting", "tickets", "ticket", "desk", "bake", "bread", "oven", "guest", "rules"),
    *("the", "greet", "words", "count", "of", "report", "a", "long", "mail", "draft", "Käse"),
)
SKILLS, CASES = 40, 60
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
bodies = texts.filter(bool).map(str.encode)
changes = st.builds(
    ChangeRequest,
    name=st.integers(0, SKILLS - 1).map("skill-{}".format),
    description=texts | st.none(),
    body=bodies | st.none(),
) | st.builds(ChangeRequest, name=st.just("new-skill"), description=texts, body=bodies)


def draw_text(rng: Random, most: int) -> str:
    return " ".join(rng.choices(WORDS, weights=[1 / (n + 1) for n in range(len(WORDS))], k=most))


@pytest.fixture(scope="module")
def brain(tmp_path_factory):
    """Return a brain with its held-out cases."""
    rng = Random(1)
    folder = tmp_path_factory.mktemp("touched")
    tasks = filter(is_held_out, (f"{draw_text(rng, 5)} {number}" for number in count()))
    for number in range(SKILLS):
        home = folder / "skills" / f"skill-{number}"
        (home / "cases").mkdir(parents=True)
        line = draw_text(rng, rng.randrange(9))
        text = f"---\nname: skill-{number}\ndescription: {line}\n---\n{draw_text(rng, 5)}\n"
        (home / "SKILL.md").write_text(text)
    for number, task in enumerate(islice(tasks, CASES)):
        path = folder / "skills" / f"skill-{number % SKILLS}" / "cases" / f"c{number}.yaml"
        path.write_bytes(encode_case(task, Expectation(contains=("x",))))
    with Brain.init(folder, author="ada") as made:
        made.snapshot()
        paths = [f"skills/skill-{number}/SKILL.md" for number in range(SKILLS)]
        head = bytes.fromhex(made.head)
        yield made, [case for path in paths for case in made.gate.read_held_out(head, path)]


@given(wanted=changes)
def test_a_change_touches_the_cases_whose_prompts_differ(brain, wanted):
    opened, cases = brain
    assert len(cases) == CASES
    planned = opened.gate.plan(wanted)
    ranks = PlannedRanks(opened.gate, planned)
    old = PlannedSkills(opened.gate, planned, ranks, planned.base_text, None)
    new = PlannedSkills(opened.gate, planned, ranks, planned.text, None)
    found = find_guards(opened, planned.head, ranks, (old, new), lambda: None)
    others = [] if planned.is_equal else [case for case in cases if case.skill != planned.slug]
    prompts = ((case.path, old, new, case_text(case)) for case in others)
    plain = {path for path, a, b, task in prompts if a.prompt(task) != b.prompt(task)}
    assert {case.path for case in found} == plain


def document(number: int, line: str) -> SearchDocument:
    slug = f"skill-{number}"
    return SearchDocument(f"skills/{slug}/SKILL.md", slug, slug, line, b"")


@given(st.lists(texts, min_size=1, max_size=30), texts, texts, st.integers(0, 31))
def test_both_sides_of_a_change_are_ranked_by_the_words_of_all(lines, line, task, number):
    cut = open_memory_full_text(FIELD_WEIGHTS).stem_words
    index = ChangeIndex(cut)
    documents = {one.path: one for one in (document(n, each) for n, each in enumerate(lines))}
    other = document(0, "to be replaced")
    index.apply_change((), [other])
    index.apply_change([other], documents.values())
    after = document(number, line)
    change = DocumentChange(before=documents.get(after.path), after=after)
    query = index.read_query(task)
    ranks = index.open_change(change).rank(query, MAX_RANKED)

    versions = list(documents.values()) + ([] if change.is_ranked_alike else [after])
    stems = [[stem for text in index_fields(one) for stem in cut(text)] for one in versions]

    def score(one: SearchDocument) -> float:
        total = 0.0
        for stem in query:
            found = sum(stem in each for each in stems)
            if found:
                rarity = math.log(1 + (len(versions) - found + 0.5) / (found + 0.5))
                total += rarity * index.weigh(one).get(stem, 0.0)
        return total

    for side, ranked in (
        (documents, ranks.before),
        ({**documents, after.path: after}, ranks.after),
    ):
        scores = {path: round(score(one), 9) for path, one in side.items()}
        best = sorted((-value, path) for path, value in scores.items() if value)[:MAX_RANKED]
        assert [-scores[one.path] for one in ranked] == [value for value, _ in best]
        assert all(side[one.path][:4] == one[:4] for one in ranked)


def test_words_of_a_name_and_few_words_weigh_more():
    index = ChangeIndex(open_memory_full_text(FIELD_WEIGHTS).stem_words)
    documents = [
        SearchDocument("skills/a/SKILL.md", "a", "tickets", "sorts them", b""),
        SearchDocument("skills/b/SKILL.md", "b", "b", "sorts tickets", b""),
        SearchDocument("skills/c/SKILL.md", "c", "c", "sorts tickets and much else of mails", b""),
    ]
    index.apply_change((), documents)
    change = DocumentChange(before=None, after=document(9, "nothing"))
    ranks = index.open_change(change).rank(index.read_query("Sort a ticket"), MAX_RANKED)
    assert [one.slug for one in ranks.before] == ["a", "b", "c"] == [o.slug for o in ranks.after]
