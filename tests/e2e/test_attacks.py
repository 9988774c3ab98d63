"""A slice of the campaign of tests/attacks.py, with a fixed seed."""

import pytest

from tests.attacks import CHANGES, attack

SEED = 11


@pytest.mark.parametrize("first", [0, 40, 80])
def test_whatever_is_changed_in_a_brain_nothing_false_is_said_of_it(tmp_path, first):
    assert attack(tmp_path, SEED, range(first, first + 40)) == []


@pytest.mark.parametrize("change", [one for one, _ in CHANGES], ids=lambda one: one.__name__)
def test_no_kind_of_change_makes_a_brain_lie(tmp_path, monkeypatch, change):
    monkeypatch.setattr("tests.attacks.CHANGES", ((change, 1),))
    assert attack(tmp_path, SEED, range(12)) == []
