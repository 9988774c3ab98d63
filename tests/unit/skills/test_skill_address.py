"""An address opens exactly one skill, and depends on the skills of its slug alone."""

import pytest

from brain.skills import skill_address
from tests.support.cases import read_cases

CASES = read_cases(__file__)


def addresses(*paths: str) -> list[str]:
    made = skill_address.address_group("a", paths)
    return [made[path] for path in paths]


def test_a_skill_that_shares_its_slug_with_none_is_addressed_by_it():
    assert addresses("skills/x/a/SKILL.md") == ["a"]


@pytest.mark.parametrize(
    ("path", "address"), CASES["test_skills_that_share_a_slug_are_addressed_by_their_paths"]
)
def test_skills_that_share_a_slug_are_addressed_by_their_paths(path, address):
    assert addresses(path, "other/a/SKILL.md")[0] == address


@pytest.mark.parametrize(
    "path",
    [
        "skills/x: y/a/SKILL.md",
        "skills/x, y/a/SKILL.md",
        "skills/x (y)/a/SKILL.md",
        "skills/▸/a/SKILL.md",
        "skills/x\u200b/a/SKILL.md",
        "skills/x  y/a/SKILL.md",
        f"skills/{'x' * 300}/a/SKILL.md",
    ],
)
def test_a_path_that_no_line_can_show_is_replaced_by_its_digest(path):
    (address, _) = addresses(path, "other/a/SKILL.md")
    assert address.startswith("a~") and len(address) == 10
    assert address == skill_address.digest_address("a", path)
    assert skill_address.slug_of_digest_address(address) == "a"


def test_no_address_opens_another_skill_whose_path_looks_like_it():
    group = [
        "skills/a/SKILL.md",
        "skills/skills/a/SKILL.md",
        "x/a/SKILL.md",
        "skills/x/a/SKILL.md",
        "skills/x/a.md",
        "skills/y/a/SKILL.md",
        "skills/y/a/skill.md",
    ]
    made = skill_address.address_group("a", group)
    assert len(set(made.values())) == len(group)
    for path, address in made.items():
        meant = next(one for one in skill_address.path_candidates(address) if one in made)
        assert meant == path
    assert made["skills/a/SKILL.md"] == "skills/a" and made["x/a/SKILL.md"] == "x/a"


@pytest.mark.parametrize(
    "text", ["x/a", "x/a/", "./x/a", "skills/x/a", "x/a/SKILL.md", "skills/x/a/SKILL.md"]
)
def test_every_form_of_a_path_means_it(text):
    assert "skills/x/a/SKILL.md" in skill_address.path_candidates(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a@2", ("a", "2")),
        ("x/a@1.4", ("x/a", "1.4")),
        ("@scope/a", ("@scope/a", "")),
        ("x/@scope/a", ("x/@scope/a", "")),
        ("x/@scope/a@3", ("x/@scope/a", "3")),
        ("@a", ("@a", "")),
        ("a", ("a", "")),
    ],
)
def test_a_version_follows_the_last_at_sign(text, parts):
    assert skill_address.split_version(text) == parts
