"""One random change to bytes, to a structured object, or to a JSON text.

What is changed is written out again as it has to be, so that the change itself is
judged and not a checksum or an order that broke by the way.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Any

from brain.digest import blob_id
from tests.support import json_mutations
from tests.support.cases import read_cases

CASES = read_cases(__file__)

EDGE_NUMBERS = sorted(
    {
        max(0, 2**power + more)
        for power in (0, 1, 7, 8, 16, 32, 48, 53, 63, 64)
        for more in (-1, 0, 1)
    }
    | {162, 4_096, 4_097, 253_402_300_799_999, 253_402_300_800_000}
)
EDGE_TEXTS = tuple(CASES["edge_texts"])
EDGE_LENGTHS = (31, 32, 64, 65, 255, 256, 1_024, 1_025, 2_048, 2_049, 8_192, 8_193)
_JSON_WORDS = (
    "null",
    "true",
    "-0",
    "-1",
    "01",
    "1.0",
    "1e0",
    "1E2",
    "9" * 30,
    '""',
    '"\\ud800"',
    "[]",
    "{}",
)


def mutate_bytes(draw: Random, given: bytes) -> bytes:
    """Return bytes with a bit, a byte or a run of them changed, added or gone."""
    place = draw.randrange(len(given) + 1)
    end = min(len(given), place + draw.choice((1, 1, 2, 4, 32)))
    if given and draw.random() < 0.5:
        flipped = bytearray(given)
        flipped[draw.randrange(len(given))] ^= 1 << draw.randrange(8)
        return bytes(flipped)
    return draw.choice(
        (
            given[:place],
            given[:place] + given[end:],
            given[:end] + given[place:],
            given[:place] + draw.randbytes(end - place) + given[end:],
            given[:place] + draw.randbytes(1) + given[place:],
        )
    )


def mutate_value(draw: Random, given: Any) -> Any:
    """Return a value of MessagePack with one place in it changed."""
    if isinstance(given, tuple | list):
        items = list(given)
        if items and draw.random() < 0.8:
            place = draw.randrange(len(items))
            items[place] = mutate_value(draw, items[place])
            return tuple(items)
        return mutate_list(draw, items)
    if isinstance(given, dict):
        return dict(mutate_list(draw, list(given.items())))
    return mutate_scalar(draw, given)


def mutate_list(draw: Random, items: list[Any]) -> Any:
    """Return items of which some are gone, there twice, or in another order."""
    place = draw.randrange(len(items) + 1)
    changes: list[Any] = [
        items[:place],
        [*items, *items[:place]],
        items[::-1],
        sorted(items, key=repr),
    ]
    changes += [items[:place] + items[place + 1 :]]
    if items:
        changes += [[*items[:place], draw.choice(items), *items[place:]]]
    return tuple(draw.choice(changes))


def mutate_scalar(draw: Random, given: Any) -> Any:
    """Return another number, text or byte string; now and then one of another type."""
    if draw.random() < 0.1:
        return draw.choice(
            (0, "", b"", (), {}, -1, None, True, 1.0, bytes(32), draw.choice(EDGE_TEXTS))
        )
    if isinstance(given, bytes):
        digest = blob_id(draw.randbytes(1))
        return draw.choice((mutate_bytes(draw, given), digest, b"", bytes(31), bytes(33), digest))
    if isinstance(given, str):
        return mutate_text(draw, given)
    if isinstance(given, int):
        return draw.choice(
            (given + 1, max(0, given - 1), draw.choice(EDGE_NUMBERS), draw.choice(EDGE_NUMBERS))
        )
    return 0


def mutate_text(draw: Random, given: str) -> str:
    """Return another text."""
    one, long = draw.choice(EDGE_TEXTS), "x" * draw.choice(EDGE_LENGTHS)
    return draw.choice((given + one, one + given, one, given[:-1], long))


def pack_with_wide_form(given: Any, wide: int = -1) -> bytes:
    """Return the shortest MessagePack, but that of the value of number `wide` one form longer."""
    count = [wide]

    def write(one: Any) -> bytes:
        count[0] -= 1
        more = int(count[0] == -1)
        if one is None or isinstance(one, bool):
            return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[one]
        if isinstance(one, int):
            return (
                b"\xff"
                if one < 0
                else _encode_head(one, more, 0x00, 0x80, (0xCC, 0xCD, 0xCE, 0xCF))
            )
        if isinstance(one, float):
            return b"\xca" + bytes(4)
        if isinstance(one, str):
            text = one.encode("utf-8", "surrogatepass")
            return _encode_head(len(text), more, 0xA0, 32, (0xD9, 0xDA, 0xDB)) + text
        if isinstance(one, bytes):
            return _encode_head(len(one), more, 0, 0, (0xC4, 0xC5, 0xC6)) + one
        if isinstance(one, dict):
            head = _encode_head(len(one), more, 0x80, 16, (0, 0xDE, 0xDF))
            return head + b"".join(write(key) + write(item) for key, item in one.items())
        return _encode_head(len(one), more, 0x90, 16, (0, 0xDC, 0xDD)) + b"".join(map(write, one))

    return write(given)


def _encode_head(count: int, more: int, small: int, below: int, tags: tuple[int, ...]) -> bytes:
    """Return the tag and length; `more` steps longer than needed, where there is a longer form."""
    forms = [(below, bytes([small | count]))] if count < below else []
    for power, tag in enumerate(tags):
        if tag and count < 2 ** (8 * 2**power):
            forms.append((0, bytes([tag]) + count.to_bytes(2**power, "big")))
    return forms[min(more, len(forms) - 1)][1] if forms else b"\xcf" + b"\xff" * 8


def mutate_json_value(draw: Random, given: Any) -> Any:
    """Return a JSON document with one place changed."""
    way, found = _pick_place(draw, given)
    if type(found) is int and draw.random() < 0.5:
        return json_mutations.replace_at(given, way, draw.choice((-1, *EDGE_NUMBERS)))
    if isinstance(found, str) and draw.random() < 0.3:
        return json_mutations.replace_at(given, way, mutate_text(draw, found))
    if isinstance(found, list) and draw.random() < 0.9:
        return json_mutations.replace_at(given, way, list(mutate_list(draw, found)))
    if isinstance(found, dict) and found and draw.random() < 0.9:
        return json_mutations.replace_at(given, way, _mutate_fields(draw, found))
    if isinstance(found, list | dict):
        return json_mutations.replace_at(given, way, draw.choice((None, "", 0, [], {})))
    made = [one for _, one in json_mutations.mutate_json(found)]
    return json_mutations.replace_at(given, way, draw.choice(made)) if made else given


def _mutate_fields(draw: Random, given: dict[str, Any]) -> dict[str, Any]:
    """Return an object with a field less, more, null, or with the value of another."""
    name, other = draw.choice(sorted(given)), draw.choice(sorted(given))
    less = {key: item for key, item in given.items() if key != name}
    changes = (less, {**given, "note": ""}, {**given, name: None}, {**given, name: given[other]})
    return draw.choice(changes)


def _pick_place(draw: Random, given: Any) -> tuple[json_mutations.JsonPath, Any]:
    """Choose a place in a document."""
    way: list[str | int] = []
    while isinstance(given, dict | list) and given and draw.random() < 0.85:
        key: Any = (
            draw.choice(sorted(given)) if isinstance(given, dict) else draw.randrange(len(given))
        )
        way.append(key)
        given = given[key]
    return tuple(way), given


def mutate_json_text(draw: Random, given: Any, dumps: Callable[[Any], str]) -> bytes:
    """Return a document as a text that `dumps` writes, now and then with a word of it replaced."""
    whole = dumps(given)
    if draw.random() < 0.85:
        return whole.encode("utf-8", "surrogatepass")
    if draw.random() < 0.3:
        indented = json.dumps(given, indent=draw.choice((None, 1)), ensure_ascii=True)
        return indented.encode("utf-8", "surrogatepass")
    if draw.random() < 0.3:
        return mutate_bytes(draw, whole.encode("utf-8", "surrogatepass"))
    # A key or value more, somewhere between two of them: also a key twice, or two values.
    commas = [place for place, sign in enumerate(whole) if sign in ",:[{"]
    place = draw.choice(commas or [0]) + 1
    return (
        whole[:place] + draw.choice(_JSON_WORDS) + draw.choice(("", ",", ":")) + whole[place:]
    ).encode()


def canonical_json(given: Any) -> str:
    """Return a document as canonical JSON writes it."""
    return json.dumps(given, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
