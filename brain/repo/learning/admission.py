"""Decide which program may run: one that was admitted, and that this machine has tried.

A program is its exact bytes, whatever the skill is called and however they came. It may run if

1. a snapshot in the lineage of the head admits exactly these bytes,
2. each snapshot there that retires them has a later one that admits or reinstates them, and
3. this machine of this user has tried them.

In a proposal, 1 and 2 are about the head of the folder, for nobody has accepted the rest; only what
the open session itself had admitted runs there before. A clone, a pull or a merge brings 1, and
never 3.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ... import limits
from ...errors import Conflict, InvalidInput, NotAdmitted, NotFound, StoreError, printable_text
from ...objects.tree_node import LINK, TreeEntry
from ...programs import PROGRAM_FILE
from ...programs.needs import NEEDS_FILE, read_needs
from ...programs.program import Program, id_of_files, is_program_file
from ...skills import skill_layout
from ...skills.slug import slugify
from ...util import strict_json
from ...util.files import write_atomic
from ...verdicts.verdict import GATE_KINDS
from .. import lineage_cache, working_copy
from ..derive import read_decision_verdict
from ..derived_db import DecisionRow, program_key
from ..find_skill import FoundSkill, Skills
from ..lineage_cache import AncestorSet
from ..session import BrainState, Session, is_safe_cache_path


def list_program_entries(state: BrainState, skill: FoundSkill) -> list[TreeEntry]:
    """Return the entries of the program of a skill, by their full paths; empty without skill.py."""
    if skill.folder is None:
        return []
    start = len(skill.folder)
    entries = [
        entry for entry in Skills(state).entries(skill) if is_program_file(entry.path[start:])
    ]
    has_code = any(entry.path[start:] == PROGRAM_FILE for entry in entries)
    return entries if has_code else []


def find_program(state: BrainState, skill: FoundSkill) -> Program | None:
    """Return the program of a skill in a state, None if it has none.

    Raises `InvalidInput` (`bad_program`) for a program with a link in it, or beyond the limits,
    and `NotFound` for a redacted one.
    """
    session = state.session
    entries = list_program_entries(state, skill)
    if not entries:
        return None
    linked = next((entry.path for entry in entries if entry.kind == LINK), "")
    refuse_unusable_program(skill.slug, [entry.size for entry in entries], linked)
    start = len(skill.folder or "")
    blobs = list(dict.fromkeys(entry.blob for entry in entries))
    contents = dict(session.reader.read_small_blobs(blobs))
    files = {
        entry.path[start:]: contents[entry.blob]
        if entry.blob in contents
        else session.reader.read_blob(entry.blob, entry.size)
        for entry in entries
    }
    program = Program(slug=skill.slug, files=files)
    pinned = read_needs(program).resources
    resources: dict[str, bytes] = {}
    for path, blob in pinned.items():
        entry = state.get(f"{skill.folder}{path}")
        if entry is None or entry.kind == LINK or entry.blob.hex() != blob:
            raise InvalidInput(
                f"{path} of {skill.slug} is not the one that {NEEDS_FILE} names",
                code="bad_program",
                hint=f"acquire it again, with `brain evolve acquire {skill.slug} --folder`",
            )
        resources[path] = session.reader.read_blob(entry.blob, entry.size)
    return replace(program, resources=resources) if resources else program


def refuse_unusable_program(slug: str, sizes: list[int], linked: str = "") -> None:
    """Refuse a program by the sizes of its files, or for a file that is a link.

    Raises `InvalidInput` (`bad_program`).
    """
    reason = ""
    if linked:
        reason = f"{printable_text(linked)} is a link"
    elif len(sizes) > limits.MAX_PROGRAM_FILES:
        reason = f"it has more than {limits.MAX_PROGRAM_FILES} files"
    elif sum(sizes) > limits.MAX_PROGRAM_BYTES:
        reason = f"it has more than {limits.MAX_PROGRAM_BYTES} bytes"
    if reason:
        raise InvalidInput(
            f"the program of {slug} cannot run: {reason}",
            code="bad_program",
            hint="keep large data out of tests/, and files instead of links",
        )


STATE_DIR_VARIABLE = "BRAIN_STATE_DIR"
"""Environment variable that names another folder for the state of the user."""
_NAMES_PLACE = re.compile("BRAIN_.*(?:DIR|KEYS?|ROOTS|CONFIG|LEDGERS|FILE)")
_FOLDER = "admitted"
_MAX_FILE_BYTES = 64 << 10
_MAX_DEPTH = 8
_PLATFORM: str = sys.platform
_UNSAFE_MODE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """What the user approved for exactly one program, on this machine.

    `folders` and files that it may read, by name, folders that it may `write` to, `hosts` that it
    may ask, `secrets` that go into its requests, by name, and more time and memory than every
    program has.
    """

    folders: Mapping[str, str] = field(default_factory=dict)
    write: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    minutes: float = 0
    memory_mb: int = 0


NOTHING_APPROVED = Approvals()


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedProgram(Approvals):
    """A program that passed a trial on this machine: `program` is its id.

    `verdict` and `snapshot` are those of the admission.
    """

    program: bytes
    verdict: bytes
    snapshot: bytes

    def with_approvals(self, approved: Approvals) -> TriedProgram:
        """Return the same program with other approvals."""
        return replace(self, **{one.name: getattr(approved, one.name) for one in fields(Approvals)})


def read_tried_program(session: Session, program: bytes) -> TriedProgram | None:
    """Return what is noted about a program, None if it was not tried here."""
    path = _state_folder() / program.hex()
    try:
        if not _is_usable(session, path.parent):
            return None
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or not _is_own(found):
                return None
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError:
        return None
    return _parse(program, data) if len(data) <= _MAX_FILE_BYTES else None


def require_state_folder(session: Session) -> Path:
    """Return the folder of these files, made if need be.

    Raises `StoreError` (`bad_state_folder`) if others can write it, or `OSError`.
    """
    folder = _state_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_usable(session, folder):
        raise StoreError(
            f"{folder} is not a folder outside of the brain that you alone can"
            " write, so nothing can be admitted",
            code="bad_state_folder",
            hint=f"name another folder with {STATE_DIR_VARIABLE}",
        )
    return folder


def note_tried_program(session: Session, tried: TriedProgram) -> None:
    """Note a program that passed a trial; what was approved for it before stays.

    Raises as `require_state_folder`.
    """
    folder = require_state_folder(session)
    known = read_tried_program(session, tried.program)
    if known is not None:
        tried = tried.with_approvals(known)
    write_atomic(folder / tried.program.hex(), encode_tried(tried))


def list_own_places(session: Session) -> tuple[str, ...]:
    """Return the brain, and where this program keeps keys, settings, state and caches.

    No program of a skill sees them in an approved folder.
    """
    import platformdirs

    ways = (
        *(platformdirs.user_config_dir, platformdirs.user_data_dir),
        *(platformdirs.user_state_dir, platformdirs.user_cache_dir),
    )
    named = (path for name, path in os.environ.items() if _NAMES_PLACE.fullmatch(name) and path)
    return (
        str(session.root),
        *(way("brain") for way in ways),
        *map(os.path.abspath, named),
    )


def read_state_mark() -> int:
    """Return a number that changes when a program is noted or forgotten on this machine."""
    try:
        return os.stat(_state_folder()).st_mtime_ns
    except OSError:
        return 0


def encode_tried(tried: TriedProgram) -> bytes:
    """Return the text of the note that a program was tried here."""
    record = {one.name: getattr(tried, one.name) for one in fields(tried)}
    return (json.dumps(record, default=bytes.hex, indent=2, sort_keys=True) + "\n").encode()


def _parse(program: bytes, data: bytes) -> TriedProgram | None:
    try:
        record: Any = strict_json.parse_bounded(data, _MAX_DEPTH)
        folders, hosts = record["folders"], record["hosts"]
        # files of older versions have neither
        secrets, write = record.get("secrets", ()), record.get("write", {})
        texts = (*folders, *folders.values(), *write, *write.values(), *hosts, *secrets)
        if record["program"] != program.hex() or not all(isinstance(one, str) for one in texts):
            return None
        return TriedProgram(
            program=program,
            verdict=bytes.fromhex(record["verdict"]),
            snapshot=bytes.fromhex(record["snapshot"]),
            folders=folders,
            write=write,
            hosts=tuple(hosts),
            secrets=tuple(secrets),
            minutes=float(record.get("minutes", 0)),
            memory_mb=int(record.get("memory_mb", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_usable(session: Session, folder: Path) -> bool:
    """Tell whether a folder is the user's alone, and nothing that the brain records."""
    found = os.lstat(folder)
    is_own_folder = stat.S_ISDIR(found.st_mode) and _is_own(found)
    return is_own_folder and is_safe_cache_path(session.root, os.path.realpath(folder))


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _UNSAFE_MODE


def _state_folder() -> Path:
    named = os.environ.get(STATE_DIR_VARIABLE)
    if named:
        return Path(os.path.abspath(named), _FOLDER)
    if _PLATFORM == "linux":  # as platformdirs has it, without the 7 ms of importing it
        for name, below in (("XDG_STATE_HOME", "brain"), ("HOME", ".local/state/brain")):
            base = os.environ.get(name, "")
            if os.path.isabs(base):  # a relative one would depend on the current folder
                return Path(base, below, _FOLDER)
    import platformdirs

    return platformdirs.user_state_path("brain") / _FOLDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Runnable:
    """A program that may run, with its skill, and what was approved for it on this machine.

    `hidden` are places of the host that it does not see in an approved folder. `is_proposed` tells
    that nobody has accepted it.
    """

    program: Program
    skill: FoundSkill
    tried: TriedProgram
    hidden: tuple[str, ...] = ()
    is_proposed: bool = False


def find_runnable(session: Session, slug: str) -> Runnable:
    """Return the program of a skill, by its address, that may run.

    Raises `NotFound` (`no_skill`, `no_program`), `InvalidInput` (`bad_program`), `NotAdmitted` if
    it may not run, or `Conflict` (`retired`).
    """
    state = session.at()
    skill = find_skill_or_retired(state, slug)
    program = require_program(state, skill)
    if changed := find_changed_file(state, skill):
        raise NotAdmitted(
            f"{changed} was changed in the folder, so {skill.slug} does not run",
            hint=f"have the change tried and admitted with `brain evolve admit {skill.slug}`",
        )
    status, is_proposed, tried = find_status(session, program.id)
    if tried is None:
        raise NotAdmitted(
            f"{PROGRAM_FILE} of {skill.slug} does not run: it {_REASONS[status]}",
            hint=f"have it tried and admitted with `brain evolve admit {skill.slug}`",
        )
    hidden = list_own_places(session) if tried.folders else ()
    return Runnable(
        program=program, skill=skill, tried=tried, hidden=hidden, is_proposed=is_proposed
    )


RUNNABLE = "runnable"
"""The status of a program that may run."""
_REASONS = {
    "not_admitted": "was not admitted",
    "proposed": "is proposed, and nobody has accepted it",
    "not_tried": "was not tried on this machine",
}


def find_status(session: Session, program: bytes) -> tuple[str, bool, TriedProgram | None]:
    """Return whether a program may run, whether nobody has accepted it, and its note if it may."""
    is_proposed = find_admission(session, session.folder_head(), program) is None
    if is_proposed and find_admission(session, session.head(), program) is None:
        return "not_admitted", is_proposed, None
    if is_proposed and program not in session.own_programs:
        return "proposed", is_proposed, None
    tried = read_tried_program(session, program)
    return RUNNABLE if tried else "not_tried", is_proposed, tried


def find_skill_or_retired(state: BrainState, slug: str) -> FoundSkill:
    """Return a skill. Raises `NotFound` (`no_skill`) or `Conflict` (`retired`)."""
    skill = Skills(state).find_or_none(slug)
    if skill is not None:
        return skill
    retired = "" if "/" in slug else slugify(slug)
    main = f"{skill_layout.RETIRED_FOLDER}{retired}/{skill_layout.SKILL_FILES[0]}"
    if retired and state.has(main):
        raise Conflict(
            f"{retired} is retired",
            code="retired",
            hint=f"bring it back with `brain evolve reinstate {retired}`",
        )
    raise Skills(state).missing_error(slug)


def require_program(state: BrainState, skill: FoundSkill) -> Program:
    """Return the program of a skill. Raises `NotFound` (`no_program`) or `InvalidInput`."""
    program = find_program(state, skill)
    if program is None:
        raise NotFound(
            f"{skill.slug} has no {PROGRAM_FILE} to run",
            code="no_program",
            hint=f"read it with `brain skill view {skill.slug}`",
        )
    return program


def find_changed_file(state: BrainState, skill: FoundSkill) -> str:
    """Return the path of a file of a program that is not as recorded in the folder, "" if none."""
    entries = list_program_entries(state, skill) if state.session.has_folder else []
    for entry in entries:
        try:
            content = working_copy.read_if_unchanged(state, entry.path)
        except InvalidInput:  # something else is there
            content = None
        if content is None:
            return entry.path
    return ""


def find_admission(session: Session, head: bytes, program: bytes) -> DecisionRow | None:
    """Return the last decision in the lineage of `head` that lets a program run, None without.

    Cost: the decisions about the program, each O(log n) in the number of snapshots.
    """
    rows = _list_decisions(session, head, program)
    if not _has_admission(session, rows):
        return None
    retired = [row for row in rows if row.kind == "retire"]
    for row in reversed(rows):
        if row.kind == "retire":
            continue
        before = AncestorSet(session, row.snapshot)
        if all(other.snapshot in before for other in retired):
            return row
    return None


def was_admitted(session: Session, head: bytes, program: bytes) -> bool:
    """Tell whether a snapshot in the lineage of `head` admits a program, retired since or not."""
    return _has_admission(session, _list_decisions(session, head, program))


def _list_decisions(session: Session, head: bytes, program: bytes) -> list[DecisionRow]:
    inside = AncestorSet(session, head)
    rows = lineage_cache.read_decisions(session, program_key(program))
    return [row for row in rows if row.snapshot in inside]


def _has_admission(session: Session, rows: list[DecisionRow]) -> bool:
    return any(row.kind == "admit" and _has_proof(session, row) for row in rows)


def _has_proof(session: Session, row: DecisionRow) -> bool:
    """Tell whether the snapshot of an admission really names a verdict over its program."""
    verdict = read_decision_verdict(session, session.load_snapshot(row.snapshot))
    return (
        verdict is not None
        and id_of_files(verdict.files) == row.program
        and all(  # a person may accept that cases of a gate got worse
            verdict.decider == "person" and case.kind in GATE_KINDS for case in verdict.failed_cases
        )
    )
