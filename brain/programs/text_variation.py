"""Make texts of the same kind as known ones, for payloads that nobody saw."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..util.strict_json import nesting_depth, parse_unbounded_json

_MAX_DEPTH = 16
_MAX_CHARS = 20_000
_PARTS = ("a", "B", "7", " ", "-", "é", "x1", "the end", "0.5", "ß", "Zoë", "one two")
_NAMES = ("ada", "bob", "example", "north", "river", "zoe7")
_HEX = "0123456789abcdef"


def make_text(schema: Mapping[str, Any], seen: Sequence[str], chance: random.Random) -> str:
    """Return a text that the schema allows, if it can be; of the kind of the seen ones."""
    kind = schema.get("format") or _find_kind(seen)
    make = _KINDS.get(str(kind))
    if make is not None:
        made = make(chance)
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
    changes: list[Callable[[], str]] = []
    if any(map(str.isdigit, text)):
        changes.append(lambda: _change_digits(text, chance))
    if "\n" in text.strip("\n"):
        changes.append(lambda: _change_lines(text, chance))
    elif " " in text.strip():
        words = [word for one in seen for word in one.split(" ")]
        changes.append(lambda: _change_words(text, words, chance))
        changes.append(lambda: " ".join(chance.sample(text.split(" "), len(text.split(" ")))))
    elif not any(map(str.isdigit, text)):
        letters = "".join(seen) or "abc"
        changes.append(lambda: text + chance.choice(letters))
        changes.append(lambda: "".join(chance.choices(letters, k=max(1, len(text)))))
        changes.append(lambda: text[::-1])
        changes.append(text.swapcase)
    return chance.choice(changes)()


def _parse_json(text: str) -> list[Any] | dict[str, Any] | None:
    """Return the list or the object that a text is as JSON, None if it is neither."""
    data = text.encode("utf-8", "replace")
    if text.lstrip()[:1] not in ("[", "{") or nesting_depth(data, _MAX_DEPTH) > _MAX_DEPTH:
        return None
    try:
        value: list[Any] | dict[str, Any] = parse_unbounded_json(text)
    except ValueError:
        return None
    return value


def _change_json(value: Any, chance: random.Random) -> Any:
    """Return a value of the same form with other numbers, texts and lengths of lists."""
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


def _change_words(text: str, words: Sequence[str], chance: random.Random) -> str:
    count = len(text.split(" "))
    return " ".join(chance.choices(words, k=chance.randint(1, count + 2)))


def _date(chance: random.Random) -> str:
    return f"{chance.randint(1990, 2035)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"


def _clock(chance: random.Random) -> str:
    return f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"


def _email(chance: random.Random) -> str:
    return f"{chance.choice(_NAMES)}{chance.randint(1, 99)}@{chance.choice(_NAMES)}.org"


def _url(chance: random.Random) -> str:
    path = "/".join(chance.choices(_NAMES, k=chance.randint(1, 3)))
    return f"https://{chance.choice(_NAMES)}.example/{path}?n={chance.randint(1, 99)}"


def _uuid(chance: random.Random) -> str:
    return "-".join("".join(chance.choices(_HEX, k=size)) for size in (8, 4, 4, 4, 12))


_KINDS: dict[str, Callable[[random.Random], str]] = {
    "date": _date,
    "time": _clock,
    "date-time": lambda chance: f"{_date(chance)}T{_clock(chance)}Z",
    "email": _email,
    "uri": _url,
    "uuid": _uuid,
    "ipv4": lambda chance: ".".join(str(chance.randint(1, 254)) for _ in range(4)),
}
_PATTERNS = {
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "time": re.compile(r"\d\d:\d\d:\d\d"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    "email": re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+"),
    "uri": re.compile(r"https://\S+"),
    "uuid": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "ipv4": re.compile(r"\d{1,3}(\.\d{1,3}){3}"),
}


def _find_kind(seen: Sequence[str]) -> str:
    """Return the kind that all seen texts are of, "" if there is none."""
    if not seen:
        return ""
    found = (kind for kind, form in _PATTERNS.items() if all(map(form.fullmatch, seen)))
    return next(found, "")
