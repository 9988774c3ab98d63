"""A slice of the campaign; all of it is `python -m tests.support.mcp_message_campaign`."""

import random

import pytest

from brain import Brain
from tests.support.mcp_message_campaign import (
    make_served_brain,
    mutate_message,
    run_over_http,
    run_over_pipes,
)

SEED, SLICE = 1, 300


@pytest.mark.parametrize("throw", [run_over_pipes, run_over_http])
def test_malformed_messages_never_end_the_server(tmp_path, throw):
    folder = make_served_brain(tmp_path / "agent")
    done = throw(folder, SEED, lambda sent: sent < SLICE)
    assert done.messages == SLICE and done.answers > 0
    with Brain.open(folder) as brain:
        assert brain.verify(deep=True).ok


def test_a_campaign_of_the_same_seed_sends_the_same():
    first, again = random.Random(7), random.Random(7)
    assert [mutate_message(first) for _ in range(50)] == [mutate_message(again) for _ in range(50)]
