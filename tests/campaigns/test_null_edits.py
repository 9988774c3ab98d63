"""The campaign of useless edits works: on a few attempts, and on a gate that lets too much by."""

from random import Random

import pytest

from tests.campaigns import null_edits
from tests.campaigns.null_edits import NOISES, NULL_EDITS, draw_before, draw_probability


def test_a_few_attempts_admit_no_useless_edit_and_find_a_useful_one(capsys):
    assert null_edits.main(["--attempts", "8", "--seed", "3"]) == 0
    rows = [row.split("|") for row in capsys.readouterr().out.splitlines() if row[:1] == "|"]
    cells = {(row[1].strip(), row[2].strip()): [cell.strip() for cell in row[3:-1]] for row in rows}
    assert len(NULL_EDITS) * len(NOISES) + 3 == sum(
        " to " in row[4] for row in rows if len(row) > 6
    )
    assert cells["30 everywhere", "none"][2:] == [
        "100 %, 100 %, 240 runs",
        "100 %, 100 %, 480 runs",
    ]


def test_a_gate_that_admits_whatever_won_more_often_is_caught(monkeypatch, capsys):
    class Lenient:
        gate = "admit"
        is_final = is_provisional = True

    monkeypatch.setattr(null_edits, "decide", lambda *_, **__: Lenient)
    assert null_edits.main(["--attempts", "2"]) == 1
    assert "Too many were admitted: no-op | none" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["trade between cases", "one case for the others"])
@pytest.mark.parametrize("noise", NOISES.values())
def test_edits_that_trade_keep_the_mean_of_these_very_cases(name, noise):
    rng = Random(5)
    before = [draw_probability(rng, noise) for _ in range(24)]
    after = NULL_EDITS[name](rng, before, noise)
    assert sum(after) == pytest.approx(sum(before))
    assert all(-1e-9 <= p <= 1 + 1e-9 for p in after) and after != before


def test_a_gain_has_room(name="everywhere"):
    for gain in null_edits.GAINS:
        before = draw_before(Random(1), 24, 1.0, name, gain)
        assert max(before) <= 1 - gain


def test_the_small_model_gives_little_to_useless_edits_and_much_to_first_examples():
    edits = null_edits.read_small_model()
    gains = [(sum(one.after) - sum(one.before)) / len(one.before) for one in edits]
    assert len(edits) == 78 and sum(one.is_useful for one in edits) == 24
    useless = [gain for one, gain in zip(edits, gains, strict=True) if not one.is_useful]
    assert max(useless) < 0.14 and max(gains) > 0.5
