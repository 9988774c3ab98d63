from __future__ import annotations

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

SECTION = {
    "alpha/SKILL.md": "alpha",
    "alpha/notes.md": None,
    "alpha/subskill.md": None,
    "alpha/MYSKILL.MD": None,
    "alpha/references/deep.md": None,
    "flat.md": "flat",
    "UPPER.MD": "UPPER",
    "skill.md": "skill",
    "tools/search.md": "search",
    "tools/newskill.md": "newskill",
    "tools/README.md": None,
    "tools/DESCRIPTION.md": None,
    "tools/web/SKILL.md": "web",
    "tools/web/extra.md": None,
    "tools/deep/er/x.md": None,
    "a/b/c/d/SKILL.md": "d",
    "lower/skill.md": "lower",
    "lower/other.md": None,
    "lower/zz.md": None,
    "odd/Skill.md": "odd",
    "nested/SKILL.md": "nested",
    "nested/examples/inner/SKILL.md": None,
    "nested/skills/inner/SKILL.md": "inner",
    "README.md": None,
    "readme.md": None,
    "LICENSE.md": None,
    "CHANGELOG.md": None,
    "_draft.md": None,
    ".hidden.md": None,
    "_drafts/x/SKILL.md": None,
    ".hub/x/SKILL.md": None,
    "tools/_x.md": None,
    "tools/.x/SKILL.md": None,
    "script.py": None,
    "alpha/skill.txt": None,
    "md": None,
    "x.mdx": None,
    "alpha/SKILL.md.bak": None,
}


ELSEWHERE = {
    "SKILL.md": None,
    "oracle/SKILL.md": "oracle",
    "tools/oracle/skill.md": "oracle",
    "plugins/a/skills/oracle/SKILL.md": "oracle",
    "plugins/a/skills/oracle/assets/sample/SKILL.md": None,
    ".agents/skills/oracle/SKILL.md": "oracle",
    ".claude/skills/oracle/SKILL.md": "oracle",
    ".codeium/windsurf/skills/oracle/SKILL.md": "oracle",
    ".opencode/skill/oracle/SKILL.md": "oracle",
    ".codex/skills/.system/oracle/SKILL.md": "oracle",
    ".codex/skills/.archive/oracle/SKILL.md": None,
    ".hidden/oracle/SKILL.md": None,
    "tools/.curated/oracle/SKILL.md": None,
    "skills/.curated/oracle/SKILL.md": "oracle",
    "skills/.experimental/oracle/SKILL.md": "oracle",
    "skills/.system/oracle.md": None,
    "skills/.claude/skills/oracle/SKILL.md": "oracle",
    "_drafts/oracle/SKILL.md": None,
    "lib/_drafts/oracle/SKILL.md": None,
    "node_modules/oracle/SKILL.md": None,
    "lib/node_modules/x/skills/oracle/SKILL.md": None,
    ".cache/x/skills/oracle/SKILL.md": None,
    ".venv/skills/oracle/SKILL.md": None,
    "memory/oracle.md": None,
    "memory/tools/oracle.md": None,
    "plugins/a/skills/oracle.md": None,
}
PLACES = {f"skills/{path}": name for path, name in SECTION.items()} | ELSEWHERE


def test_skills_are_told_from_the_files_beside_them() -> None:
    found = find_skill_paths(sorted(PLACES))
    assert found == {path: name for path, name in PLACES.items() if name}


@pytest.mark.parametrize("path", PLACES)
def test_one_path_is_told_as_in_the_whole_brain(path: str) -> None:
    asked: list[Sequence[str]] = []

    def has_any(others: Sequence[str]) -> bool:
        asked.append(others)
        return not PLACES.keys().isdisjoint(others)

    assert match_skill_path(path, has_any) == PLACES[path]
    assert len(asked) <= 1
    assert all(sorted(others) == others for others in asked)


@pytest.mark.parametrize(
    ("path", "category"),
    [
        ("skills/oracle/SKILL.md", ""),
        ("skills/oracle.md", ""),
        ("skills/tools/oracle/SKILL.md", "tools"),
        ("skills/tools/oracle.md", "tools"),
        ("oracle/SKILL.md", ""),
        ("tools/oracle/SKILL.md", "tools"),
        (".agents/skills/oracle/SKILL.md", ".agents/skills"),
    ],
)
def test_the_category_of_a_skill_is_the_folders_above_it(path: str, category: str) -> None:
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
def test_the_slug_of_a_path_is_that_of_its_folder_or_file(path: str, slug: str) -> None:
    assert slug_from_path(path) == slug


@pytest.mark.parametrize("path", ["🔥/SKILL.md", "con/SKILL.md", "---.md", "\udcff.md", ".md"])
def test_the_slug_of_an_impossible_name_is_made_of_its_digest(path: str) -> None:
    slug = slug_from_path(path)
    assert slug.startswith("skill-") and len(slug) == 14
    assert slug_from_path(path) == slug


def test_a_new_skill_goes_where_it_will_count_as_one() -> None:
    assert new_skill_path("a-skill", "directory") == "a-skill/SKILL.md"
    assert new_skill_path("a-skill", "flat") == "a-skill.md"
    assert new_skill_path("skill", "flat") == "skill.md"
    assert new_skill_path("readme", "flat") == "readme/SKILL.md"
    for slug in ("a-skill", "readme", "skill", "license", "code-of-conduct"):
        for layout in ("directory", "flat"):
            path = new_skill_path(slug, layout)
            assert find_skill_paths([f"skills/{path}"]) == {f"skills/{path}": slug}
            assert slug_from_path(f"skills/{path}") == slug


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        new_skill_path("a", "\x1bnested")
    assert caught.value.code == "bad_layout"
    assert caught.value.message.isprintable()
