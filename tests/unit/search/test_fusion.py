"""Several rankings made one."""

import pytest

from brain.search.bm25 import Bm25Selector
from brain.search.keyword_score import KeywordSelector
from brain.search.rank_fusion import FUSION_DEPTH, WORDS_WEIGHT, HybridSelector, fuse_rankings
from brain.search.selector import RankedSkill
from tests.support.skill_catalogues import index_words, make_catalogue, ranked_slugs, skill_document


def ranking(**scores: float) -> list[RankedSkill]:
    return [RankedSkill(name, score, f"{name}/SKILL.md") for name, score in scores.items()]


def test_what_both_find_beats_what_one_finds_first():
    fused = fuse_rankings(ranking(a=0.9, b=0.8, c=0.4), ranking(d=9.0, b=8.0, e=0.9))
    assert ranked_slugs(fused) == ["b", "a", "d", "e", "c"]
    assert fused[0].score == pytest.approx(0.8 + WORDS_WEIGHT * 8 / 9)


def test_a_word_far_rarer_than_chance_matches_decides_between_like_meanings():
    meant = ranking(nearest=0.82, named=0.81, far=0.4)
    assert ranked_slugs(fuse_rankings(meant, ranking(named=20.0, nearest=2.0)))[0] == "named"
    assert ranked_slugs(fuse_rankings(meant, ranking(far=2.0)))[0] == "nearest"


def test_one_ranking_alone_keeps_its_order():
    alone = ranking(b=0.9, a=0.5, c=0.5)
    assert ranked_slugs(fuse_rankings(alone, [])) == ["b", "a", "c"]
    assert ranked_slugs(fuse_rankings([], alone)) == ["b", "a", "c"]
    assert fuse_rankings([], []) == []


def test_skills_that_are_equally_near_all_count():
    assert ranked_slugs(fuse_rankings(ranking(a=0.5), ranking(b=3.0))) == ["a", "b"]


def test_words_that_did_not_match_and_places_beyond_the_depth_score_nothing():
    many = ranking(**{f"s{n:03}": 1 - n / 1000 for n in range(FUSION_DEPTH + 5)})
    fused = fuse_rankings(many, ranking(s000=1.0, zero=0.0))
    assert [one.score for one in fused[FUSION_DEPTH:]] == [0.0] * 6
    assert ranked_slugs(fused) == [*ranked_slugs(many), "zero"]


def test_skills_of_one_slug_stay_two():
    twins = [RankedSkill("a", 1.0, "x/a/SKILL.md"), RankedSkill("a", 1.0, "y/a/SKILL.md")]
    assert [one.path for one in fuse_rankings(twins, [])] == ["x/a/SKILL.md", "y/a/SKILL.md"]


def test_a_hybrid_finds_what_any_part_finds():
    skills = [
        skill_document("a", "alpha beta"),
        skill_document("b", "running"),
        skill_document("c", "none"),
    ]
    hybrid = HybridSelector(
        KeywordSelector(make_catalogue(*skills)), Bm25Selector(index_words(*skills))
    )
    assert ranked_slugs(hybrid.rank("alpha beta runs", 5)) == ["a", "b"]
    assert ranked_slugs(hybrid.rank("alpha beta runs", 1)) == ["a"]
    assert ranked_slugs(hybrid.rank("alpha beta runs", 0)) == ["a", "b", "c"]
