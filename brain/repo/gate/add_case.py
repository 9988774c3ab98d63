"""Add a case of a skill, as a person writes it or as a recorded run shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...digest import blob_id
from ...errors import Conflict, InvalidInput, printable_text
from ...gating.case_files import (
    HELD_OUT,
    MAX_CASES,
    PRACTICE,
    Expectation,
    encode_case,
    is_case_name,
    parse_case,
)
from ...gating.held_out import canonical_json
from ...results import CaseAdded
from ..open.session import Session
from ..read.case_paths import new_case_path, slug_of_case
from ..skills.edit_files import edit_file
from .case_files import find_cases_folder, list_cases

_NAME_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRequest:
    """A case to add; without a `name` it is named by its input."""

    slug: str
    input: Mapping[str, Any] | str
    expect: Expectation
    source: str = ""
    name: str = ""


def add_case(session: Session, request: CaseRequest) -> CaseAdded:
    """Write the document of a case, as one snapshot.

    Raises `InvalidInput` (`bad_case`, `bad_name`), or `Conflict` (`case_exists`) for an input
    that another case has.
    """
    content = encode_case(request.input, request.expect, request.source)
    name = request.name or blob_id(canonical_json(request.input)).hex()[:_NAME_DIGITS]
    if not is_case_name(name):
        raise InvalidInput(
            f"{printable_text(name, 80)!r} is not a name for a case",
            code="bad_name",
            hint="use lower-case letters, digits, '.', '_' and '-'",
        )
    folder = find_cases_folder(session, session.bundle_of(session.head()), request.slug)
    path = new_case_path(folder, name)
    case = parse_case(slug_of_case(path), path, blob_id(content), content)
    _refuse_another(session, request, path)

    def write(before: bytes | None) -> bytes:
        if before is not None and before != content:
            raise Conflict(
                f"there is another case {name} of {case.skill}",
                code="case_exists",
                hint="edit its file, or give another --name",
            )
        return content

    recorded = edit_file(session, path, write, f"Add a case of {case.skill}")
    return CaseAdded(
        slug=case.skill,
        name=name,
        path=path,
        split=HELD_OUT if case.is_held_out else PRACTICE,
        snapshot=recorded.snapshot,
        changed=recorded.changed,
    )


def _refuse_another(session: Session, request: CaseRequest, path: str) -> None:
    known = list_cases(session, request.slug)
    others = [case for case in known if case.path != path]
    if len(others) >= MAX_CASES:
        raise InvalidInput(
            f"{request.slug} has {len(others)} cases, as many as a skill may have",
            code="bad_case",
            hint="remove those that tell the least",
        )
    same = next((case for case in others if case.input == request.input), None)
    if same is not None:
        raise Conflict(
            f"the case {same.name} has the same input",
            code="case_exists",
            hint=f"edit {same.path}",
        )
