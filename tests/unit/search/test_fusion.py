"""Several rankings made one."""

from __future__ import annotations

from brain.search.bm25 import Bm25Selector
from brain.search.keyword_score import KeywordSelector
from brain.search.rank_fusion import HybridSelector, fuse_rankings
from brain.search.selector import RankedSkill
from tests.support.skill_catalogues import index_words, make_catalogue, ranked_slugs, skill_document


def ranking(*names: str) -> list[RankedSkill]:
    return [RankedSkill(name, 1.0, f"{name}/SKILL.md") for name in names]


def test_what_both_find_beats_what_one_finds_first() -> None:
    fused = fuse_rankings([ranking("a", "b", "c"), ranking("d", "b", "e")])
    assert ranked_slugs(fused) == ["b", "a", "d", "c", "e"]
    assert fused[0].score == 2 / 62


def test_skills_of_one_slug_stay_two() -> None:
    twins = [RankedSkill("a", 1.0, "x/a/SKILL.md"), RankedSkill("a", 1.0, "y/a/SKILL.md")]
    assert [one.path for one in fuse_rankings([twins])] == ["x/a/SKILL.md", "y/a/SKILL.md"]


def test_a_hybrid_finds_what_any_part_finds() -> None:
    skills = [
        skill_document("a", "alpha beta"),
        skill_document("b", "running"),
        skill_document("c", "none"),
    ]
    hybrid = HybridSelector(
        [KeywordSelector(make_catalogue(*skills)), Bm25Selector(index_words(*skills))]
    )
    assert ranked_slugs(hybrid.rank("alpha beta runs", 5)) == ["a", "b"]
    assert ranked_slugs(hybrid.rank("alpha beta runs", 1)) == ["a"]
    assert ranked_slugs(hybrid.rank("alpha beta runs", 0)) == ["a", "b", "c"]
