"""Stubs: false programs that good tests tell from the true one.

A stub answers without doing the work: always the same, with what it was given, or from a table of
the payloads that its author has seen. Tests that take the answers of a stub prove nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from .payloads import payload_key
from .test_cases import TestCase, is_meaningful

Payload = Mapping[str, Any]
CheckAll = Callable[[list[tuple[Payload, Any]]], list[str]]
"""Returns for each payload with an output why a check refuses it, "" if it does not."""
REFUSED: Final = object()
"""The answer of a stub that refuses a payload."""
_CONSTANTS: tuple[Any, ...] = ("ok", 0, 1, True, {"ok": True}, [1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """A false program: its name, and what it answers to a payload."""

    name: str
    answer: Callable[[Payload], Any]


def build_stubs(seen: Sequence[tuple[Payload, Any]], *, all_seen: bool = False) -> list[Stub]:
    """Return the stubs for a program of which `seen` payloads and outputs are known.

    A program that was only seen without arguments has no echo and no table. With `all_seen`,
    there are no other payloads, so a table would be a true program.
    """
    outputs = [output for _, output in seen]
    stubs = [
        Stub(name=f"always {json.dumps(value)}", answer=partial(_constant, value))
        for value in _CONSTANTS
        if payload_key(value) not in map(payload_key, outputs)
    ]
    if not any(payload for payload, _ in seen):
        return stubs
    stubs += [
        Stub(name="always the first output", answer=partial(_constant, outputs[0])),
        Stub(name="always the last output", answer=partial(_constant, outputs[-1])),
        *_build_echoes(sorted({name for payload, _ in seen for name in payload})),
        *([] if all_seen else _build_tables(seen)),
    ]
    return stubs


def find_survivors(
    stubs: Sequence[Stub],
    cases: Sequence[TestCase],
    unseen: Sequence[Payload],
    check_all: CheckAll,
) -> set[str]:
    """Return the names of the stubs that the tests take for a true program.

    `cases` are those of the author. `unseen` are payloads that the true program answers, so a stub
    that refuses one does not do its work.
    """
    tried = [*cases, *(TestCase(payload=dict(payload)) for payload in unseen)]
    killed: set[str] = set()
    answered: list[tuple[Stub, Payload, Any]] = []
    for stub in stubs:
        answers = [(case, stub.answer(case.payload)) for case in tried]
        if any(_is_wrong(case, answer) for case, answer in answers):
            killed.add(stub.name)
        else:
            answered += [(stub, case.payload, answer) for case, answer in answers]
    reasons = check_all([(payload, answer) for _, payload, answer in answered])
    for (stub, _, _), reason in zip(answered, reasons, strict=True):
        if reason:
            killed.add(stub.name)
    return {stub.name for stub in stubs} - killed


def _is_wrong(case: TestCase, answer: Any) -> bool:
    return answer is REFUSED or not is_meaningful(answer) or case.refuse(answer) != ""


def _build_echoes(arguments: Sequence[str]) -> list[Stub]:
    return [
        Stub(name="the payload itself", answer=dict),
        Stub(name="the payload as text", answer=_as_text),
        *(
            Stub(name=f"the argument {name} itself", answer=partial(_argument, name))
            for name in arguments
        ),
        *(
            Stub(name=f"the argument {name} as text", answer=partial(_argument_as_text, name))
            for name in arguments
        ),
    ]


def _build_tables(seen: Sequence[tuple[Payload, Any]]) -> list[Stub]:
    table = {payload_key(payload): output for payload, output in seen}
    others = (
        ("the first output", seen[0][1]),
        ("the last output", seen[-1][1]),
        ("an error", REFUSED),
    )
    return [
        Stub(
            name=f"a table of the cases, and else {name}",
            answer=partial(_look_up, table, output),
        )
        for name, output in others
    ]


def _constant(value: Any, _payload: Payload) -> Any:
    return value


def _argument(name: str, payload: Payload) -> Any:
    return payload.get(name)


def _argument_as_text(name: str, payload: Payload) -> str:
    return _as_text(payload.get(name, ""))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _look_up(table: Mapping[str, Any], other: Any, payload: Payload) -> Any:
    return table.get(payload_key(payload), other)
