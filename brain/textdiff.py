"""Line differences of texts, as counts and as unified diff.

What two texts share at their start and end is set aside first, so that a record
appended to a large memory file costs what the record costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

Opcode = tuple[str, int, int, int, int]

CONTEXT = 3
"""Unchanged lines shown around a change."""
_PROBE = 8192
"""Bytes looked at to tell text from binary."""
_MOST_LINES = 20_000
"""Lines of a middle part that are still matched line by line."""


class Counts(NamedTuple):
    """Lines added and removed."""

    added: int
    removed: int


class Middle(NamedTuple):
    """What is left of two texts between their common first and last lines.

    `start` lines come before; `lead` and `tail` are up to CONTEXT common lines on
    either side.
    """

    start: int
    lead: list[str]
    old: list[str]
    new: list[str]
    tail: list[str]


def is_binary(content: bytes) -> bool:
    """Tell whether content is not text: a NUL early on, or not UTF-8."""
    if b"\0" in content[:_PROBE]:
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return True
    return False


def count(old: bytes, new: bytes) -> Counts:
    """Count the lines a text gained and lost."""
    middle = _middle(old, new)
    common = sum(i2 - i1 for tag, i1, i2, _, _ in _opcodes(middle) if tag == "equal")
    return Counts(len(middle.new) - common, len(middle.old) - common)


def unified(old: bytes, new: bytes, old_name: str, new_name: str) -> Iterator[str]:
    """Yield the lines of a unified diff, without line ends; nothing if the texts are equal.

    A last line without a line end is marked as `diff` and git mark it.
    """
    if old == new:
        return
    middle = _middle(old, new)
    yield f"--- {old_name}"
    yield f"+++ {new_name}"
    for hunk in _hunks(middle):
        yield from hunk


def _middle(old: bytes, new: bytes) -> Middle:
    front = _common_start(old, new)
    back = _common_end(old, new, min(len(old), len(new)) - front)
    lines_before = old.count(b"\n", 0, front)
    lead_at = _lines_back(old, front)
    tail_to = _lines_on(old, len(old) - back)
    return Middle(
        lines_before,
        _lines(old[lead_at:front]),
        _lines(old[front : len(old) - back]),
        _lines(new[front : len(new) - back]),
        _lines(old[len(old) - back : tail_to]),
    )


def _common_start(old: bytes, new: bytes) -> int:
    """Length of the common part at the start, up to the end of a line."""
    low, high = 0, min(len(old), len(new))
    if old[:high] == new[:high]:
        low = high
    while high - low > 1:
        half = (low + high) // 2
        if old[low:half] == new[low:half]:
            low = half
        else:
            high = half
    return old.rfind(b"\n", 0, low) + 1


def _common_end(old: bytes, new: bytes, most: int) -> int:
    """Length of the common part at the end, at most `most`, from the start of a line on."""
    low, high = 0, most
    if most and old[-most:] == new[-most:]:
        low = high
    while high - low > 1:
        half = (low + high) // 2
        if old[len(old) - half : len(old) - low] == new[len(new) - half : len(new) - low]:
            low = half
        else:
            high = half
    if low == most and _starts_line(old, len(old) - low) and _starts_line(new, len(new) - low):
        return low
    at = old.find(b"\n", len(old) - low)
    return len(old) - at - 1 if at >= 0 else 0


def _starts_line(text: bytes, at: int) -> bool:
    return at == 0 or text[at - 1 : at] == b"\n"


def _lines_back(text: bytes, at: int) -> int:
    for _ in range(CONTEXT + 1):
        at = text.rfind(b"\n", 0, max(at, 0))
        if at < 0:
            return 0
    return at + 1


def _lines_on(text: bytes, at: int) -> int:
    for _ in range(CONTEXT):
        end = text.find(b"\n", at)
        if end < 0:
            return len(text)
        at = end + 1
    return at


def _lines(text: bytes) -> list[str]:
    """Split at line feeds alone; str.splitlines knows a dozen other line ends."""
    whole = text.decode("utf-8", "surrogateescape").split("\n")
    ended = [line + "\n" for line in whole[:-1]]
    return [*ended, whole[-1]] if whole[-1] else ended


def _opcodes(middle: Middle) -> list[Opcode]:
    """Return difflib's opcodes between the middle parts."""
    if len(middle.old) + len(middle.new) > _MOST_LINES:
        return [("replace", 0, len(middle.old), 0, len(middle.new))]
    from difflib import SequenceMatcher

    return list(SequenceMatcher(None, middle.old, middle.new, autojunk=False).get_opcodes())


def _hunks(middle: Middle) -> Iterator[list[str]]:
    from difflib import SequenceMatcher

    old = middle.lead + middle.old + middle.tail
    new = middle.lead + middle.new + middle.tail
    first = middle.start - len(middle.lead)
    frame: SequenceMatcher[str] = SequenceMatcher(None, [], [], autojunk=False)
    # The common lines on both sides stay matched with each other, whatever the middle holds.
    frame.opcodes = _framed(middle)  # type: ignore[attr-defined]  # where difflib keeps them
    for group in frame.get_grouped_opcodes(CONTEXT):
        a1, a2, b1, b2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
        out = [f"@@ -{_range(first, a1, a2)} +{_range(first, b1, b2)} @@"]
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += _marked(" ", old[i1:i2])
                continue
            out += _marked("-", old[i1:i2]) + _marked("+", new[j1:j2])
        yield out


def _framed(middle: Middle) -> list[Opcode]:
    lead, tail = len(middle.lead), len(middle.tail)
    old, new = lead + len(middle.old), lead + len(middle.new)
    inner: list[Opcode] = [
        (tag, i1 + lead, i2 + lead, j1 + lead, j2 + lead)
        for tag, i1, i2, j1, j2 in _opcodes(middle)
    ]
    before: Opcode = ("equal", 0, lead, 0, lead)
    after: Opcode = ("equal", old, old + tail, new, new + tail)
    whole: list[Opcode] = []
    for tag, i1, i2, j1, j2 in [before, *inner, after]:
        if whole and tag == "equal" == whole[-1][0]:
            whole[-1] = ("equal", whole[-1][1], i2, whole[-1][3], j2)
        elif i2 > i1 or j2 > j1:
            whole.append((tag, i1, i2, j1, j2))
    return whole


def _range(first: int, start: int, stop: int) -> str:
    length = stop - start
    at = first + start + (1 if length else 0)
    return str(at) if length == 1 else f"{at},{length}"


def _marked(mark: str, lines: list[str]) -> list[str]:
    out = []
    for line in lines:
        if line.endswith("\n"):
            out.append(mark + line[:-1])
        else:
            out += [mark + line, "\\ No newline at end of file"]
    return out
