"""Histograms of durations: near quantiles, in few bytes."""

from math import ceil, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain.usage.latency import (
    BUCKETS,
    EMPTY_HISTOGRAM,
    MAX_COUNT,
    add_duration,
    decode_histogram,
    encode_histogram,
    estimate_quantile,
)

durations = st.integers(0, 1 << 23)


@given(st.lists(durations, min_size=1, max_size=60), st.sampled_from([0.5, 0.95]))
def test_a_quantile_is_at_most_half_an_octave_above_the_true_one(values, share):
    histogram = EMPTY_HISTOGRAM
    for value in values:
        histogram = add_duration(histogram, value)
    true = sorted(values)[ceil(share * len(values)) - 1]
    assert true <= estimate_quantile(histogram, share) <= max(1, ceil(true * sqrt(2)))


def test_an_empty_histogram_has_no_duration():
    assert estimate_quantile(EMPTY_HISTOGRAM, 0.5) == 0


@given(st.lists(st.integers(0, MAX_COUNT), min_size=BUCKETS, max_size=BUCKETS).map(tuple))
def test_a_histogram_reads_back_as_it_was_written(histogram):
    assert decode_histogram(encode_histogram(histogram)) == histogram


def test_a_full_bucket_stays_full():
    histogram = (MAX_COUNT, *EMPTY_HISTOGRAM[1:])
    assert add_duration(histogram, 0) == histogram


@pytest.mark.parametrize("took", [0, 1, 1 << 23, 1 << 60])
def test_a_duration_of_any_length_is_counted_once(took):
    assert sum(add_duration(EMPTY_HISTOGRAM, took)) == 1
