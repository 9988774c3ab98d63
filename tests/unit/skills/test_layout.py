from collections.abc import Sequence

import pytest

from brain.errors import InvalidInput
from brain.skills.skill_layout import (
    category_from_path,
    find_skill_paths,
    match_skill_path,
    new_skill_path,
    slug_from_path,
)
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

SECTION = CASES["section"]


ELSEWHERE = CASES["elsewhere"]
PLACES = {f"skills/{path}": name for path, name in SECTION.items()} | ELSEWHERE


def test_skills_are_told_from_the_files_beside_them():
    found = find_skill_paths(sorted(PLACES))
    assert found == {path: name for path, name in PLACES.items() if name}


@pytest.mark.parametrize("path", PLACES)
def test_one_path_is_told_as_in_the_whole_brain(path):
    asked: list[Sequence[str]] = []

    def has_any(others: Sequence[str]) -> bool:
        asked.append(others)
        return not PLACES.keys().isdisjoint(others)

    assert match_skill_path(path, has_any) == PLACES[path]
    assert len(asked) <= 1
    assert all(sorted(others) == others for others in asked)


@pytest.mark.parametrize(
    ("path", "category"), CASES["test_the_category_of_a_skill_is_the_folders_above_it"]
)
def test_the_category_of_a_skill_is_the_folders_above_it(path, category):
    assert category_from_path(path) == category


@pytest.mark.parametrize(
    ("path", "slug"),
    [
        ("alpha/SKILL.md", "alpha"),
        ("a/b/Deep One/skill.md", "deep-one"),
        ("skills/SKILL.md", "skill"),
        ("skills/skills/SKILL.md", "skills"),
        ("flat.md", "flat"),
        ("Flat File.md", "flat-file"),
        ("tools/search.md", "search"),
        ("skill.md", "skill"),
        ("C++.md", "c"),
        ("x" * 80 + ".md", "x" * 64),
        ("é/SKILL.md", "e"),
    ],
)
def test_the_slug_of_a_path_is_that_of_its_folder_or_file(path, slug):
    assert slug_from_path(path) == slug


@pytest.mark.parametrize("path", ["🔥/SKILL.md", "con/SKILL.md", "---.md", "\udcff.md", ".md"])
def test_the_slug_of_an_impossible_name_is_made_of_its_digest(path):
    slug = slug_from_path(path)
    assert slug.startswith("skill-") and len(slug) == 14
    assert slug_from_path(path) == slug


def test_a_new_skill_goes_where_it_will_count_as_one():
    assert new_skill_path("a-skill", "directory") == "a-skill/SKILL.md"
    assert new_skill_path("a-skill", "flat") == "a-skill.md"
    assert new_skill_path("skill", "flat") == "skill.md"
    assert new_skill_path("readme", "flat") == "readme/SKILL.md"
    for slug in ("a-skill", "readme", "skill", "license", "code-of-conduct"):
        for layout in ("directory", "flat"):
            path = new_skill_path(slug, layout)
            assert find_skill_paths([f"skills/{path}"]) == {f"skills/{path}": slug}
            assert slug_from_path(f"skills/{path}") == slug


def test_an_unknown_layout_is_refused():
    with raises_code("bad_layout", InvalidInput) as caught:
        new_skill_path("a", "\x1bnested")
    assert caught.value.message.isprintable()
