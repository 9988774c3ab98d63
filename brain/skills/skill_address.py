"""The address of a skill: the text by which every command and tool finds it again.

It is the slug, or where several skills share a slug the path of the folder, or of the file
of a flat skill: `tools/search` for `skills/tools/search/SKILL.md`. A path that a line of
the index cannot show, or that would open another skill, is replaced by the slug and eight
digits of the digest of the path: `search~1f2e3d4c`. So an address depends on nothing but
the paths of the skills that share its slug.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from .. import limits
from ..digest import blob_id
from ..util.text import lazy_pattern
from . import SKILLS_SECTION, skill_layout
from .visible_text import fold_to_line

_DIGEST_DIGITS = 8
_DIGEST_ADDRESS = lazy_pattern(rf"([a-z0-9-]+)~[0-9a-f]{{{_DIGEST_DIGITS}}}")
_SECTION_PREFIX = f"{SKILLS_SECTION}/"
_MARKDOWN_SUFFIX = ".md"
_SEPARATORS = lazy_pattern(r"[:,] | \(|[▸▹]")
"""What separates the parts of a line or of a list of names."""


def address_group(slug: str, group: Collection[str]) -> dict[str, str]:
    """Return the addresses of all skills that share a slug, given and keyed by full path."""
    if len(group) == 1:
        return dict.fromkeys(group, slug)
    paths = set(group)
    return {path: _choose_address(slug, path, paths) for path in group}


def digest_address(slug: str, path: str) -> str:
    """Return the address that a skill has whatever other skills there are."""
    digest = blob_id(path.encode("utf-8", "surrogatepass")).hex()
    return f"{slug}~{digest[:_DIGEST_DIGITS]}"


def slug_of_digest_address(text: str) -> str:
    """Return the slug in a digest address, "" if `text` is not one."""
    found = _DIGEST_ADDRESS().fullmatch(text)
    return found[1] if found else ""


def path_candidates(text: str) -> list[str]:
    """Return the full paths of skills that a path may mean, the one that it means first.

    A path may be full or below skills/, that of the folder or of the file, and may lack
    the ending of a flat skill.
    """
    text = text.removeprefix("./").rstrip("/")
    places = (text, _SECTION_PREFIX + text)
    files = [place for place in places if place.lower().endswith(_MARKDOWN_SUFFIX)]
    return files + [
        candidate
        for place in places
        for candidate in (
            *(f"{place}/{spelling}" for spelling in skill_layout.SKILL_FILES),
            place + _MARKDOWN_SUFFIX,
        )
    ]


def split_version(text: str) -> tuple[str, str]:
    """Split SKILL@VERSION; the version is "" if none is given."""
    skill, at_sign, version = text.rpartition("@")
    if not at_sign or not skill or "/" in version:
        return text, ""
    return skill, version


def _choose_address(slug: str, path: str, group: set[str]) -> str:
    for text in _path_addresses(path):
        if _is_plain(text) and _first_of(path_candidates(text), group) == path:
            return text
    return digest_address(slug, path)


def _path_addresses(path: str) -> Iterator[str]:
    """Yield the texts that may address the skill at a full path, the best first."""
    folder, _, file = path.rpartition("/")
    if file in skill_layout.SKILL_FILES and not folder.lower().endswith(_MARKDOWN_SUFFIX):
        yield folder.removeprefix(_SECTION_PREFIX)
        yield folder
    yield path.removeprefix(_SECTION_PREFIX)
    yield path


def _is_plain(text: str) -> bool:
    """Tell whether a line of the index shows a path as it is, and a command takes it so."""
    return (
        "/" in text
        and text[0] != "-"
        and "@" not in text.rpartition("/")[2]
        and len(text) <= limits.MAX_SKILL_NAME_CHARS
        and fold_to_line(text) == text
        and not _SEPARATORS().search(text)
    )


def _first_of(candidates: Iterable[str], group: set[str]) -> str | None:
    return next((candidate for candidate in candidates if candidate in group), None)
