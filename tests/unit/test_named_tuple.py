"""`named_tuple.NamedTuple` against that of `typing`."""

import pickle
from typing import NamedTuple, get_type_hints

import pytest

from brain import named_tuple
from brain.results import Finding, Index, SnapshotInfo, Upserted


class Point(named_tuple.NamedTuple):
    """A point with a name."""

    x: int
    y: int
    name: str = "origin"

    def total(self) -> int:
        """Return the sum of the coordinates."""
        return self.x + self.y


class TypedPoint(NamedTuple):
    """A point with a name."""

    x: int
    y: int
    name: str = "origin"


@pytest.mark.parametrize("attribute", ["__doc__", "__module__", "_fields", "_field_defaults"])
def test_a_class_has_the_attributes_of_one_of_typing(attribute):
    assert getattr(Point, attribute) == getattr(TypedPoint, attribute)


def test_a_class_keeps_annotations_methods_and_defaults():
    assert get_type_hints(Point) == get_type_hints(TypedPoint)
    assert Point(1, 2).total() == 3
    assert Point(1, y=2)._replace(name="a") == TypedPoint(1, 2, "a")


def test_a_call_with_a_missing_or_unknown_field_is_an_error():
    with pytest.raises(TypeError, match="y"):
        Point(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="z"):
        Point(1, 2, z=3)  # type: ignore[call-arg]


def test_a_result_survives_pickling():
    finding = Finding("unsigned", "error", "ab", "", "text")
    assert pickle.loads(pickle.dumps(finding)) == finding


@pytest.mark.parametrize("kind", [Finding, Index, SnapshotInfo, Upserted])
def test_a_result_has_its_fields_in_the_order_of_its_annotations(kind):
    assert kind._fields == tuple(kind.__annotations__)  # type: ignore[attr-defined]
    assert issubclass(kind, tuple) and kind.__doc__
