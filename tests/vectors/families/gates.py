"""Gates: which inputs are held out, and what outcomes of cases come to."""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from brain.digest import blob_id
from brain.errors import FormatError
from brain.gating.case_files import Case, Expectation
from brain.gating.decision import CaseRow, decide
from brain.gating.held_out import is_held_out
from brain.gating.output_check import score_outcomes
from brain.verdicts.verdict_json import decode_verdict, encode_verdict
from brain.verdicts.verdict_rules import (
    decide_rows,
    find_contradictions,
    find_wrong_continuation,
    row_of_case,
    state_numbers,
)
from brain.verdicts.verdict_types import NamedNumber, ProgramFile, Verdict, VerdictCase
from tests.vectors.families.vector import Vector, refused, valid

Rows = Sequence[tuple[Any, ...]]
"""Rows of kind, before and after, and of scores if there are any."""

_INPUTS: dict[str, Any] = {
    "a text": "Greet guest 0.",
    "another text": "Greet guest 1.",
    "a text beyond ASCII": 'é\n\t\x01\x7f"\\/\u2028😀',
    "an object": {"text": "one two"},
    "keys in another order": {"b": [1, 2, {"d": None, "c": True}], "a": False},
    "keys that UTF-16 orders otherwise": {"😀": 1, "\ufb33": 2, "é": 3},
    "an empty object": {},
    "numbers": {"n": [0, -0.0, 1.0, 1.5, -2, 2**53 - 1, 0.1, 100.0]},
    "numbers with exponents": {"n": [1e21, 1e20, 123e18, 1e-6, 1e-7, 1.5e-7, 5e-324, 1.7e308]},
}


def _rows(*groups: tuple[int, str, str, str]) -> list[tuple[str, str, str]]:
    """Return rows of (number, kind, before, after)."""
    return [(kind, before, after) for number, kind, before, after in groups for _ in range(number)]


_OWN, _GUARD = "held_out", "guard"
_DECIDED: dict[str, tuple[int, Rows]] = {
    "no case": (1, []),
    "no case of a noisy runner": (12, []),
    "four wins are too few": (1, _rows((4, _OWN, "f", "p"))),
    "five wins of five": (1, _rows((5, _OWN, "f", "p"))),
    "five wins of twelve": (1, _rows((5, _OWN, "f", "p"), (7, _OWN, "p", "p"))),
    "four wins of twelve": (1, _rows((4, _OWN, "f", "p"), (8, _OWN, "f", "f"))),
    "one win of 200": (1, _rows((1, _OWN, "f", "p"), (199, _OWN, "p", "p"))),
    "one loss": (1, _rows((9, _OWN, "f", "p"), (1, _OWN, "p", "f"))),
    "a guard that got worse": (1, _rows((9, _OWN, "f", "p"), (1, _GUARD, "p", "e"))),
    "guards that got better": (1, _rows((4, _OWN, "f", "p"), (9, _GUARD, "f", "p"))),
    "guards alone": (1, _rows((9, _GUARD, "f", "p"))),
    "nothing but errors": (1, _rows((6, _OWN, "e", "e"))),
    "errors before": (1, _rows((6, _OWN, "e", "p"))),
    "no change": (1, _rows((6, _OWN, "f", "f"))),
    "everything passed before": (1, _rows((6, _OWN, "p", "p"))),
    "256 wins": (1, _rows((256, _OWN, "f", "p"))),
    "four rounds": (12, _rows((8, _OWN, "ffff", "pppp"))),
    "five rounds": (12, _rows((8, _OWN, "fffff", "ppppp"))),
    "twelve rounds of 256 cases": (12, _rows((256, _OWN, "f" * 12, "p" * 12))),
    "five rounds of a guard that lost half": (
        12,
        _rows((8, _OWN, "fffff", "ppppp"), (1, _GUARD, "ppppf", "pffpf")),
    ),
    "five rounds of a guard that lost three": (
        12,
        _rows((8, _OWN, "fffff", "ppppp"), (1, _GUARD, "ppppf", "pfffe")),
    ),
    "twelve rounds of a case that lost all": (
        12,
        _rows((8, _OWN, "f" * 12, "p" * 12), (1, _OWN, "p" * 12, "f" * 12)),
    ),
    "worse on the whole": (12, _rows((12, _OWN, "ppppp", "fpffp"))),
    "a small gain": (12, _rows((12, _OWN, "fpfpfp", "fpfppp"), (3, _OWN, "pppppp", "ppfppp"))),
}
_ASKED: dict[str, tuple[int, Rows, int | None]] = {
    "twice alike": (2, _rows((2, _OWN, "ff", "pp"), (6, _OWN, "pp", "pp")), None),
    "twice alike, one better": (2, _rows((1, _OWN, "ff", "pp"), (7, _OWN, "pp", "pp")), None),
    "once of a runner that repeats itself": (1, _rows((2, _OWN, "f", "p")), None),
    "nine wins of runs": (
        12,
        _rows((3, _OWN, "fffpf", "pppff"), (5, _OWN, "f" * 5, "f" * 5)),
        None,
    ),
    "three rounds of many wins": (12, _rows((8, _OWN, "fff", "ppp")), None),
    "a highest E that is over": (
        12,
        _rows((4, _OWN, "fffffpppp", "ppppppfff"), (4, _OWN, "f" * 9, "f" * 9)),
        None,
    ),
    "thirteen cases": (12, _rows((13, _OWN, "fffffp", "ppfffp")), 9),
    "a case that lost half": (
        12,
        _rows((5, _OWN, "fffff", "pppff"), (1, _OWN, "ppppf", "pffff")),
        6,
    ),
    "a guard that lost half": (
        12,
        _rows((5, _OWN, "fffff", "pppff"), (1, _GUARD, "ppppp", "ppfff")),
        6,
    ),
    "read in no case": (12, _rows((8, _OWN, "f", "p"), (1, _GUARD, "p", "f")), 0),
    "scores": (
        12,
        [
            (_OWN, "fffff", "fpfef", [100 * one for one in (2, 7, 3, 10, 5, 9, 4, 0, 0, 8)]),
            *_rows((6, _OWN, "fffff", "pfppf")),
        ],
        5,
    ),
    "a loss of scores": (
        12,
        [(_OWN, "fffff", "fffff", [900, 1] * 5), *_rows((6, _OWN, "fffff", "ppppp"))],
        None,
    ),
    "scores twice alike": (2, [(_OWN, "ff", "ff", [10, 20, 10, 20])] * 3, None),
}
_REFUSED: dict[str, tuple[int, Rows]] = {
    "rounds that differ": (12, _rows((5, _OWN, "fffff", "ppppp"), (1, _OWN, "ffff", "pppp"))),
    "two rounds of a runner that repeats itself": (1, _rows((5, _OWN, "ff", "pp"))),
    "13 rounds": (12, _rows((5, _OWN, "f" * 13, "p" * 13))),
    "a runner of 7 rounds": (7, _rows((5, _OWN, "f", "p"))),
}


def _scored(number: str) -> str:
    return f'{{"score": {number}}}'


_TASK, _PASSES = {"task": "t", "instruction": "Do it."}, {"equals": {"score": 1}}
_SCORED: dict[str, tuple[Any, Any, str, list[str]]] = {
    "thousandths": (
        _TASK,
        _PASSES,
        "fffffpe",
        [
            *map(_scored, ("0", "0.29", "0.0005", "0.9999", "0.4994", "1.0")),
            "gone",
        ],
    ),
    "all or nothing": (_TASK, _PASSES, "fp", [_scored("0.0"), _scored("1")]),
    "no scores": (
        _TASK,
        _PASSES,
        "ffffff",
        [
            *map(_scored, ("1.5", "-1", "true")),
            "[0.5]",
            '{"score": 0.5, "x": 1}',
            '{"points": 0.5}',
        ],
    ),
    "no task": ({"text": "a"}, _PASSES, "f", [_scored("0.5")]),
    "more is expected": (_TASK, {**_PASSES, "contains": ["a"]}, "f", [_scored("0.5")]),
}


def vectors() -> Iterator[Vector]:
    """Yield halves of inputs, and decisions by outcomes."""
    for name, value in _INPUTS.items():
        text = json.dumps(value, ensure_ascii=False)
        yield valid(name, "split", {"text": text}, **split_facts(text.encode()))
    for name, (max_rounds, rows) in {**_DECIDED, **dict(_drawn())}.items():
        text = _text(max_rounds, rows)
        yield valid(name, "gate", {"text": text}, **gate_facts(text.encode()))
    for name, (max_rounds, rows, read) in {**_ASKED, **dict(_drawn_scores())}.items():
        text = _text(max_rounds, rows, asked=True, **({} if read is None else {"read_cases": read}))
        yield valid(name, "gate", {"text": text}, **gate_facts(text.encode()))
    for name, (max_rounds, rows) in _REFUSED.items():
        yield refused(name, "gate", {"text": _text(max_rounds, rows)}, "bad_rounds")
    for name, (case_input, expect, letters, outputs) in _SCORED.items():
        given = {"input": case_input, "expect": expect, "outcomes": letters, "outputs": outputs}
        text = json.dumps(given)
        yield valid(name, "score", {"text": text}, **score_facts(text.encode()))
    for name, chain, is_right in _continuations():
        given = {"verdicts": [encode_verdict(one).decode() for one in chain]}
        if is_right:
            yield valid(name, "continuation", given, **continuation_facts(given))
        else:
            yield refused(name, "continuation", given, "verdict_mismatch")
    differ = _text(2, _rows((5, _OWN, "ff", "pf")), asked=True)
    yield refused("two rounds that differ", "gate", {"text": differ}, "bad_rounds")


def _drawn_scores() -> Iterator[tuple[str, tuple[int, Rows, None]]]:
    draw = Random(29)
    for number in range(20):
        rounds = draw.choice((5, 7, 12))
        rows = []
        for _ in range(draw.randint(2, 15)):
            scores = [draw.choice((0, 250, 1000, 500 + 300 * (at % 2))) for at in range(2 * rounds)]
            letters = "".join("p" if score == 1000 else "f" for score in scores)
            kind = draw.choice((_OWN, _OWN, _OWN, _GUARD))
            rows.append((kind, letters[::2], letters[1::2], scores))
        yield f"drawn scores {number}", (12, rows, None)


def _drawn() -> Iterator[tuple[str, tuple[int, Rows]]]:
    draw = Random(15)
    for number in range(40):
        rounds = draw.choice((1, 5, 6, 12))
        weak, strong = draw.choice((("fffp", "fppp"), ("fp", "fp"), ("ffe", "p"), ("p", "ppf")))
        rows = []
        for _ in range(draw.randint(5, 40)):
            before, after = (
                "".join(draw.choice(letters) for _ in range(rounds)) for letters in (weak, strong)
            )
            rows.append((draw.choice((_OWN, _OWN, _OWN, _GUARD)), before, after))
        yield f"drawn {number}", (1 if rounds == 1 else 12, rows)


def _text(max_rounds: int, rows: Rows, **more: Any) -> str:
    return json.dumps({"max_rounds": max_rounds, "cases": rows, **more}, separators=(",", ":"))


def split_facts(text: bytes) -> dict[str, Any]:
    """Return what a vector tells of the input of a case."""
    return {"held_out": is_held_out(json.loads(text))}


def score_facts(text: bytes) -> dict[str, Any]:
    """Return what a vector tells of the scores of a case."""
    given = json.loads(text)
    expect = Expectation(
        has_equals=True,
        equals=given["expect"]["equals"],
        contains=tuple(given["expect"].get("contains", ())),
    )
    case = Case(
        skill="s",
        name="n",
        path="p",
        blob=b"",
        input=given["input"],
        expect=expect,
        is_held_out=True,
    )
    outputs = [output.encode() for output in given["outputs"]]
    return {"scores": list(score_outcomes(case, given["outcomes"], outputs))}


def gate_facts(text: bytes) -> dict[str, Any]:
    """Return what a vector tells of outcomes; the cases that got worse by their place.

    Raises `FormatError` (`bad_rounds`) for what a verdict may not say.
    """
    given = json.loads(text)
    rows = [
        CaseRow(
            name=f"{at:04}",
            before=before,
            after=after,
            is_guard=kind == _GUARD,
            scores=tuple(scores[0]) if scores else (),
        )
        for at, (kind, before, after, *scores) in enumerate(given["cases"])
    ]
    asked, limit = given.get("asked", False), given["max_rounds"]
    is_known = limit in ((1, 2, 12) if asked else (1, 12))
    decision = decide_rows(rows, limit, given.get("read_cases")) if is_known else None
    if decision is None:
        raise FormatError("not whole rounds of a runner", code="bad_rounds")
    return {
        "gate": decision.gate,
        "worse": [int(name) for name in decision.worse],
        **({"provisional": "yes" if decision.is_provisional else "no"} if asked else {}),
        "numbers": dict(state_numbers(decision, limit, is_provisional_asked=asked)),
    }


_HERE, _THERE = bytes(range(32)), bytes(range(32, 64))


def _decided(
    rows: Rows, gate: str = "undecided", decision: str = "admit", **fields: Any
) -> Verdict:
    """Return the verdict about a provisional change, by rows of name, before and after."""
    cases = tuple(
        VerdictCase(
            kind="held_out",
            name=f"skills/greet/cases/{name}.yaml",
            outcome="pass",
            document=blob_id(name.encode()),
            before=before,
            after=after,
            outputs=(_HERE, _THERE) * len(before),
        )
        for name, before, after in rows
    )
    found = decide([row_of_case(one) for one in cases], repeats_itself=len(rows[0][1]) == 2)
    worse = [one._replace(outcome="fail" if one.name in found.worse else "pass") for one in cases]
    limit = 2 if len(rows[0][1]) == 2 else 12
    numbers = state_numbers(found, limit, is_provisional_asked=True)
    verdict = Verdict(
        decision=decision,
        skill="greet",
        decider="rule",
        decided_by="gate",
        reason="as it was tried",
        cases=tuple(worse),
        numbers=(NamedNumber("attempt", 3), *numbers),
        gate=gate,
        base=_HERE,
        text=_THERE,
        runner="scripted",
        provisional="yes" if found.is_provisional else "no",
    )
    return verdict._replace(**fields)


def _continuations() -> Iterator[tuple[str, list[Verdict], bool]]:
    """Yield decisions about a skill in their order, of which the last goes on with one before."""
    noisy = [(f"a{at}", "f" * 5, "p" * 5) for at in range(3)] + [("b", "f" * 5, "f" * 5)]
    first = _decided(noisy)
    won, tied = [("c0", "f" * 5, "p" * 5)], [("c1", "p" * 5, "p" * 5)]
    lost = [(f"c{at}", "p" * 5, "f" * 5) for at in range(2, 6)]
    clear = [(f"e{at}", "f" * 5, "p" * 5) for at in range(6)]
    many = [(f"d{at}", "f" * 5, "p" * 5) for at in range(3)]

    def go_on(with_: Verdict, rows: Rows, gate: str = "undecided", **fields: Any) -> Verdict:
        return _decided(rows, gate, **{"continues": blob_id(encode_verdict(with_)), **fields})

    second = go_on(first, [*noisy, *tied])
    yield "one case more", [first, second], True
    yield "two verdicts more", [first, second, go_on(second, [*noisy, *tied, *won])], True
    yield "an admission", [first, go_on(first, [*noisy, *many], "admit")], True
    back = {"decision": "reinstate"}
    yield "a return", [first, go_on(first, [*noisy, *lost], "reject", **back)], True
    retired = go_on(first, [*noisy, *lost], "reject", decision="retire")
    yield "a retirement", [first, retired], True
    twice = [(f"a{at}", "ff", "pp") for at in range(2)] + [("b0", "pp", "pp")]
    program = _decided(twice)
    yield (
        "a runner that repeats itself",
        [program, go_on(program, [*twice, ("c", "ff", "pp")])],
        True,
    )
    files = (ProgramFile("skill.py", _HERE),)

    yield "another skill", [first, second._replace(skill="part")], False
    yield "another text", [first, second._replace(text=_HERE)], False
    yield "another base", [first, second._replace(base=_THERE)], False
    yield "another program", [first, second._replace(files=files, sandbox="bubblewrap")], False
    yield "another runner", [first, second._replace(runner="a model")], False
    yield "another attempt", [first, second._replace(numbers=second.numbers[1:])], False
    yield "one that was rolled back", [first, retired, second], False
    reinstated = Verdict(decision="reinstate", skill="greet", decider="person", decided_by="Ada")
    yield "one that a person took back", [first, reinstated, second], False
    yield "one that another went on with", [first, second, go_on(first, [*noisy, *won])], False
    yield (
        "an admission that goes on",
        [sure := _decided(clear, "admit"), go_on(sure, [*clear, *tied], "admit")],
        False,
    )
    yield "a person's admission", [first._replace(decider="person"), second], False
    yield "no new case", [first, go_on(first, noisy)], False
    yield "a case left out", [first, go_on(first, [*noisy[1:], *won])], False
    other = [("a0", "f" * 5, "ppppf"), *noisy[1:]]
    yield "other rounds of a case", [first, go_on(first, [*other, *won])], False
    yield "another order", [first, go_on(first, [*won, *noisy])], False
    again = second.cases[0]._replace(name="skills/greet/cases/again.yaml")
    rows = [*noisy, ("again", *noisy[0][1:])]
    counted = go_on(first, rows)
    cases = (*counted.cases[:-1], again)
    yield "the same rounds twice", [first, counted._replace(cases=cases)], False
    short = go_on(first, [*noisy, ("c0", "f" * 5, "p" * 5)])
    cut = short.cases[-1]._replace(before="f" * 4, after="p" * 4, outputs=(_HERE, _THERE) * 4)
    yield "fewer rounds", [first, short._replace(cases=(*short.cases[:-1], cut))], False
    yield "a return of what is undecided", [first, second._replace(**back)], False
    yield "an admission of what is rejected", [first, retired._replace(decision="admit")], False
    yield "an admission of what is undecided", [first, second._replace(gate="admit")], False


def continuation_facts(given: dict[str, Any]) -> dict[str, Any]:
    """Return what a vector tells of decisions of which the last goes on with the one before.

    Raises `FormatError` (`verdict_mismatch`) if it does not.
    """
    data = [text.encode() for text in given["verdicts"]]
    *_, earlier, last = map(decode_verdict, data)
    faults = [*find_contradictions(last), *find_wrong_continuation(last, earlier)]
    if last.continues != blob_id(data[-2]) or faults:
        raise FormatError("; ".join(faults) or "not the last decision", code="verdict_mismatch")
    numbers = dict(last.numbers)
    names = ("cases", "e_value_milli", "e_of_runs_milli")
    return {"gate": last.gate, **{name: numbers[name] for name in names}}
