"""JSON is always valid, whatever stands in a brain (cli-17)."""

import datetime
import json
import math
import time
from typing import NamedTuple

from brain_cli.json_format import to_json
from brain_cli.render.human_format import local_time
from hypothesis import given
from hypothesis import strategies as st

from brain.util.utc_time import utc_time


class Pair(NamedTuple):
    from_: str | None
    time: datetime.datetime


def test_a_named_tuple_becomes_an_object_with_its_field_names():
    assert to_json(Pair(None, utc_time(0))) == {"from": None, "time": "1970-01-01T00:00:00.000Z"}


def test_a_time_is_iso_8601_in_utc_with_milliseconds():
    assert to_json(utc_time(1_795_216_540_123)) == "2026-11-20T23:15:40.123Z"
    assert to_json(utc_time(253_402_300_799_999)) == "9999-12-31T23:59:59.999Z"


def test_a_time_at_the_end_of_the_year_9999_is_printed_in_every_zone(monkeypatch):
    monkeypatch.setenv("TZ", "Etc/GMT-14")
    time.tzset()
    try:
        assert local_time(utc_time(253_402_300_799_999)) == "9999-12-31 23:59"
        assert local_time(utc_time(0)) == "1970-01-01 14:00"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_mapping_keeps_its_own_keys_and_times():
    assert to_json({"time": 5, "from_": 1}) == {"time": 5, "from_": 1}


def test_what_yaml_knows_and_json_does_not_becomes_text():
    odd = {
        "nan": math.nan,
        "inf": -math.inf,
        "day": datetime.date(2026, 11, 20),
        "bytes": b"\xff",
        "set": {1},
        3: "key",
        "huge": 1 << 80,
    }
    assert to_json(odd) == {
        "nan": "nan",
        "inf": "-inf",
        "day": "2026-11-20",
        "bytes": "b'\\xff'",
        "set": [1],
        "3": "key",
        "huge": hex(1 << 80),
    }


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(st.characters(exclude_categories=())) | st.integers(), inner)
        | st.builds(Pair, inner, st.integers(0, 253_402_300_799_999))
    ),
)


@given(VALUES)
def test_any_value_becomes_json_that_every_reader_takes(value):
    text = json.dumps(to_json(value), allow_nan=False)
    text.encode("ascii")
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")
