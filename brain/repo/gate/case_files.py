"""The cases of a brain: documents cases/NAME.yaml in the folders of skills.

A skill need not exist to have some: those of skills/SLUG/cases/ are its own once it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from ...errors import BrainError, InvalidInput
from ...gating.case_files import (
    HELD_OUT,
    MAX_CASE_BYTES,
    MAX_CASES,
    PRACTICE,
    Case,
    Expectation,
    parse_case,
)
from ...gating.held_out import canonical_json
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_entry import LINK, TreeEntry
from ...results import SkillCase
from ...skills import skill_layout
from ...skills.slug import slugify
from ..open.session import Session
from ..read import skill_lookup, skill_rows
from ..read.case_paths import CASES_FOLDER, slug_of_case, usual_folder


def read_cases(session: Session, slug: str) -> list[Case]:
    """Return the cases of a skill at the head, by path.

    Raises `InvalidInput` (`bad_case`, `wrong_split`) for a document that is no case, for more
    than `MAX_CASES`, and for two cases with one input.
    """
    bundle = session.bundle_of(session.head())
    found = [_read_case(session, entry) for entry in _list_entries(session, bundle, slug)]
    refuse_same_inputs(found)
    return found


def list_cases(session: Session, slug: str = "") -> list[SkillCase]:
    """Return the cases of a skill, or of all, at the head, by path."""
    bundle = session.bundle_of(session.head())
    entries = _list_entries(session, bundle, slug) if slug else _walk_all(session, bundle)
    return [_describe(session, entry) for entry in entries]


def read_held_out(session: Session, snapshot: bytes, path: str) -> list[Case]:
    """Return the held-out cases of the skill at a full path, which need not exist, by path.

    Documents that are no cases are left out; `list_cases` says what is wrong with them.
    """
    bundle = session.bundle_of(snapshot)
    slug = skill_rows.slug_from_full_path(path)
    own = path.rpartition("/")[0] + "/" if path.endswith(skill_layout.FOLDER_SUFFIXES) else ""
    found = []
    for entry in _walk_cases(session, bundle, filter(None, (own, usual_folder(slug)))):
        with suppress(BrainError):
            found.append(_read_case(session, entry))
    return sorted((case for case in found if case.is_held_out), key=lambda case: case.path)


def find_cases_folder(session: Session, bundle: Bundle, slug: str) -> str:
    """Return the folder of a skill that holds its cases, with a slash at the end.

    Raises `InvalidInput` (`ambiguous_skill`).
    """
    skill = skill_lookup.find_skill_or_none(session, bundle, slug)
    if skill is not None:
        return skill.folder or usual_folder(skill.slug)
    return usual_folder(slugify(slug))


def _list_entries(session: Session, bundle: Bundle, slug: str) -> list[TreeEntry]:
    folders = find_cases_folder(session, bundle, slug), usual_folder(slugify(slug))
    return _limit(list(_walk_cases(session, bundle, folders)))


def _walk_cases(session: Session, bundle: Bundle, folders: Iterable[str]) -> Iterator[TreeEntry]:
    """Yield the documents of the cases in the folders of one skill."""
    for folder in dict.fromkeys(folders):
        for entry in bundles.walk_below(session.nodes, bundle, folder + CASES_FOLDER):
            if slug_of_case(entry.path):
                yield entry


def _walk_all(session: Session, bundle: Bundle) -> Iterator[TreeEntry]:
    """Yield the documents of all cases, wherever the skills of the brain lie."""
    for entry in bundles.walk_entries(session.nodes, bundle):
        if slug_of_case(entry.path):
            yield entry


def _limit(entries: list[TreeEntry]) -> list[TreeEntry]:
    if len(entries) > MAX_CASES:
        raise InvalidInput(
            f"a skill has {len(entries)} cases, more than {MAX_CASES}",
            code="bad_case",
            hint="remove those that tell the least",
        )
    return entries


def _read_case(session: Session, entry: TreeEntry) -> Case:
    if entry.kind == LINK or entry.size > MAX_CASE_BYTES:
        reason = "is a link" if entry.kind == LINK else f"has {entry.size} bytes"
        raise InvalidInput(
            f"the document of a case {reason}",
            code="bad_case",
            hint=f"write a file of at most {MAX_CASE_BYTES} bytes",
        )
    content = session.reader.read_blob(entry.blob, entry.size)
    return parse_case(slug_of_case(entry.path), entry.path, entry.blob, content)


def refuse_same_inputs(cases: Iterable[Case]) -> None:
    """Refuse cases of one input, which would count as often. Raises `InvalidInput` (`bad_case`)."""
    seen: dict[bytes, Case] = {}
    for case in cases:
        first = seen.setdefault(canonical_json(case.input), case)
        if first is not case:
            raise InvalidInput(
                f"{case.name} and {first.name} have the same input",
                code="bad_case",
                hint="remove one of them",
            )


def _describe(session: Session, entry: TreeEntry) -> SkillCase:
    slug, name = slug_of_case(entry.path), entry.path.rpartition("/")[2].removesuffix(".yaml")
    try:
        case = _read_case(session, entry)
    except BrainError as error:
        return SkillCase(slug, name, entry.path, "", None, {}, "", problem=error.message)
    return SkillCase(
        slug=slug,
        name=case.name,
        path=entry.path,
        split=HELD_OUT if case.is_held_out else PRACTICE,
        input=case.input if isinstance(case.input, str) else dict(case.input),
        expect=_show_expectation(case.expect),
        source=case.source,
    )


def _show_expectation(expect: Expectation) -> dict[str, Any]:
    shown: dict[str, Any] = {"equals": expect.equals} if expect.has_equals else {}
    for name, value in (("contains", list(expect.contains)), ("excludes", list(expect.excludes))):
        if value:
            shown[name] = value
    return {**shown, "check": expect.check} if expect.check else shown
