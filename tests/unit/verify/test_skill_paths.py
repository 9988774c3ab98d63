"""Which skill a path is the text of, and which slugs a name may have."""

import pytest

from brain.verify.operation_check import can_have_slug, skill_name_of_text
from tests.support.cases import read_cases

CASES = read_cases(__file__)


@pytest.mark.parametrize(("path", "name"), CASES["test_the_text_of_a_skill_is_known_by_its_path"])
def test_the_text_of_a_skill_is_known_by_its_path(path, name):
    assert skill_name_of_text(path) == name


@pytest.mark.parametrize(
    ("name", "slug", "may"), CASES["test_a_name_of_ascii_has_one_slug_and_any_other_may_have_each"]
)
def test_a_name_of_ascii_has_one_slug_and_any_other_may_have_each(name, slug, may):
    assert can_have_slug(name, slug) is may
