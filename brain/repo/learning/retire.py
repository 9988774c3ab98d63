"""Retire a skill, and bring it back: each one snapshot that names its verdict.

A retired skill lies in skills/_retired/SLUG, where nothing is a skill. Its version stays, and goes
on when it comes back.

No rule rolls back or retires what a person pinned or wrote. A skill is pinned if manifest.yaml says
so. A person wrote it if the last snapshot that changed its text carries no receipt: the tools of
agents write as part of a run, which leaves a receipt, while commands and editors do not. A program
that a person's verdict admitted counts as a person's, too. A decision to retire or reinstate a
skill changes nothing about who wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from ...digest import NO_DIGEST
from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...objects.bundle import Edits
from ...ops import files, log
from ...ops.write_skill import (
    find_last_version,
    list_skill_files,
    plan_reverted_files,
    record_skill,
    refuse_nested_skills,
    upsert_result,
)
from ...programs.program import id_of_files
from ...results import Decided, Pinned
from ...skills import SKILLS_SECTION, skill_document, skill_layout, skill_version
from ...skills.skill_layout import split_version
from ...skills.skill_metadata import recorded_version
from ...skills.slug import slugify
from ...skills.strict_yaml import set_yaml_list
from ...verdicts.verdict import NamedNumber, ProgramFile, Verdict
from .. import derive, lineage_cache, manifest
from ..derive import read_decision_verdict
from ..derived_db import DecisionRow, skill_key
from ..find_skill import FoundSkill, Skills
from ..lineage_cache import AncestorSet
from ..manifest import MANIFEST_PATH, load_manifest
from ..session import BrainState, Session
from ..transaction import WriteTransaction, locked_write_transaction
from .admission import find_program, find_skill_or_retired, list_program_entries, was_admitted
from .record import describe_decision, store_verdict


class Decider(NamedTuple):
    """Who decides and why: `kind` is "person" or "rule", `name` that of the person or rule.

    `numbers` are what the decision counted, such as uses and failures. `tried` is the verdict of a
    gate that ends a provisional change, with the `contents` that it names.
    """

    kind: str
    name: str
    reason: str = ""
    numbers: tuple[NamedNumber, ...] = ()
    tried: Verdict | None = None
    contents: tuple[bytes, ...] = ()


DecisionCheck = Callable[[WriteTransaction], object]
"""Called within the transaction, after manual edits; if it raises, nothing is recorded."""


def _decide_as_author(session: Session, reason: str) -> Decider:
    return Decider("person", session.author or "the user", reason)


def retire_skill(session: Session, slug: str, reason: str = "", *, message: str = "") -> Decided:
    """Move a skill out of use, into skills/_retired; its version stays.

    The author decides, as a person, for `reason`. Raises `InvalidInput` (`no_reason`), `NotFound`
    (`no_skill`), or `Conflict` (`retired`, `holds_skills`).
    """
    return retire_by(session, slug, _decide_as_author(session, reason), message)


def retire_by(
    session: Session,
    slug: str,
    decider: Decider,
    message: str,
    check: DecisionCheck = lambda txn: None,
) -> Decided:
    """Retire a skill as `decider` decides; raises as `retire_skill`."""
    if not decider.reason:
        raise InvalidInput(
            "a skill is retired for a reason, and none is given",
            code="no_reason",
            hint="say in a line why it is not to be used any more",
        )
    with locked_write_transaction(session, "retire", f"retire {printable_text(slug, 80)}") as txn:
        skill = find_skill_or_retired(txn.state, slug)
        txn.record_edits_at(_list_retired_files(txn, skill.slug))
        txn.record_edits_below([skill.folder or skill.path])
        check(txn)
        skill = find_skill_or_retired(txn.state, slug)
        refuse_nested_skills(txn, skill, list_skill_files(txn, skill))
        edits: Edits = dict.fromkeys(_list_retired_files(txn, skill.slug))
        for entry in Skills(txn.state).entries(skill):
            path = _retired_path(skill, entry.path)
            edits[entry.path] = None
            edits[path] = entry._replace(path=path)
        verdict = _build_verdict(
            "retire", decider, skill.slug, _read_program_files(txn.state, skill)
        )
        version = skill.card.version
        recorded = recorded_version(skill.card)
        kind = (
            "retire",
            skill.slug,
            recorded,
            recorded,
            store_verdict(txn, verdict, decider.contents),
        )
        txn.record_snapshot(edits, kind, message)
        txn.writes.update(edits)
        path = _retired_path(skill, skill.path)
        name = skill.card.name or skill.slug
        result = upsert_result(txn, skill.slug, name, version, version, path)
    return describe_decision("retire", result, verdict)


def reinstate_skill(
    session: Session,
    slug: str,
    version: str | int = "",
    *,
    reason: str = "",
    message: str = "",
) -> Decided:
    """Bring a retired skill back, or the files of an earlier `version`, as its next version.

    `slug` may name the version, too: SKILL@VERSION. The author decides, as a person, for `reason`.
    Raises `NotFound` (`no_skill`, `no_version`), or `Conflict` (`not_retired`).
    """
    return reinstate_by(session, slug, version, _decide_as_author(session, reason), message)


def reinstate_by(
    session: Session,
    slug: str,
    version: str | int,
    decider: Decider,
    message: str,
    check: DecisionCheck = lambda txn: None,
    source: BrainState | None = None,
) -> Decided:
    """Reinstate a skill as `decider` decides; raises as `reinstate_skill`.

    `source` is the state that has that version, if several may.
    """
    slug, version = split_version(slug) if version == "" else (slug, str(version))
    shown = printable_text(slug, 80)
    description = f"reinstate {shown} at {version}" if version else f"reinstate {shown}"
    with locked_write_transaction(session, "reinstate", description) as txn:
        txn.record_edits_at(_plan_return(txn, slug, version, source)[3])
        check(txn)
        state, old, path, edits, current = _plan_return(txn, slug, version, source)
        slug = derive.slug_from_full_path(path)
        known = filter(None, [current, old.card.version, find_last_version(txn, slug)])
        previous = skill_version.greatest_version(list(known))
        new = skill_document.bump_document(session.reader.read_blob(old.blob), previous, slug)
        new = new._replace(name=old.card.name or slug, previous_version=current or None)
        files = _read_program_files(state, old)
        if files and not was_admitted(session, txn.head, id_of_files(files)):
            files = ()
        verdict = _build_verdict("reinstate", decider, slug, files)
        blob = store_verdict(txn, verdict, decider.contents)
        kind = ("reinstate", slug, current, new.version, blob)
        result = record_skill(txn, slug, path, new, message, edits, kind)
        return describe_decision("reinstate", result, verdict)


def _plan_return(
    txn: WriteTransaction, slug: str, version: str, source: BrainState | None
) -> tuple[BrainState, FoundSkill, str, Edits, str]:
    """Return how a skill comes back: a state, the skill in it, where its text goes, the edits.

    Last comes the version that it has, or had when it was retired, "" if it is gone.
    """
    present = Skills(txn.state).find_or_none(slug)
    # 1. The skill in the given state, at its version, or as it was retired; and its place.
    if source is not None:
        state, old, place = source, Skills(source).find(slug), present
    else:
        state, old, place = _find_source(txn, slug, version, present)
    # 2. The files that it had take the place of those that are there.
    path, edits = plan_reverted_files(txn, state, old, place)
    if present is None:
        edits = {file: entry for file, entry in edits.items() if entry is not None}
        edits.update(dict.fromkeys(_list_retired_files(txn, old.slug)))
    # 3. The version that it has, or had last.
    main = _find_retired_text(txn, old.slug)
    known = present or (main and Skills(txn.state).load(main))
    return state, old, path, edits, known.card.version if known else ""


def _find_source(
    txn: WriteTransaction, slug: str, version: str, present: FoundSkill | None
) -> tuple[BrainState, FoundSkill, FoundSkill | None]:
    """Return a state, the skill in it that comes back, and that skill where it is or was."""
    session = txn.session
    name = present.slug if present else slugify(slug)
    inside = AncestorSet(session, txn.head)
    rows = lineage_cache.read_decisions(session, skill_key(name))
    decisions = [row for row in reversed(rows) if row.snapshot in inside]
    retired = next((row for row in decisions if row.kind == "retire"), None)
    place = present or (_find_place_before(session, retired) if retired else None)
    if version:
        for row in decisions:
            if row.version == version and row.kind != "retire":
                state = session.state_of(row.snapshot)
                if skill := Skills(state).find_or_none(name):
                    return state, skill, place
        at, skill = log.find_skill_at_version(session, txn.head, name, version)
        return session.state_of(at), skill, place
    main = _find_retired_text(txn, name)
    if present is not None or not main:
        found = present or find_skill_or_retired(txn.state, slug)
        raise Conflict(
            f"{found.slug} is not retired",
            code="not_retired",
            hint=f"name a version to go back to; `brain log {found.slug}` lists them",
        )
    skill = Skills(txn.state).load(main)
    usual = f"{SKILLS_SECTION}/{skill.slug}/{skill_layout.SKILL_FILES[0]}"
    return txn.state, skill, place or skill._replace(path=usual)


def _find_place_before(session: Session, row: DecisionRow) -> FoundSkill | None:
    snapshot = session.load_snapshot(row.snapshot)
    before, after = session.parent_state(snapshot), session.state_of(row.snapshot)
    gone = [
        path
        for path, was, now in before.diff(after)
        if was and now is None and derive.is_skill(before, path)
    ]
    same = [path for path in gone if derive.slug_from_full_path(path) == row.slug]
    return Skills(before).load(same[0]) if same else None


def _list_retired_files(txn: WriteTransaction, slug: str) -> list[str]:
    folder = f"{skill_layout.RETIRED_FOLDER}{slug}"
    return [entry.path for entry in txn.state.walk_below(folder)]


def _find_retired_text(txn: WriteTransaction, slug: str) -> str:
    paths = [f"{skill_layout.RETIRED_FOLDER}{slug}/{name}" for name in skill_layout.SKILL_FILES]
    found = (path for path in paths if txn.state.has(path))
    return next(found, "")


def _retired_path(skill: FoundSkill, path: str) -> str:
    home = f"{skill_layout.RETIRED_FOLDER}{skill.slug}/"
    if skill.folder is None:
        return home + skill_layout.SKILL_FILES[0]
    return home + path[len(skill.folder) :]


def _build_verdict(
    decision: str, decider: Decider, slug: str, files: tuple[ProgramFile, ...]
) -> Verdict:
    verdict = Verdict(
        decision=decision,
        skill=slug,
        decider=decider.kind,
        decided_by=decider.name,
        reason=decider.reason,
        files=files,
        numbers=tuple(sorted(decider.numbers)),
    )
    if decider.tried is None:
        return verdict
    said = decider.tried._asdict()
    of_gate = ("numbers", "gate", "base", "text", "runner", "provisional", "continues")
    cases = tuple(decider.tried.gate_cases)
    return verdict._replace(cases=cases, **{name: said[name] for name in of_gate})


def _read_program_files(state: BrainState, skill: FoundSkill) -> tuple[ProgramFile, ...]:
    """Return the files of a program for a verdict; empty for one that cannot run anyway."""
    try:
        program = find_program(state, skill)
    except (InvalidInput, NotFound):
        return ()
    return () if program is None else tuple(ProgramFile(*row) for row in program.blobs)


def is_pinned(pinned: Collection[str], skill: FoundSkill) -> bool:
    """Tell whether the list of a manifest pins a skill, by its slug or its path."""
    names = {skill.slug, skill.path, (skill.folder or skill.path).rstrip("/")}
    return not names.isdisjoint(pinned)


def pin(session: Session, slug: str) -> Pinned:
    """Pin a skill: no rule rolls it back or retires it. The list is in the manifest.

    Nothing is recorded if it is pinned already. Raises `NotFound` (`no_skill`), or `InvalidInput`
    (`ambiguous_skill`, `bad_manifest`).
    """
    return _set_pinned(session, slug, True)


def unpin(session: Session, slug: str) -> Pinned:
    """End the pinning of a skill, which need not exist any more.

    Raises `NotFound` (`not_pinned`), else as `pin`.
    """
    return _set_pinned(session, slug, False)


def _set_pinned(session: Session, text: str, is_pinned: bool) -> Pinned:
    skills = Skills(session.at())
    skill = skills.find(text) if is_pinned else skills.find_or_none(text)
    name = text if skill is None else skill.path if is_pinned and "/" in text else skill.slug
    others = {text} | ({skill.slug, skill.path} if skill else set())
    names: list[str] = []

    def edit(content: bytes | None) -> bytes:
        before = manifest.parse_manifest(content or b"")
        if is_pinned:
            names[:] = [*before.pinned, *({name} - {*before.pinned})]
        else:
            names[:] = [one for one in before.pinned if one not in others]
        if names == list(before.pinned) and is_pinned:
            return content or b""
        if names == list(before.pinned):
            raise NotFound(
                f"{name} is not pinned",
                code="not_pinned",
                hint=f"pinned are: {', '.join(map(printable_text, before.pinned)) or 'none'}",
            )
        new = set_yaml_list((content or b"").decode("utf-8-sig"), "pinned", names).encode()
        if manifest.parse_manifest(new) != before._replace(pinned=tuple(names)):
            raise InvalidInput(
                f"the list of pinned skills in {MANIFEST_PATH} cannot be changed line by line",
                code="bad_manifest",
                hint="change it with an editor",
            )
        return new

    message = f"Pin {name}" if is_pinned else f"Unpin {text}"
    recorded = files.edit(session, MANIFEST_PATH, edit, message=printable_text(message, 120))
    return Pinned(name, names, recorded.snapshot, recorded.changed)


PINNED = "pinned"
WRITTEN_BY_PERSON = "written by a person"

_KEEPS_AUTHOR = ("retire", "reinstate")


def find_protection(state: BrainState, skill: FoundSkill) -> str:
    """Return why no rule may change a skill, "" if one may.

    A manifest that cannot be read protects every skill.
    """
    session = state.session
    try:
        if is_pinned(load_manifest(session).pinned, skill):
            return PINNED
    except InvalidInput as error:
        return error.message
    is_by_person = _was_written_by_person(session, skill) or (
        bool(list_program_entries(state, skill)) and _was_admitted_by_person(session, skill)
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
