"""Which paths are texts of skills, and which slugs a name may have."""

from __future__ import annotations

import pytest

from brain.verify.operation_check import can_have_slug, skill_name_of_text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("skills/oracle/SKILL.md", "oracle"),
        ("skills/shelf/oracle/SKILL.md", "oracle"),
        ("skills/Oracle.md", "Oracle"),
        ("skills/oracle.MD", "oracle"),
        ("skills/shelf/oracle.md", "oracle"),
        ("skills/shelf/oracle/notes.md", ""),
        ("skills/run.py", ""),
        ("skills/oracle/run.py", ""),
        ("skills/SKILL.md", "SKILL"),
        ("lib/oracle/SKILL.md", "oracle"),
        ("oracle/skill.md", "oracle"),
        (".agents/skills/oracle/SKILL.md", "oracle"),
        ("lib/oracle/notes.md", ""),
        ("memory/oracle.md", ""),
        ("memory/notes/oracle.md", ""),
        ("SKILL.md", ""),
        ("oracle.md", ""),
        ("skills", ""),
    ],
)
def test_the_text_of_a_skill_is_known_by_its_path(path: str, name: str) -> None:
    assert skill_name_of_text(path) == name


@pytest.mark.parametrize(
    ("name", "slug", "may"),
    [
        ("oracle", "oracle", True),
        ("Price Oracle", "price-oracle", True),
        ("oracle", "seer", False),
        ("", "", False),
        ("", "oracle", False),
        ("Orákel", "oracle", True),
    ],
)
def test_a_name_of_ascii_has_one_slug_and_any_other_may_have_each(
    name: str, slug: str, may: bool
) -> None:
    assert can_have_slug(name, slug) is may
