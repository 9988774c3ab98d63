"""Edits of YAML files by lines."""

from __future__ import annotations

import pytest

from brain.skills import yaml_lines

TEXT = "a: 1 # one\nrows:\n  - x: 1\n    y:\n      z: 2\n\n  # next\n  - x: 3\n"


def test_a_value_is_replaced_where_it_stands() -> None:
    assert yaml_lines.replace(TEXT, ("a",), "7") == TEXT.replace("a: 1", "a: 7")
    changed = yaml_lines.replace(TEXT, ("rows", 0, "y", "z"), "9")
    assert changed == TEXT.replace("z: 2", "z: 9")


def test_lines_go_below_a_value_and_are_indented_as_it_is() -> None:
    first = "      z: 2\n    w: 5\n"
    assert yaml_lines.append(TEXT, ("rows", 0), ["w: 5"]) == TEXT.replace("      z: 2\n", first)
    assert yaml_lines.append(TEXT, ("rows",), ["- x: 4", "  y: 5"]) == TEXT + "  - x: 4\n    y: 5\n"


def test_a_last_line_without_an_end_gets_one() -> None:
    assert yaml_lines.append(TEXT[:-1], ("rows",), ["- x: 4"]) == TEXT + "  - x: 4\n"


@pytest.mark.parametrize("path", [("b",), ("a", "b"), ("a", 0), ("rows", "x")])
def test_a_path_that_leads_nowhere_is_a_key_error(path: tuple[str | int, ...]) -> None:
    with pytest.raises(KeyError):
        yaml_lines.append(TEXT, path, ["x"])
