"""The metadata of a skill (name, description, version) for lists and the index, read leniently."""

from __future__ import annotations

import re

from .. import limits
from ..errors import FormatError, InvalidInput
from ..named_tuple import NamedTuple
from ..util.text import lazy_pattern
from . import document_parts, skill_version
from .frontmatter import NULL_KIND, TEXT_KIND, FrontMatter, parse_front_matter
from .visible_text import fold_to_line
from .yaml_scalar import AMBIGUOUS_WORDS

USER_ONLY_FIELD = "disable-model-invocation"
"""The field by which clients offer a skill to its user alone, if it is true.

`user-invocable: false` is the reverse: such a skill is the model's, and listed.
"""
_YES = ("true", "yes", "on")
MAX_SUMMARY_CHARS = 120
"""Characters of the first line of a body that serve as a description."""

TWO_HEADS = "two_frontmatters"
"""The flag of a document whose second front matter is read: in format 1 its version is 1."""

REFUSED_BY_YAML = frozenset(
    "bad_yaml duplicate_key unclosed_frontmatter bad_char not_utf8 too_many_nodes too_deep"
    " too_large".split()
)
"""The codes of problems, and flags of metadata, of front matter that YAML refuses."""

_PLAIN_OPENING = len(b"---\r\n")
_CLOSING = b"\n---\n"
_PLAIN = rb"[A-Za-z][!-\"$-9;-~]*(?: [!-\"$-9;-~]+)*"
_ORDINARY_HEAD = re.compile(
    rb"---\nname: ([A-Za-z][0-9A-Za-z-]*)\ndescription: (%b)\n"
    rb"(?:metadata:\n  )?version: (\"?)([1-9][0-9]{0,8})\3\n---\n" % _PLAIN
)
"""A head as an upsert writes it: read in a fifth of the time, which a first snapshot feels."""
_USER_ONLY = "user_only"
_HEADING_MARK = lazy_pattern(r"#{1,6}[ \t]+")


def recorded_version(card: SkillMetadata) -> str:
    """Return what operations state for the version of a text: format 1 knows numbers, and else 1.

    It knows no second front matter either.
    """
    if TWO_HEADS in card.flags:
        return skill_version.FIRST_VERSION
    return skill_version.recorded_version(card.version)


class SkillMetadata(NamedTuple):
    """Name, description (at most 1024 characters) and version as text form.

    Name and description are on one line and hold no hidden code points. `flags` are the
    problems of the front matter as error codes, separated by spaces: `no_frontmatter`,
    `bad_yaml`, `no_name`, `no_description`, `no_version`, `bad_version`, `bad_type`,
    `description_too_long` and so on; `user_only` is not one: see `is_user_only`.
    """

    name: str
    description: str
    version: str
    flags: str

    @property
    def is_user_only(self) -> bool:
        """Whether only its user may start the skill: no list for a model has it."""
        return _USER_ONLY in self.flags


def read_skill_metadata(content: bytes, fallback_name: str) -> SkillMetadata:
    """Return the metadata of a document; never raises, whatever the document holds.

    Without a readable name it has `fallback_name` and the flag `no_name`. Without a
    description it has the field `summary`, else the first line of the body with text, and the
    flag `no_description`.
    """
    ordinary = _ORDINARY_HEAD.match(content)
    if ordinary:
        name, description, _, number = (text.decode() for text in ordinary.groups())
        if (
            len(name) <= limits.MAX_SKILL_NAME_CHARS
            and len(description) <= limits.MAX_DESCRIPTION_CHARS
            and AMBIGUOUS_WORDS.isdisjoint((name, description))
        ):
            return SkillMetadata(name, description, number, "")
    return _read_any_metadata(content, fallback_name)


def _read_any_metadata(content: bytes, fallback_name: str) -> SkillMetadata:
    end = _find_body(content)  # whatever the body holds, the head can be read
    try:
        document = document_parts.split_document(content[:end])
    except InvalidInput as error:
        return _metadata_without_front_matter(content, fallback_name, error.code)
    body = document.body + content[end:]
    if not document.opening:
        return _metadata_without_front_matter(body, fallback_name, "no_frontmatter")
    try:
        front_matter = parse_front_matter(document.front_matter)
    except InvalidInput as error:
        return _metadata_without_front_matter(body, fallback_name, error.code)
    flags = [] if front_matter.problem is None else [front_matter.problem.code]
    if not document.is_closed:
        flags.append("unclosed_frontmatter")
    if len(document.opening) > _PLAIN_OPENING and document.earlier_head is not None:
        flags.append(TWO_HEADS)
    name = _field_text(front_matter, "name", flags)
    description = _field_text(front_matter, "description", flags)
    if not fold_to_line(description):
        flags.append("no_description")
        description = summarize_document(front_matter, body)
    if not name.isascii() or not name.isprintable():
        from .slug import HIDDEN_NAME, has_hidden_characters

        if has_hidden_characters(name):
            flags.append(HIDDEN_NAME)
    name = fold_to_line(name)[: limits.MAX_SKILL_NAME_CHARS]
    description = fold_to_line(description)
    if not name:
        flags.append("no_name")
    if len(description) > limits.MAX_DESCRIPTION_CHARS:
        flags.append("description_too_long")
        description = description[: limits.MAX_DESCRIPTION_CHARS]
    if front_matter.shown_text(USER_ONLY_FIELD).casefold() in _YES:
        flags.append(_USER_ONLY)
    versions = list(map(front_matter.raw_value, front_matter.version_fields()))
    number = _greatest_version(versions, flags)
    return SkillMetadata(name or fallback_name, description, number, " ".join(flags))


def _find_body(content: bytes) -> int:
    """Return where the body starts of a document that begins and closes as usual, else its end."""
    closing = -1
    if content.startswith(b"---\n"):
        closing = content.find(_CLOSING, 3, limits.MAX_FRONT_MATTER_BYTES)
    if closing < 0:
        return len(content)
    body_start = closing + len(_CLOSING)
    second = document_parts.find_second_head(content, 4, closing + 1, body_start)
    return second[2] if second else body_start


def encode_skill_metadata(metadata: SkillMetadata) -> bytes:
    """Return metadata as bytes for the cache, without a fallback name."""
    name = "" if "no_name" in metadata.flags.split() else metadata.name
    text = f"{name}\0{metadata.description}\0{metadata.version}\0{metadata.flags}"
    if text.count("\0") > 3:
        fields = (name, metadata.description, metadata.version, metadata.flags)
        text = "\0".join([field.replace("\0", "") for field in fields])
    return text.encode()


def decode_skill_metadata(data: bytes, fallback_name: str = "") -> SkillMetadata:
    """Undo `encode_skill_metadata`; `fallback_name` replaces a missing name.

    Raises `FormatError` with code `bad_card`.
    """
    try:
        name, description, text, flags = data.decode().split("\0")
    except ValueError as error:
        raise FormatError(
            "the cached metadata of a skill is malformed",
            code="bad_card",
            hint="see `brain doctor`",
        ) from error
    return SkillMetadata(name or fallback_name, description, text, flags)


def summarize_body(body: bytes) -> str:
    """Return the first line of `body` with text, without heading marks.

    At most 120 characters; "" if there is none.
    """
    for line in body.decode("utf-8", "replace").splitlines():
        text = fold_to_line(_HEADING_MARK().sub("", line.strip(), count=1))
        if text.strip("-#= "):
            return text[:MAX_SUMMARY_CHARS].rstrip()
    return ""


def summarize_document(front_matter: FrontMatter, body: bytes) -> str:
    """Return what serves as a description where there is none, "" if nothing does."""
    return fold_to_line(front_matter.shown_text("summary")) or summarize_body(
        body[: 4 * limits.MAX_DESCRIPTION_CHARS]
    )


def _field_text(front_matter: FrontMatter, key: str, flags: list[str]) -> str:
    field = front_matter.fields.get(key)
    if field is not None and field.kind not in (TEXT_KIND, NULL_KIND):
        flags.append("bad_type")
    return front_matter.shown_text(key)


def _greatest_version(raw_versions: list[str], flags: list[str]) -> str:
    if not raw_versions:
        flags.append("no_version")
        return skill_version.FIRST_VERSION
    try:
        return skill_version.stated_of(list(map(skill_version.parse_version, raw_versions)))
    except InvalidInput:
        flags.append("bad_version")
        return skill_version.FIRST_VERSION


def _metadata_without_front_matter(body: bytes, fallback_name: str, code: str) -> SkillMetadata:
    flags = f"{code} no_name no_description no_version"
    text = "" if code == "not_utf8" else summarize_body(body[: 4 * limits.MAX_DESCRIPTION_CHARS])
    return SkillMetadata(fallback_name, text, skill_version.FIRST_VERSION, flags)
