"""Several rankings made one."""

from __future__ import annotations

from brain.selection.bm25 import Bm25
from brain.selection.fusion import Hybrid, fuse
from brain.selection.keyword import Keyword
from brain.selection.protocol import Ranked

from .shelves import catalogue, document, slugs, words


def ranking(*names: str) -> list[Ranked]:
    return [Ranked(name, 1.0, f"{name}/SKILL.md") for name in names]


def test_what_both_find_beats_what_one_finds_first() -> None:
    fused = fuse([ranking("a", "b", "c"), ranking("d", "b", "e")])
    assert slugs(fused) == ["b", "a", "d", "c", "e"]
    assert fused[0].score == 2 / 62


def test_skills_of_one_slug_stay_two() -> None:
    twins = [Ranked("a", 1.0, "x/a/SKILL.md"), Ranked("a", 1.0, "y/a/SKILL.md")]
    assert [one.path for one in fuse([twins])] == ["x/a/SKILL.md", "y/a/SKILL.md"]


def test_a_hybrid_finds_what_any_part_finds() -> None:
    skills = [document("a", "alpha beta"), document("b", "running"), document("c", "none")]
    hybrid = Hybrid([Keyword(catalogue(*skills)), Bm25(words(*skills))])
    assert slugs(hybrid.rank("alpha beta runs", 5)) == ["a", "b"]
    assert slugs(hybrid.rank("alpha beta runs", 1)) == ["a"]
    assert slugs(hybrid.rank("alpha beta runs", 0)) == ["a", "b", "c"]
