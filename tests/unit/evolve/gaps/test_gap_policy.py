"""The settings `evolution.gaps` of a manifest."""

import pytest

from brain.errors import InvalidInput
from brain.repo.manifest import parse_manifest
from tests.support.refusals import raises_code


@pytest.mark.parametrize(
    ("text", "periodic"),
    [
        ("", True),
        ("evolution:\n", True),
        ("evolution: {mode: off}", True),
        ("evolution: {gaps: }", True),
        ("evolution: {gaps: {when_rates_fail: open}}", True),
        ("evolution: {gaps: {periodic: false}}", False),
    ],
)
def test_gaps_are_looked_for_every_hour_unless_the_manifest_says_no(text, periodic):
    assert parse_manifest(text.encode()).gaps_are_periodic is periodic


@pytest.mark.parametrize("gaps", ["[]", "7", "{periodic: 1}", "{periodic: maybe}"])
def test_wrong_settings_are_an_error(gaps):
    with raises_code("bad_manifest", InvalidInput, match=r"evolution\.gaps"):
        parse_manifest(f"evolution: {{gaps: {gaps}}}".encode())
