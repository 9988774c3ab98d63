"""The card of a skill: what lists and the Level-0 index show of it, read leniently."""

from __future__ import annotations

import re
from typing import NamedTuple

from .. import limits
from ..errors import FormatError, InvalidInput
from . import fast, parts, quick, version
from .fields import NULL, TEXT, Head
from .frontmatter import scan_fully
from .text import fold

SUMMARY = 120
"""Characters of the first line of a body that stand in for a description."""

_OPEN = b"---\n"
_CLOSE = b"\n---\n"
_HEADING = re.compile(r"#{1,6}[ \t]+")


class Card(NamedTuple):
    """Name, description (at most 1024 characters) and version as text form.

    Name and description stand on one line and hold no hidden code points.
    `flags` names what is wrong with the front matter, by the codes of the errors with
    spaces between: `no_frontmatter`, `bad_yaml`, `no_name`, `no_description`,
    `no_version`, `bad_version`, `bad_type`, `description_too_long` and so on.
    """

    name: str
    description: str
    version: str
    flags: str


def read_card(content: bytes, fallback_name: str) -> Card:
    """Return the card of a document; never raises on what the document holds.

    Without a readable name it has `fallback_name` and the flag `no_name`; without
    readable front matter its description is the first line of the body.
    """
    plain = quick.read(content)
    if plain is not None:
        if _is_settled(plain):
            return Card(*plain, "")
        raws = [plain.version] if plain.version else []
        return _card(plain.name, plain.description, raws, [], fallback_name)
    head = _fast_head(content)
    if head is not None:
        return _card_of(head, fallback_name)
    try:
        cut = parts.split(content)
    except InvalidInput as error:
        return _bare(content, fallback_name, error.code)
    if not cut.opening:
        return _bare(cut.body, fallback_name, "no_frontmatter")
    try:
        return _card_of(scan_fully(cut.head), fallback_name)
    except InvalidInput as error:
        return _bare(cut.body, fallback_name, error.code)


def _is_settled(plain: quick.Plain) -> bool:
    """Tell whether there is nothing to fold, cut or compute: the case of most skills."""
    name, description, number = plain
    return (
        number.isascii()
        and number.isdigit()
        and number[0] != "0"
        and len(number) < 10
        and 0 < len(name) <= limits.MAX_NAME_CHARS
        and 0 < len(description) <= limits.MAX_DESCRIPTION_CHARS
        and name == fold(name)
        and description == fold(description)
    )


def encode_card(card: Card) -> bytes:
    """Return the bytes of a card for the derived data; a fallback name is left out."""
    name = "" if "no_name" in card.flags.split() else card.name
    text = f"{name}\0{card.description}\0{card.version}\0{card.flags}"
    if text.count("\0") > 3:
        fields = (name, card.description, card.version, card.flags)
        text = "\0".join([field.replace("\0", "") for field in fields])
    return text.encode()


def decode_card(data: bytes, fallback_name: str = "") -> Card:
    """Undo `encode_card`; `fallback_name` fills in for a name that is missing.

    Raises `FormatError` with code `bad_card`.
    """
    try:
        name, description, text, flags = data.decode().split("\0")
    except ValueError as error:
        raise FormatError("not a card of a skill", code="bad_card") from error
    return Card(name or fallback_name, description, text, flags)


def summary(body: bytes) -> str:
    """Return the first line of `body` that says something, heading marks stripped.

    At most 120 characters; "" if there is none.
    """
    for line in body.decode("utf-8", "replace").splitlines():
        text = fold(_HEADING.sub("", line.strip(), count=1))
        if text.strip("-#= "):
            return text[:SUMMARY].rstrip()
    return ""


def _fast_head(content: bytes) -> Head | None:
    if not content.startswith(_OPEN):
        return None
    close = content.find(_CLOSE, 3, limits.MAX_FRONT_MATTER_BYTES)
    if close < 0:
        return None
    try:
        return fast.scan(content[4 : close + 1].decode())
    except UnicodeDecodeError:
        return None


def _card_of(head: Head, fallback_name: str) -> Card:
    flags: list[str] = []
    name, description = _text(head, "name", flags), _text(head, "description", flags)
    return _card(name, description, list(map(head.raw, head.versions())), flags, fallback_name)


def _card(
    name: str, description: str, versions: list[str], flags: list[str], fallback_name: str
) -> Card:
    if not name.isascii() or not name.isprintable():
        from .names import HIDDEN, has_unseen

        if has_unseen(name):
            flags.append(HIDDEN)
    name = fold(name)[: limits.MAX_NAME_CHARS]
    description = fold(description)
    if not name:
        flags.append("no_name")
    if not description:
        flags.append("no_description")
    elif len(description) > limits.MAX_DESCRIPTION_CHARS:
        flags.append("description_too_long")
        description = description[: limits.MAX_DESCRIPTION_CHARS]
    number = _version(versions, flags)
    return Card(name or fallback_name, description, number, " ".join(flags))


def _text(head: Head, key: str, flags: list[str]) -> str:
    field = head.fields.get(key)
    if field is None or field.kind == NULL:
        return ""
    if field.kind != TEXT:
        flags.append("bad_type")
    return field.value


def _version(raws: list[str], flags: list[str]) -> str:
    if not raws:
        flags.append("no_version")
        return version.FIRST
    try:
        return version.greatest(list(map(version.parse, raws)))
    except InvalidInput:
        flags.append("bad_version")
        return version.FIRST


def _bare(body: bytes, fallback_name: str, code: str) -> Card:
    flags = f"{code} no_name no_description no_version"
    text = "" if code == "not_utf8" else summary(body[: 4 * limits.MAX_DESCRIPTION_CHARS])
    return Card(fallback_name, text, version.FIRST, flags)
