"""Stubs: false programs that good tests tell from the true one.

A stub answers without doing the work: always the same, with what it was given, or from a table of
the payloads that its author has seen. Tests that take the answers of a stub prove nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

Payload = Mapping[str, Any]
_CONSTANTS: tuple[Any, ...] = ("ok", 0, 1, True, {"ok": True}, [1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """A false program: its name, and what it answers to a payload."""

    name: str
    answer: Callable[[Payload], Any]


def build_stubs(seen: Sequence[tuple[Payload, Any]]) -> list[Stub]:
    """Return the stubs for a program of which `seen` payloads and outputs are known.

    A program that was seen with one payload alone, without arguments, has no echo and no table.
    """
    outputs = [output for _, output in seen]
    stubs = [
        Stub(name=f"always {json.dumps(value)}", answer=partial(_constant, value))
        for value in _CONSTANTS
        if _key(value) not in map(_key, outputs)
    ]
    if not any(payload for payload, _ in seen):
        return stubs
    table = {_key(payload): output for payload, output in seen}
    arguments = sorted({name for payload, _ in seen for name in payload})
    return [
        *stubs,
        Stub(name="always the first output", answer=partial(_constant, outputs[0])),
        Stub(name="the payload itself", answer=dict),
        *(
            Stub(name=f"the argument {name} itself", answer=partial(_argument, name))
            for name in arguments
        ),
        *(
            Stub(
                name=f"a table of the cases, and else the {which} output",
                answer=partial(_look_up, table, output),
            )
            for which, output in (("first", outputs[0]), ("last", outputs[-1]))
        ),
    ]


def _constant(value: Any, _payload: Payload) -> Any:
    return value


def _argument(name: str, payload: Payload) -> Any:
    return payload.get(name)


def _look_up(table: Mapping[str, Any], other: Any, payload: Payload) -> Any:
    return table.get(_key(payload), other)


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
