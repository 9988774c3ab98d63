"""The settings `evolution.gaps` of a manifest."""

from __future__ import annotations

import pytest

from brain.errors import InvalidInput
from brain.repo.open.gap_policy import ALLOW, DEFAULT_GAPS, REFUSE, GapPolicy
from brain.repo.open.manifest import parse_manifest


@pytest.mark.parametrize(
    "text", ["", "evolution:\n", "evolution: {mode: off}", "evolution: {gaps: }"]
)
def test_gaps_are_looked_for_and_counted_by_default(text: str) -> None:
    assert parse_manifest(text.encode()).gaps == DEFAULT_GAPS == GapPolicy(True, REFUSE)


def test_both_settings_are_read() -> None:
    text = b"evolution: {gaps: {periodic: false, when_rates_fail: allow}}"
    assert parse_manifest(text).gaps == GapPolicy(False, ALLOW)


@pytest.mark.parametrize(
    "gaps", ["[]", "7", "{periodic: 1}", "{periodic: maybe}", "{when_rates_fail: open}"]
)
def test_wrong_settings_are_an_error(gaps: str) -> None:
    with pytest.raises(InvalidInput, match=r"evolution\.gaps") as caught:
        parse_manifest(f"evolution: {{gaps: {gaps}}}".encode())
    assert caught.value.code == "bad_manifest"
