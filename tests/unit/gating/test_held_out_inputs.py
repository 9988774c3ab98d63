"""Inputs of held-out cases are recognized in texts, whatever form they have there."""

import json

import pytest

from brain.gating.held_out import HIDDEN_LINE, MAX_TEXT_CHARS, HeldOutInputs

TICKET = "The lift is stuck.\nSecond floor, since 9:00."
PAYLOAD = {"text": "one-way street", "count": 3, "options": {"fold": True}}
SHORT = {"n": 5}
INPUTS = HeldOutInputs([TICKET, PAYLOAD, SHORT, "yes"])


@pytest.mark.parametrize(
    "text",
    [
        TICKET,
        f"  {TICKET}\n",
        TICKET.upper(),
        TICKET.replace("\n", "\r\n"),
        " ".join(TICKET.split()),
        f"Please sort this ticket: {TICKET} Thank you.",
        f"> in: {TICKET.splitlines()[0]}\n> {TICKET.splitlines()[1]}",
        json.dumps({"ticket": TICKET}),
        json.dumps({"body": json.dumps({"ticket": TICKET})}),
        f"bad ticket {TICKET!r}",
        json.dumps(PAYLOAD),
        json.dumps(PAYLOAD, indent=2, sort_keys=True),
        f"KeyError: {PAYLOAD!r}",
        json.dumps([{"payload": PAYLOAD, "output": 3}]),
        "cannot read 'One-way   street'",
        'given {"n":5.0}, gave 6',
        json.dumps({"call": '{"n": 5}'}),
        "yes",
        "first\n Yes \nlast",
        json.dumps({"answer": "yes"}),
        "x" * (MAX_TEXT_CHARS + 1),
    ],
)
def test_a_text_with_an_input_is_recognized(text):
    assert INPUTS.hides(text)
    shown = INPUTS.hide_in(text)
    assert HIDDEN_LINE in shown and not INPUTS.hides(shown)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes, of course",
        "The lift is stuck.",
        '{"n": 6}',
        '{"n": 5, "m": 1}',
        '{"text": "two-way street", "count": 3}',
        "A street with one way.",
        "one-way streets",
        "Lone-way street",
        "{" * 10_000,
        '{"' * 100_000,
        "{ " * 100_000,
        '{"n":' * 5_000,
    ],
)
def test_another_text_is_shown_as_it_is(text):
    assert not INPUTS.hides(text)
    assert INPUTS.hide_in(text) == text


def test_all_long_texts_of_an_object_must_be_there():
    inputs = HeldOutInputs([{"file": "/data/tickets.csv", "column": "customer name"}])
    assert not inputs.hides("cannot read /data/tickets.csv")
    assert inputs.hides("cannot read customer name of /data/tickets.csv")


def test_a_text_that_practice_inputs_have_too_gives_nothing_away():
    address, subject = "https://example.org/tickets", "The lift is stuck"
    held_out = [{"from": address, "page": 1}, {"from": address, "about": subject}]
    inputs = HeldOutInputs(held_out, [{"from": address, "page": 2}])
    assert not inputs.hides(f"cannot reach {address}")
    assert not inputs.hides(json.dumps({"from": address, "page": 3}))
    assert inputs.hides(json.dumps({"page": 1, "from": address}))
    assert inputs.hides(f"bad arguments {held_out[0]}")
    assert inputs.hides(f"nobody answers about {subject!r}")


def test_a_cut_text_is_compared_with_the_beginnings_and_ends_of_inputs():
    task = "Count the words of this letter. " * 40
    inputs = HeldOutInputs(
        [
            task + "The end of it, which nobody else has, not even by chance.",
            {"letter": task + "again"},
        ]
    )
    assert inputs.hides(task[:600] + "…")
    assert inputs.hides(json.dumps({"letter": task})[:600] + " … ")
    assert inputs.hides(
        "The agent said … The end of it, which nobody else has, not even by chance."
    )
    assert not inputs.hides("Count the words…")
    assert not inputs.hides(task[:600])


def test_an_input_is_recognized_without_its_secrets():
    secret = "AKIA" + "IOSFODNN7EXAMPLF"
    inputs = HeldOutInputs([{"text": f"deploy with the key {secret} today"}])
    from brain.receipts import keep_text

    kept = keep_text(f"cannot deploy with the key {secret} today")
    assert kept is not None and kept.redacted and inputs.hides(kept.excerpt)


def test_only_the_lines_of_an_input_are_left_out():
    text = f"> first\n> in: {json.dumps(PAYLOAD)}\n> last\n{TICKET}\nend"
    shown = f"> first\n> {HIDDEN_LINE}\n> last\n{HIDDEN_LINE}\n{HIDDEN_LINE}\nend"
    assert INPUTS.hide_in(text) == shown


def test_without_held_out_cases_nothing_is_left_out():
    text = "x" * (MAX_TEXT_CHARS + 1)
    assert HeldOutInputs().hide_in(text) == text and not HeldOutInputs().hides("")
