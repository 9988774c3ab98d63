"""Which cases are held out, by a hash of the input alone, and texts that hold such an input.

Neither a name, an expectation nor an edit moves a case to the other half; only another input is
another case.

No evolver is shown a held-out input. An input is in a text if

- a line of the text, or all of it, is the input, up to case and blanks;
- an object of JSON in the text is the input, whatever the order of its fields;
- all its texts of `MIN_PART_CHARS` or more stand somewhere in the text, as in the message of an
  error. Texts that were escaped for JSON, or that lost their secrets, count too; those that an
  input for practice has, such as a common address, do not;
- the text was cut, and what is left of it is how the input begins.

Shorter texts are compared with whole lines and values only: "yes" stands in any text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from ..digest import domain_hash
from ..skills.visible_text import ELLIPSIS, clean_text

_hash_split = domain_hash("brain v1 case split")

_MIN_FIXED, _MAX_FIXED = 1e-6, 1e21
"""Between these, ECMAScript writes a number without an exponent."""


def is_held_out(case_input: Mapping[str, Any] | str) -> bool:
    """Tell whether the case with this input is held out. Raises as `hash_input`."""
    return is_held_out_hash(hash_input(case_input))


def hash_input(case_input: Mapping[str, Any] | str) -> bytes:
    """Return the hash of an input: that of its canonical JSON (RFC 8785).

    Raises `ValueError` for an input that has none, such as one with an infinite number or half a
    surrogate pair.
    """
    return _hash_split(canonical_json(case_input))


def is_held_out_hash(input_hash: bytes) -> bool:
    """Tell whether the case with an input of this hash is held out: its first byte is even."""
    return input_hash[0] % 2 == 0


def canonical_json(value: Any) -> bytes:
    """Return the canonical JSON of a value (RFC 8785). Raises `ValueError` if there is none."""
    return _write_value(value).encode()


def _write_value(value: Any) -> str:
    if isinstance(value, Mapping):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return f"{{{','.join(f'{_write_text(n)}:{_write_value(value[n])}' for n in names)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_write_value, value))}]"
    if isinstance(value, float):
        return _write_float(value)
    return _write_text(value)


def _write_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_float(number: float) -> str:
    """Return a number as ECMAScript writes it: the shortest digits that give it again."""
    if number != number or abs(number) == float("inf"):
        raise ValueError(f"{number} is not a number of JSON")
    if number == int(number) and abs(number) < _MAX_FIXED:
        return str(int(number))
    digits = repr(number)
    if abs(number) >= _MAX_FIXED or abs(number) < _MIN_FIXED:
        mantissa, _, exponent = digits.partition("e")
        return f"{mantissa}e{int(exponent):+d}"
    return format(Decimal(digits), "f")


MIN_PART_CHARS = 12
"""Characters of a text that is looked for inside of lines."""
MIN_CUT_CHARS = 48
"""Characters that must be left of a cut text to compare it with the beginnings of inputs."""
MAX_TEXT_CHARS = 1 << 20
"""A longer text is taken for one that holds an input."""
MAX_VALUES = 100_000
"""Values of JSON that are looked at in one text."""
_MAX_NESTED_TEXTS = 3
"""Levels of JSON in texts of JSON."""
MAX_OBJECT_CHARS = 1 << 18
"""Characters of one object of JSON; the inputs of cases are shorter, also if they are escaped."""
_DEEP_JSON_COST, _FAILED_JSON_COST = 10_000, 64
HIDDEN_LINE = "[left out: it repeats a held-out case]"

_QUOTE = re.compile(r"^> ?", re.MULTILINE)
_OBJECT = re.compile(r'\{\s*+["}]')
_BLANKS = re.compile(r"(?:\s|\\+[nrt]?)+")
"""Blanks, also those that JSON escapes, and the backslashes of other escapes."""


class HeldOutInputs:
    """The inputs of the held-out cases of a brain; `practice` are those of the others.

    `sources` are the runs that the held-out ones were made of.
    """

    def __init__(
        self,
        inputs: Iterable[Mapping[str, Any] | str] = (),
        practice: Iterable[Mapping[str, Any] | str] = (),
        sources: Collection[str] = (),
    ) -> None:
        self.sources = sources
        self._texts: set[str] = set()
        self._objects: set[bytes] = set()
        self._field_names: set[frozenset[str]] = set()
        self._wholes: set[str] = set()
        self._groups: dict[str, set[frozenset[str]]] = {}
        self._parts_by_start: dict[str, dict[int, set[str]]] = {}
        shown = {_fold(text) for one in practice for text in _texts_of(one)}
        found = list(inputs)
        all_texts = "\n".join(text for one in found for text in _texts_of(one))
        changes: list[Callable[[str], str]] = [str, _escape]
        if _mask(all_texts) != all_texts:
            changes.append(_mask)
        for case_input in found:
            self._add(case_input, shown, changes)

    def hides(self, text: str) -> bool:
        """Tell whether a text holds one of the inputs."""
        return bool(self._wholes) and (
            len(text) > MAX_TEXT_CHARS or self._is_cut(text) or bool(self._find_lines(text))
        )

    def hide_in(self, text: str) -> str:
        """Return a text with each line that an input stands in replaced."""
        if not self._wholes:
            return text
        if len(text) > MAX_TEXT_CHARS:
            return HIDDEN_LINE
        found = self._find_lines(text)
        if not found:
            return text
        return "\n".join(
            _hide_line(line) if at in found else line for at, line in enumerate(text.split("\n"))
        )

    def _add(
        self,
        case_input: Mapping[str, Any] | str,
        shown: set[str],
        changes: Iterable[Callable[[str], str]],
    ) -> None:
        parts = [text for text in _texts_of(case_input) if _fold(text) not in shown]
        if isinstance(case_input, str):
            self._texts.add(_fold(case_input))
            wholes = [case_input]
        else:
            value = dict(case_input)
            self._objects.add(canonical_json(value))
            self._field_names.add(frozenset(value))
            wholes = [canonical_json(value).decode(), json.dumps(value), repr(value)]
        self._wholes.update(map(_fold, wholes))
        for whole in wholes:
            self._add_group([whole])
        for change in changes:
            self._add_group([change(part) for part in parts])

    def _add_group(self, parts: Iterable[str]) -> None:
        """Add texts that make an input if all of them stand in a text."""
        group = frozenset(part for part in map(_fold, parts) if len(part) >= MIN_PART_CHARS)
        for part in group:
            self._groups.setdefault(part, set()).add(group)
            by_length = self._parts_by_start.setdefault(part[:MIN_PART_CHARS], {})
            by_length.setdefault(len(part), set()).add(part)

    def _is_cut(self, text: str) -> bool:
        """Tell whether what is left of a cut text is how an input begins or ends."""
        first, mark, rest = text.partition(ELLIPSIS)
        begin, end = _fold(first), _fold(rest.rpartition(ELLIPSIS)[2])
        return mark != "" and any(
            (len(begin) >= MIN_CUT_CHARS and whole.startswith(begin))
            or (len(end) >= MIN_CUT_CHARS and whole.endswith(end))
            for whole in self._wholes
        )

    def _find_lines(self, text: str) -> set[int]:
        """Return the numbers of the lines of a text that an input stands in, from 0."""
        plain = _QUOTE.sub("", text)
        lines = [_fold(line) for line in plain.split("\n")]
        found = {at for at, line in enumerate(lines) if line in self._texts}
        if " ".join(filter(None, lines)) in self._texts:
            found.update(range(len(lines)))
        found.update(self._find_parts(lines))
        for begin, end, value in _iter_json(plain):
            if self._is_in_value(value, _MAX_NESTED_TEXTS):
                first = plain.count("\n", 0, begin)
                found.update(range(first, first + plain.count("\n", begin, end) + 1))
        return found

    def _find_parts(self, lines: list[str]) -> Iterator[int]:
        """Yield the lines that hold the texts of an input of which all texts are there."""
        folded = " ".join(filter(None, lines))
        found: dict[str, list[int]] = {}
        for at in range(len(folded) - MIN_PART_CHARS + 1):
            by_length = self._parts_by_start.get(folded[at : at + MIN_PART_CHARS])
            for length, parts in by_length.items() if by_length else ():
                part = folded[at : at + length]
                if part in parts and _is_apart(folded, at, at + length):
                    found.setdefault(part, []).append(at)
        complete = {
            part for part in found if any(group <= found.keys() for group in self._groups[part])
        }
        if not complete:
            return
        spans = [(at, at + len(part)) for part in complete for at in found[part]]
        begin = 0
        for number, line in enumerate(lines):
            end = begin + len(line)
            if line and any(first < end and begin < last for first, last in spans):
                yield number
            begin = end + 1 if line else end

    def _is_in_value(self, value: Any, levels: int) -> bool:
        """Tell whether a value of JSON holds an input, also in texts that are JSON themselves."""
        for part in _walk_values(value):
            if isinstance(part, dict):
                if frozenset(part) in self._field_names and _canonical(part) in self._objects:
                    return True
            elif isinstance(part, str):
                lines = [_fold(part)]
                if lines[0] in self._texts or any(self._find_parts(lines)):
                    return True
                nested = _iter_json(part) if levels else ()
                if any(self._is_in_value(inner, levels - 1) for _, _, inner in nested):
                    return True
        return False


def _is_apart(text: str, begin: int, end: int) -> bool:
    return not (
        (begin and text[begin - 1].isalnum() and text[begin].isalnum())
        or (text[end - 1].isalnum() and text[end : end + 1].isalnum())
    )


def _texts_of(case_input: Mapping[str, Any] | str) -> list[str]:
    return [text for text in _walk_values(case_input) if isinstance(text, str)]


def _hide_line(line: str) -> str:
    return f"> {HIDDEN_LINE}" if line.startswith(">") else HIDDEN_LINE


def _fold(text: str) -> str:
    """Return a text for comparison: without case, hidden characters and kinds of blanks."""
    return _BLANKS.sub(" ", clean_text(text).casefold()).strip()


def _escape(text: str) -> str:
    return json.dumps(text)[1:-1]


def _mask(text: str) -> str:
    from ..secrets import mask_secrets

    return mask_secrets(text.encode("utf-8", "replace"))[0].decode("utf-8", "replace")


def _canonical(value: Mapping[str, Any]) -> bytes | None:
    try:
        return canonical_json(value)
    except (ValueError, RecursionError):  # such as an infinite number
        return None


def _walk_values(value: Any) -> Iterator[Any]:
    """Yield a value of JSON and all values in it, at most `MAX_VALUES`."""
    waiting = [value]
    for _ in range(MAX_VALUES):
        if not waiting:
            return
        found = waiting.pop()
        yield found
        if isinstance(found, Mapping):
            waiting.extend(found.values())
        elif isinstance(found, list):
            waiting.extend(found)


def _iter_json(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the objects of JSON in a text, with where they begin and end, in bounded time."""
    decoder = json.JSONDecoder()
    left = 4 * len(text) + _DEEP_JSON_COST
    at = 0
    while left > 0 and (match := _OBJECT.search(text, at)):
        begin = match.start()
        at = begin + 1
        try:
            # An error counts the lines of the text before it, so the text is short.
            value, length = decoder.raw_decode(text[begin : begin + MAX_OBJECT_CHARS])
        except json.JSONDecodeError as error:
            left -= error.pos + _FAILED_JSON_COST
        except (ValueError, RecursionError):  # a number of too many digits, or too deep
            left -= _DEEP_JSON_COST
        else:
            at = begin + length
            yield begin, at, value
            left -= length
