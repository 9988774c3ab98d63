"""Which skills no rule rolls back or retires: those that a person pinned or wrote.

A skill is pinned if manifest.yaml says so. A person wrote it if the last snapshot that changed its
text carries no receipt: the tools of agents write as part of a run, which leaves a receipt, while
commands and editors do not. A program that a person's verdict admitted counts as a person's, too.
A decision to retire or reinstate a skill changes nothing about who wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ...cache.decision_row import skill_key
from ...digest import NO_DIGEST
from ...errors import InvalidInput, NotFound, printable_text
from ...objects.bundle import Bundle
from ...results import Pinned
from ...skills.yaml_list import set_yaml_list
from ..history import log
from ..open import manifest
from ..open.manifest import MANIFEST_PATH, load_manifest
from ..open.session import Session
from ..read import lineage_cache, skill_lookup
from ..read.ancestor_set import AncestorSet
from ..read.decision_rows import read_decision_verdict
from ..read.skill_lookup import FoundSkill
from ..skills.edit_files import edit_file
from .admission import list_program_entries

_PinnedChange = Callable[[tuple[str, ...]], Sequence[str]]


def is_pinned(pinned: Collection[str], skill: FoundSkill) -> bool:
    """Tell whether the list of a manifest pins a skill, by its slug or its path."""
    names = {skill.slug, skill.path, (skill.folder or skill.path).rstrip("/")}
    return not names.isdisjoint(pinned)


def pin_skill(session: Session, text: str) -> Pinned:
    """Pin a skill; nothing is recorded if it is pinned already.

    Raises `NotFound` (`no_skill`), or `InvalidInput` (`ambiguous_skill`, `bad_manifest`).
    """
    skill = skill_lookup.find_skill(session, session.bundle_of(session.head()), text)
    name = skill.path if "/" in text else skill.slug

    def add(pinned: tuple[str, ...]) -> Sequence[str]:
        return pinned if name in pinned else (*pinned, name)

    return _edit_pinned(session, name, add, f"Pin {name}")


def unpin_skill(session: Session, text: str) -> Pinned:
    """End the pinning of a skill, which need not exist any more.

    Raises `NotFound` (`not_pinned`), or `InvalidInput` (`ambiguous_skill`, `bad_manifest`).
    """
    skill = skill_lookup.find_skill_or_none(session, session.bundle_of(session.head()), text)
    names = {text} | ({skill.slug, skill.path} if skill else set())

    def remove(pinned: tuple[str, ...]) -> Sequence[str]:
        if names.isdisjoint(pinned):
            raise NotFound(
                f"{printable_text(text)} is not pinned",
                code="not_pinned",
                hint=f"pinned are: {', '.join(map(printable_text, pinned)) or 'none'}",
            )
        return [name for name in pinned if name not in names]

    return _edit_pinned(session, skill.slug if skill else text, remove, f"Unpin {text}")


def _edit_pinned(session: Session, name: str, change: _PinnedChange, message: str) -> Pinned:
    names: list[str] = []

    def edit(content: bytes | None) -> bytes:
        text = content or b""
        names[:] = change(manifest.parse_manifest(text).pinned)
        return _write_pinned(text, names)

    recorded = edit_file(session, MANIFEST_PATH, edit, printable_text(message, 120))
    return Pinned(name, list(names), recorded.snapshot, recorded.changed)


def _write_pinned(content: bytes, names: Sequence[str]) -> bytes:
    """Return a manifest with another list of pinned skills. Raises `InvalidInput`."""
    before = manifest.parse_manifest(content)
    if list(before.pinned) == list(names):
        return content
    new = set_yaml_list(content.decode("utf-8-sig"), "pinned", names).encode()
    if manifest.parse_manifest(new) != before._replace(pinned=tuple(names)):
        raise InvalidInput(
            f"the list of pinned skills in {MANIFEST_PATH} cannot be changed line by line",
            code="bad_manifest",
            hint="change it with an editor",
        )
    return new


PINNED = "pinned"
WRITTEN_BY_PERSON = "written by a person"

_KEEPS_AUTHOR = ("retire", "reinstate")


def find_protection(session: Session, bundle: Bundle, skill: FoundSkill) -> str:
    """Return why no rule may change a skill, "" if one may.

    A manifest that cannot be read protects every skill.
    """
    try:
        if is_pinned(load_manifest(session).pinned, skill):
            return PINNED
    except InvalidInput as error:
        return error.message
    is_by_person = _was_written_by_person(session, skill) or (
        bool(list_program_entries(session, bundle, skill))
        and _was_admitted_by_person(session, skill)
    )
    return WRITTEN_BY_PERSON if is_by_person else ""


def _was_written_by_person(session: Session, skill: FoundSkill) -> bool:
    for row in reversed(log.find_skill_changes(session, session.head(), skill.path)):
        snapshot = session.load_snapshot(row.snapshot)
        if snapshot.operation[0] not in _KEEPS_AUTHOR:
            return snapshot.receipt == NO_DIGEST
    return True


def _was_admitted_by_person(session: Session, skill: FoundSkill) -> bool:
    """Tell whether a person decided the last admission; without one nobody did."""
    inside = AncestorSet(session, session.head())
    rows = lineage_cache.read_decisions(session, skill_key(skill.slug))
    admissions = [row for row in rows if row.kind == "admit" and row.snapshot in inside]
    if not admissions:
        return False
    verdict = read_decision_verdict(session, session.load_snapshot(admissions[-1].snapshot))
    return verdict is not None and verdict.decider == "person"
