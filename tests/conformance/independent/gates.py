"""Gates in the second implementation, from docs/format/verdict.md alone."""

import json
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from tests.conformance.independent.objects import blob_id, context_hash, require
from tests.conformance.independent.verdicts import check_verdict


def read_split(text: bytes) -> dict[str, Any]:
    """Return whether the input of a case is held out."""
    digest = context_hash("brain v1 case split", _canonical(json.loads(text)).encode())
    return {"held_out": digest[0] % 2 == 0}


def score(text: bytes) -> dict[str, Any]:
    """Return the scores of a case by its outcomes and what came out."""
    given = json.loads(text)
    is_task = sorted(given["input"]) == ["instruction", "task"]
    is_task = is_task and given["expect"] == {"equals": {"score": 1}}
    found = []
    for letter, output in zip(given["outcomes"], given["outputs"], strict=True):
        value = json.loads(output) if is_task and letter == "f" else None
        x = value.get("score") if isinstance(value, dict) and len(value) == 1 else None
        is_right = type(x) in (int, float) and 0 <= x <= 1
        least = int(Fraction(x) * 2000 + 1) // 2 if is_right else 0
        found.append(1000 if letter == "p" else min(least, 999))
    return {"scores": found if any(0 < one < 1000 for one in found) else []}


def decide(text: bytes) -> dict[str, Any]:
    """Return what the outcomes of cases say."""
    given = json.loads(text)
    cases, max_rounds, asked = given["cases"], given["max_rounds"], given.get("asked", False)
    require(max_rounds in (1, 12) or (asked and max_rounds == 2), "the rounds of a runner")
    lengths = {len(letters) for _, *both in cases for letters in both[:2]}
    require(len(lengths) <= 1, "whole rounds")
    r = max(lengths, default=0)
    require(r <= max_rounds, "too many rounds")
    require(max_rounds != 2 or (r == 2 and all(map(_repeats, cases))), "rounds that differ")
    gains = [(kind, _gains(*rest)) for kind, *rest in cases]
    tallies = [(kind, *_tally(one), sum(one)) for kind, one in gains]
    own = [(w, lost) for kind, w, lost, _ in tallies if kind == "held_out"]
    scores = [balance / max(r, 1) for kind, _, _, balance in tallies if kind == "held_out"]
    n, wins, losses, e = len(own), sum(w for w, _ in own), sum(lost for _, lost in own), _e(scores)
    read = given.get("read_cases")
    worse = [
        at
        for at, (_, one) in enumerate(gains)
        if tallies[at][2]
        and read != 0
        and (max_rounds <= 2 or _e([-gain for gain in one]) >= 20 * len(cases))
    ]
    letters = "".join(one[1] + one[2] for one in cases if one[0] == "held_out")
    doubtful = any(-2 * balance >= r for *_, balance in tallies)
    if read == 0:
        word = "undecided"
    elif worse or _e([-score for score in scores]) >= 20:
        word = "reject"
    elif n < 5 or not r or set(letters) == {"e"} or (max_rounds == 12 and r < 5):
        word = "undecided"
    elif wins <= losses:
        word = "reject"
    elif e < 20 or doubtful:
        word = "undecided"
    else:
        word = "admit"
    highest = _highest([one for kind, one in gains if kind == "held_out"], r)
    provisional = (
        word != "reject"
        and read != 0
        and sum(score > 0 for score in scores) >= 2
        and wins > losses
        and not doubtful
        and (r == 2 if max_rounds <= 2 else highest >= 20 and sum(scores) > 0)
    )
    more = {"read_cases": read} if read is not None else {}
    more["e_of_runs_milli"] = min(int(1000 * highest), 2**53 - 1)
    return {
        "gate": word,
        "worse": worse,
        **({"provisional": "yes" if provisional else "no"} if asked else {}),
        "numbers": {
            **(more if asked else {}),
            "cases": n,
            "rounds": r,
            "wins": wins,
            "losses": losses,
            "ties": n * r - wins - losses,
            "max_rounds": max_rounds,
            "e_value_milli": min(int(1000 * e), 2**53 - 1),
            "more_cases": _missing(n, r, wins, losses, e) if word == "undecided" else 0,
        },
    }


_SAME = ("skill", "base", "text", "runner")


def check_continuation(texts: list[str]) -> dict[str, Any]:
    """Return what the last verdict about a skill tells, which goes on with the one before."""
    for text in texts:
        check_verdict(text.encode())
    earlier, last = map(json.loads, texts[-2:])
    require(last.get("continues") == blob_id(texts[-2].encode()).hex(), "another verdict")
    live = [earlier.get(name) for name in ("decision", "decider", "gate")]
    require(live == ["admit", "rule", "undecided"], "nothing provisional")
    require(earlier["provisional"] == "yes" or "continues" in earlier, "nothing provisional")
    require("changes" not in earlier, "other files")
    require(all(earlier.get(name) == last.get(name) for name in _SAME), "another change")
    for name in ("max_rounds", "attempt"):
        require(earlier["numbers"].get(name) == last["numbers"].get(name), f"another {name}")
    if last["decision"] != "reinstate":
        require(earlier.get("files") == last.get("files"), "another program")
    old, cases = (
        [case for case in one["cases"] if case["kind"] in ("held_out", "guard")]
        for one in (earlier, last)
    )
    new, known = cases[len(old) :], {case["document"] for case in old}
    require(cases[: len(old)] == old and new, "other cases")
    require(all(case["kind"] == "held_out" for case in new), "a guard")
    require(known.isdisjoint(case["document"] for case in new), "a case twice")
    require((last["decision"] == "admit") is not (last["gate"] == "reject"), "another decision")
    rows = [
        [case[name] for name in ("kind", "before", "after", "scores") if name in case]
        for case in cases
    ]
    given = {"max_rounds": last["numbers"]["max_rounds"], "cases": rows, "asked": True}
    if "read_cases" in last["numbers"]:
        given["read_cases"] = last["numbers"]["read_cases"]
    found = decide(json.dumps(given).encode())
    require((found["gate"], found["provisional"]) == (last["gate"], last["provisional"]), "words")
    require(found["numbers"].items() <= last["numbers"].items(), "other numbers")
    failed = [at for at, case in enumerate(cases) if case["outcome"] == "fail"]
    require(failed == found["worse"], "other outcomes")
    names = ("cases", "e_value_milli", "e_of_runs_milli")
    return {"gate": last["gate"], **{name: last["numbers"][name] for name in names}}


def _gains(before: str, after: str, scores: list[int] | None = None) -> list[Fraction]:
    if scores is not None:
        return [Fraction(b - a, 1000) for a, b in zip(scores[::2], scores[1::2], strict=True)]
    pairs = zip(before, after, strict=True)
    return [Fraction((two == "p") - (one == "p")) for one, two in pairs]


def _tally(gains: list[Fraction]) -> tuple[int, int]:
    return sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)


def _repeats(case: list[Any]) -> bool:
    _, before, after, *more = case
    scores = more[0] if more else [0] * 4
    return before[0] == before[1] and after[0] == after[1] and scores[:2] == scores[2:]


def _highest(gains: list[list[Fraction]], rounds: int) -> Fraction:
    """Return the highest product over the runs of the first rounds, five or more."""
    part = Fraction(2 if len(gains) < 13 else 1, 5)
    found = product = Fraction(1)
    for number in range(rounds):
        for one in gains:
            product *= 1 + part * one[number]
        found = max(found, product) if number >= 4 else found
    return found


def _e(scores: list[Fraction]) -> Fraction:
    """Return half the product at x = 1, and half the integral over x from 0 to 1."""
    powers = [Fraction(1)]
    for score in scores:
        if score:
            powers = [
                (powers[at] if at < len(powers) else 0) + (score * powers[at - 1] if at else 0)
                for at in range(len(powers) + 1)
            ]
    return (sum(powers) + sum(part / (at + 1) for at, part in enumerate(powers))) / 2


def _missing(n: int, r: int, wins: int, losses: int, e: Fraction) -> int:
    least = max(5 - n, 0)
    if not n or not r or e >= 20:
        return least
    total = None
    if r == 1 and not losses:
        if wins:
            enough = next(k for k in range(wins, 256) if _e([Fraction(1)] * k) >= 20)
            total = ceil(Fraction(enough * n, wins))
    else:
        a = int(1000 * e)
        fits = (t for t in range(n + 1, 257) if a > 1000 and a**t >= 20**n * 1000**t)
        total = next(fits, None)
    return max(total - n, least) if total is not None and total <= 256 else 0


def _canonical(value: Any) -> str:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return (
            "{" + ",".join(f"{_canonical(name)}:{_canonical(value[name])}" for name in names) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """Return a number as ECMAScript does: its shortest digits, placed by their exponent."""
    if value < 0:
        return "-" + _number(-value)
    if value == 0:
        return "0"
    _, shortest, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, shortest))
    point = len(digits) + int(exponent)
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    shown = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{shown}e{point - 1:+d}"
