"""The settings `evolution.gaps` of a manifest."""

import pytest

from brain.errors import InvalidInput
from brain.repo.open.gap_policy import ALLOW, DEFAULT_GAPS, REFUSE, GapPolicy
from brain.repo.open.manifest import parse_manifest
from tests.support.refusals import raises_code


@pytest.mark.parametrize(
    "text", ["", "evolution:\n", "evolution: {mode: off}", "evolution: {gaps: }"]
)
def test_gaps_are_looked_for_and_counted_by_default(text):
    assert parse_manifest(text.encode()).gaps == DEFAULT_GAPS == GapPolicy(True, REFUSE)


def test_both_settings_are_read():
    text = b"evolution: {gaps: {periodic: false, when_rates_fail: allow}}"
    assert parse_manifest(text).gaps == GapPolicy(False, ALLOW)


@pytest.mark.parametrize(
    "gaps", ["[]", "7", "{periodic: 1}", "{periodic: maybe}", "{when_rates_fail: open}"]
)
def test_wrong_settings_are_an_error(gaps):
    with raises_code("bad_manifest", InvalidInput, match=r"evolution\.gaps"):
        parse_manifest(f"evolution: {{gaps: {gaps}}}".encode())
