"""Probes of a trial: payloads that the author of a program never saw, and stubs of programs."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ..util.json_schema import find_json_type, find_schema_faults, has_json_type, list_types
from ..util.strict_json import parse_bounded
from .parameters import MAX_PAYLOAD_BYTES
from .test_cases import TestCase

_MAX_TRIES = 40
"""For each payload that is wanted."""
_MAX_VALUES = 400
"""Values of one payload; lists become as short as may be after them."""
_MAX_ITEMS = 6
_MAX_LEAST_ITEMS = 1000
_FAR = 1 << 31
_NEAR_SHARE = 0.75


def make_payloads(
    schema: Mapping[str, Any], seen: Sequence[Mapping[str, Any]], seed: int, count: int
) -> list[dict[str, Any]]:
    """Return at most `count` payloads that the schema allows and that are not among `seen`.

    Most are a seen payload with some of its arguments varied, so that what belongs together stays
    together; the others recombine seen values, take examples, choices and bounds of the schema, or
    follow it alone. The same seed gives the same ones.
    """
    chance = random.Random(seed)
    known = {payload_key(payload) for payload in seen}
    made: list[dict[str, Any]] = []
    for _ in range(_MAX_TRIES * count):
        if len(made) == count:
            break
        maker = _Maker(chance)
        if seen and chance.random() < _NEAR_SHARE:
            payload = maker.vary_payload(schema, chance.choice(seen), seen)
        else:
            payload = maker.make_object(schema, seen)
        key = payload_key(payload)
        fits = len(key) <= MAX_PAYLOAD_BYTES and not any(find_schema_faults(schema, payload, ""))
        if fits and key not in known:
            known.add(key)
            made.append(payload)
    return made


def payload_key(payload: Any) -> str:
    """Return a text that is equal for equal payloads."""
    return json.dumps(payload, sort_keys=True)


class _Maker:
    """Makes one payload."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._values = 0

    def make_object(self, schema: Mapping[str, Any], seen: Sequence[Any]) -> dict[str, Any]:
        required = schema.get("required", ())
        objects = [value for value in seen if isinstance(value, Mapping)]
        out: dict[str, Any] = {}
        for name, part in schema.get("properties", {}).items():
            values = [value[name] for value in objects if name in value]
            if name in required or self._chance.random() < (0.7 if values else 0.3):
                out[name] = self._make_value(part, values)
        if "properties" not in schema and objects:
            out = dict(self._chance.choice(objects))
        return out

    def vary_payload(
        self, schema: Mapping[str, Any], base: Mapping[str, Any], seen: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return a seen payload with at least one argument changed."""
        names = [name for name in base if self._chance.random() < 0.5]
        out = dict(base)
        for name in names or [self._chance.choice([*base])] if base else []:
            part = schema.get("properties", {}).get(name, {})
            others = [one[name] for one in seen if name in one]
            out[name] = self._vary(part, base[name], others)
        return out

    def _vary(self, schema: Mapping[str, Any], value: Any, others: Sequence[Any]) -> Any:
        """Return a value of the form of a seen one; its parts keep their names and their order."""
        self._values += 1
        if isinstance(value, Mapping):
            parts = schema.get("properties", {})
            return {name: self._vary(parts.get(name, {}), one, []) for name, one in value.items()}
        if isinstance(value, list) and value:
            items = [self._vary(schema.get("items", {}), one, []) for one in value]
            return self._chance.choices(items, k=self._chance.randint(1, len(items) + 1))
        return self._make_value(schema, [value, *others])

    def _make_value(self, schema: Mapping[str, Any], seen: Sequence[Any]) -> Any:
        self._values += 1
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._chance.choice(schema["enum"])
        known = [*seen, *schema.get("examples", ())]
        if "default" in schema:
            known.append(schema["default"])
        if known and self._chance.random() < 0.35:
            return self._chance.choice(known)
        kind = self._choose_type(schema, known)
        fitting = [value for value in known if has_json_type(kind, value)]
        if kind == "object":
            keys = self._chance.choice(fitting).keys() if fitting else ()
            alike = [value for value in fitting if value.keys() == keys]
            parts = schema.get("properties", {})
            named = {**schema, "properties": {name: parts.get(name, {}) for name in keys}}
            return self.make_object({**named, "required": [*keys]} if alike else schema, alike)
        if kind == "array":
            return self._make_list(schema, fitting)
        if kind in ("integer", "number"):
            return self._make_number(schema, fitting, kind)
        if kind == "boolean":
            return self._chance.random() < 0.5
        return None if kind == "null" else make_text(schema, fitting, self._chance)

    def _choose_type(self, schema: Mapping[str, Any], known: Sequence[Any]) -> str:
        kinds = list_types(schema)
        if kinds:
            return self._chance.choice(kinds)
        return find_json_type(self._chance.choice(known)) if known else "string"

    def _make_list(self, schema: Mapping[str, Any], seen: Sequence[list[Any]]) -> list[Any]:
        items = [item for value in seen for item in value]
        if objects := [item for item in items if isinstance(item, Mapping)]:
            keys = self._chance.choice(objects).keys()  # the rows of a table have one form
            items = [item for item in objects if item.keys() == keys]
        least = schema.get("minItems", 0)
        most = max(least, min(schema.get("maxItems", _MAX_ITEMS), _MAX_ITEMS))
        if self._values > _MAX_VALUES:
            most = least
        count = self._chance.randint(max(least, 1 if most else 0), most)
        part = schema.get("items", {})
        return [self._make_value(part, items) for _ in range(min(count, _MAX_LEAST_ITEMS))]

    def _make_number(
        self, schema: Mapping[str, Any], seen: Sequence[float], kind: str
    ) -> int | float:
        least, most = schema.get("minimum", -_FAR), schema.get("maximum", _FAR)
        near = self._chance.choice(seen) if seen else 0
        step = self._chance.randint(1, 9)
        choices = [near + step, near - step, 2 * near + 1, near + 10 * step]
        choices += [self._chance.randint(0, 99)]
        choices += [schema[bound] for bound in ("minimum", "maximum") if bound in schema]
        made: int | float = self._chance.choice(choices)
        if least <= most and not least <= made <= most:
            made = least + (made - least) % (most - least + 1)
        if kind == "integer":
            return int(min(math.ceil(made), math.floor(most)))
        return made + 0.5 if made + 0.5 <= most and self._chance.random() < 0.5 else made


_MAX_DEPTH = 16
_MAX_CHARS = 20_000
_PARTS = ("a", "B", "7", " ", "-", "é", "x1", "the end", "0.5", "ß", "Zoë", "one two")
_NAMES = ("ada", "bob", "example", "north", "river", "zoe7")
_HEX = "0123456789abcdef"


_TAG = re.compile(r"<[^<>]*>")


def make_text(schema: Mapping[str, Any], seen: Sequence[str], chance: random.Random) -> str:
    """Return a text that the schema allows, if it can be; of the kind of the seen ones."""
    alike = (kind for kind, (form, _) in _KINDS.items() if all(re.fullmatch(form, x) for x in seen))
    kind = str(schema.get("format") or (next(alike, "") if seen else ""))
    if kind in _KINDS:
        made = _KINDS[kind][1](chance)
    elif seen:
        made = vary_text(chance.choice(seen), seen, chance)
    else:
        made = "".join(chance.choices(_PARTS, k=chance.randint(1, 6)))
    least, most = min(schema.get("minLength", 0), _MAX_CHARS), schema.get("maxLength", _MAX_CHARS)
    if len(made) < least:
        made = (made or "x") * (least // max(len(made), 1) + 1)
        most = least
    return str(made[:most])


def vary_text(text: str, seen: Sequence[str], chance: random.Random) -> str:
    """Return another text of the same kind: other digits, or parts of seen ones in other order."""
    value = _parse_json(text)
    if value is not None:
        return json.dumps(_change_json(value, chance), ensure_ascii=False)
    if _TAG.search(text) and text.lstrip().startswith("<"):
        return _change_markup(text, seen, chance)
    changes: list[Callable[[], str]] = []
    if any(map(str.isdigit, text)):
        changes.append(lambda: _change_digits(text, chance))
    if "\n" in text.strip("\n"):
        changes.append(lambda: _change_lines(text, chance))
    elif " " in text.strip():
        words = [word for one in seen for word in one.split(" ")]
        own = text.split(" ")
        changes.append(lambda: " ".join(chance.choices(words, k=chance.randint(1, len(own) + 2))))
        changes.append(lambda: " ".join(chance.sample(own, len(own))))
    elif not any(map(str.isdigit, text)):
        letters = "".join(seen) or "abc"
        changes.append(lambda: text + chance.choice(letters))
        changes.append(lambda: "".join(chance.choices(letters, k=max(1, len(text)))))
        changes.append(lambda: text[::-1])
        changes.append(text.swapcase)
    return chance.choice(changes)()


def _parse_json(text: str) -> list[Any] | dict[str, Any] | None:
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        value: list[Any] | dict[str, Any] = parse_bounded(
            text.encode("utf-8", "replace"), _MAX_DEPTH
        )
    except ValueError:
        return None
    return value


def _change_json(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {name: _change_json(inner, chance) for name, inner in value.items()}
    if isinstance(value, list):
        items = [_change_json(item, chance) for item in value]
        return [*items, chance.choice(items)] if items and chance.random() < 0.5 else items
    if isinstance(value, str):
        return vary_text(value, [value], chance) if value else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value + chance.randint(1, 9) if is_number else value


def _change_digits(text: str, chance: random.Random) -> str:
    """Change some digits; a number keeps its length, and none becomes 0 at its beginning."""
    digits = [at for at, char in enumerate(text) if char in "0123456789"]
    out = list(text)
    for at in chance.sample(digits, chance.randint(1, min(3, len(digits)))) if digits else ():
        is_first = at == 0 or text[at - 1] not in "0123456789."
        out[at] = text[at] if text[at] == "0" and is_first else chance.choice("123456789")
    return "".join(out)


def _change_lines(text: str, chance: random.Random) -> str:
    """Keep the first line, which may be a head, and some of the others in another order."""
    first, *rest = text.splitlines(keepends=True)
    chosen = chance.sample(rest, chance.randint(1, len(rest))) if rest else []
    return first + "".join(line if line.endswith("\n") else line + "\n" for line in chosen)


def _change_markup(text: str, seen: Sequence[str], chance: random.Random) -> str:
    words = [word for one in seen for word in _TAG.sub(" ", one).split()]
    parts = re.split(rf"({_TAG.pattern})", text)
    for at in range(0, len(parts), 2):
        if parts[at].strip() and words and chance.random() < 0.7:
            parts[at] = re.sub(r"\S+", lambda _: chance.choice(words), parts[at])
    return "".join(parts)


def _date(chance: random.Random) -> str:
    return f"{chance.randint(1990, 2035)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


def _clock(chance: random.Random) -> str:
    return f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"


def _url(chance: random.Random) -> str:
    path = "/".join(chance.choices(_NAMES, k=chance.randint(1, 3)))
    return f"https://{chance.choice(_NAMES)}.example/{path}?n={chance.randint(1, 99)}"


_KINDS: dict[str, tuple[str, Callable[[random.Random], str]]] = {
    "date": (r"\d{4}-\d\d-\d\d", _date),
    "time": (r"\d\d:\d\d:\d\d", _clock),
    "date-time": (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
        lambda chance: f"{_date(chance)}T{_clock(chance)}Z",
    ),
    "email": (
        r"[\w.+-]+@[\w-]+\.[\w.]+",
        lambda chance: (
            f"{chance.choice(_NAMES)}{chance.randint(1, 99)}@{chance.choice(_NAMES)}.org"
        ),
    ),
    "uri": (r"https://\S+", _url),
    "uuid": (
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        lambda chance: "-".join("".join(chance.choices(_HEX, k=size)) for size in (8, 4, 4, 4, 12)),
    ),
    "ipv4": (
        r"\d{1,3}(\.\d{1,3}){3}",
        lambda chance: ".".join(str(chance.randint(1, 254)) for _ in range(4)),
    ),
}
"""By kind, the form of its texts, and what makes one."""


Payload = Mapping[str, Any]
Answer = Callable[[Payload], Any]
CheckAll = Callable[[list[tuple[Payload, Any]]], list[str]]
"""Returns for each payload with an output why a check refuses it, "" if it does not."""
REFUSED: Final = object()
"""The answer of a stub that refuses a payload."""
_CONSTANTS: tuple[Any, ...] = ("ok", 0, 1, True, {"ok": True}, [1])


def build_stubs(
    seen: Sequence[tuple[Payload, Any]], *, all_seen: bool = False
) -> dict[str, Answer]:
    """Return false programs by name, for a program of which `seen` payloads and outputs are known.

    A program that was only seen without arguments has no echo and no table. With `all_seen`,
    there are no other payloads, so a table would be a true program.
    """
    outputs = [output for _, output in seen]
    known = set(map(payload_key, outputs))
    answers: dict[str, Answer] = {
        f"always {json.dumps(value)}": partial(lambda value, _: value, value)
        for value in _CONSTANTS
        if payload_key(value) not in known
    }
    if any(payload for payload, _ in seen):
        answers["always the first output"] = lambda _: outputs[0]
        answers["always the last output"] = lambda _: outputs[-1]
        answers |= {"the payload itself": dict, "the payload as text": _as_text}
        arguments = sorted({name for payload, _ in seen for name in payload})
        for name in arguments:
            answers[f"the argument {name} itself"] = partial(
                lambda key, payload: payload.get(key), name
            )
        for name in arguments:
            answers[f"the argument {name} as text"] = partial(
                lambda key, payload: _as_text(payload.get(key, "")), name
            )
        table = {payload_key(payload): output for payload, output in seen}
        others = {"the first output": outputs[0], "the last output": outputs[-1]}
        others = {} if all_seen else {**others, "an error": REFUSED}
        for name, other in others.items():
            answers[f"a table of the cases, and else {name}"] = partial(
                lambda other, payload: table.get(payload_key(payload), other), other
            )
    return answers


def find_survivors(
    stubs: Mapping[str, Answer],
    cases: Sequence[TestCase],
    unseen: Sequence[Payload],
    check_all: CheckAll,
) -> set[str]:
    """Return the names of the stubs that the tests take for a true program.

    `cases` are those of the author. `unseen` are payloads that the true program answers, so a stub
    that refuses one does not do its work.
    """
    tried = [*cases, *(TestCase(payload=dict(payload)) for payload in unseen)]
    answered: list[tuple[str, Payload, Any]] = []
    for name, stub in stubs.items():
        answers = [(case, stub(case.payload)) for case in tried]
        if not any(answer is REFUSED or case.refuse(answer) for case, answer in answers):
            answered += [(name, case.payload, answer) for case, answer in answers]
    reasons = check_all([(payload, answer) for _, payload, answer in answered])
    refused = {name for (name, _, _), reason in zip(answered, reasons, strict=True) if reason}
    return {name for name, _, _ in answered} - refused


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
