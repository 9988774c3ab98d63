"""Plan a change of a skill: what an upsert would write, worked out without writing it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ... import limits
from ...digest import NO_DIGEST, blob_id
from ...errors import InvalidInput, NotFound, printable_text
from ...objects import paths
from ...programs import PROGRAM_FILE
from ...programs.program import Program, is_program_file
from ...skills import frontmatter, skill_layout
from ...skills.skill_metadata import SkillMetadata, read_skill_metadata
from ...skills.slug import is_slug, slugify
from ..changes.snapshot_paths import snapshot_paths
from ..core.transaction import WriteTransaction, locked_write_transaction
from ..open.session import Session
from ..read import skill_lookup
from ..read.case_paths import is_in_cases
from ..skills.upsert import NO_BASE_VERSION, UpsertRequest, locate_prior_text, write_skill
from .admission import find_program, list_program_entries, refuse_unusable_program


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRequest:
    """A new text or a new program of a skill; `base`, `description` and `body` as for an upsert.

    `files` are the whole new program, by path in the folder of the skill; empty keeps it.
    `category` is the folder below skills/ for a new skill.
    """

    name: str
    description: str | None = None
    body: bytes | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    base: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A skill before and after a change, at the snapshot `head`; nothing of it is written.

    `base_text` is None for a new skill, and `base` is then NO_BASE_VERSION. `program` is the one
    that it would have, `base_program` the present one, None without one. `is_equal` tells that
    the change changes nothing.
    """

    head: bytes
    slug: str
    path: str
    base: str
    base_text: bytes | None = field(repr=False)
    text: bytes = field(repr=False)
    base_program: Program | None
    program: Program | None
    is_equal: bool = False

    @property
    def base_blob(self) -> bytes:
        """The blob id of SKILL.md before, empty for a new skill."""
        return NO_DIGEST if self.base_text is None else blob_id(self.base_text)

    @property
    def text_blob(self) -> bytes:
        """The blob id of SKILL.md with the change."""
        return blob_id(self.text)

    @property
    def card(self) -> SkillMetadata:
        """Name, description and version with the change."""
        return read_skill_metadata(self.text, self.slug)


class _Planned(Exception):
    """Leaves the transaction of a plan, so that it records nothing."""


def plan_change(session: Session, request: ChangeRequest) -> PlannedChange:
    """Return what a change would make of a skill.

    A text for an earlier version is merged as an upsert does. Raises `InvalidInput` (`bad_change`)
    for files that are no program, and as `upsert_skill`.
    """
    _check_files(request)
    if request.body is not None and len(request.body) > limits.MAX_SKILL_BYTES:
        raise _bad_change(f"its text has {len(request.body)} bytes", "propose a shorter text")
    _record_folder(session, request.name)
    head = session.head()
    planned: list[PlannedChange] = []
    try:
        with locked_write_transaction(session, "plan", "plan") as txn:
            planned.append(_plan(txn, head, request))
            raise _Planned
    except _Planned:
        return planned[0]


def _record_folder(session: Session, name: str) -> None:
    """Record what the user changed in the folder of a skill, so that it is tried as it is."""
    path = skill_lookup.find_skill_path(session, session.bundle_of(session.head()), name)
    if path is not None and session.has_folder:
        is_folder = path.endswith(skill_layout.FOLDER_SUFFIXES)
        snapshot_paths(session, "", [path.rpartition("/")[0] if is_folder else path])


def _plan(txn: WriteTransaction, head: bytes, request: ChangeRequest) -> PlannedChange:
    name = request.name
    target = name if is_slug(name) or "/" in name else ""
    wanted = "" if "/" in name else slugify(name)
    slug, path, prior = locate_prior_text(txn, name, wanted, request.category, target)
    old = (
        None
        if prior is None
        else find_program(
            txn.session, txn.bundle, skill_lookup.load_skill(txn.session, txn.bundle, path)
        )
    )
    new = Program(slug=slug, files=dict(request.files)) if request.files else old
    upsert = UpsertRequest(
        name=name,
        description=request.description,
        body=request.body,
        base=request.base,
        category=request.category,
        of=target,
        if_changed=True,
    )
    if request.files and new is not None:
        upsert = upsert._replace(files=replace_program(txn, upsert, new))
    texts: list[bytes] = []
    base = NO_BASE_VERSION
    if prior is not None:
        base = skill_lookup.load_skill(txn.session, txn.bundle, path).card.version
    write_skill(txn, upsert._replace(check=lambda _before, after: texts.append(after)))
    return PlannedChange(
        head=head,
        slug=slug,
        path=path,
        base=base,
        base_text=prior,
        text=texts[0] if texts else prior or b"",
        base_program=old,
        program=new,
        is_equal=not texts,
    )


def replace_program(
    txn: WriteTransaction, request: UpsertRequest, program: Program
) -> dict[str, bytes | None]:
    """Return the files of a request with which the program of its skill becomes another."""
    session = txn.session
    files: dict[str, bytes | None] = {}
    skill = skill_lookup.find_skill_or_none(session, txn.bundle, request.of or program.slug)
    if skill is not None:
        start = len(skill.folder or "")
        entries = list_program_entries(session, txn.bundle, skill)
        files.update(dict.fromkeys(entry.path[start:] for entry in entries))
    files.update({**request.files, **program.files})
    return files


def _check_files(request: ChangeRequest) -> None:
    if not request.files:
        return
    for path in request.files:
        if not _is_program_path(path):
            raise _bad_change(
                f"{printable_text(path)} is no part of the program of a skill",
                "change the text of the skill, skill.py, schema.json and what is below tests/",
            )
    if PROGRAM_FILE not in request.files:
        raise _bad_change(f"its files lack {PROGRAM_FILE}", "give the whole program")
    refuse_unusable_program(request.name, list(map(len, request.files.values())))


def _is_program_path(path: str) -> bool:
    try:
        return is_program_file(paths.check_path(path)) and not is_in_cases(path)
    except InvalidInput:
        return False


def _bad_change(reason: str, hint: str) -> InvalidInput:
    return InvalidInput(f"the change cannot be tried: {reason}", code="bad_change", hint=hint)


def read_text_at(session: Session, snapshot: bytes, slug: str) -> bytes | None:
    """Return the SKILL.md of a skill by its slug, None if there is no such skill."""
    with suppress(InvalidInput):  # ambiguous
        skill = skill_lookup.find_skill_or_none(session, session.bundle_of(snapshot), slug)
        return None if skill is None else session.reader.read_blob(skill.blob)
    return None


def body_of(text: bytes) -> str:
    """Return the text of a SKILL.md without its front matter."""
    return frontmatter.load_leniently(text)[1].lstrip("\n")


def read_program_at(session: Session, snapshot: bytes, slug: str) -> Program | None:
    """Return the program of a skill by its slug, None without one that can be read."""
    bundle = session.bundle_of(snapshot)
    try:
        skill = skill_lookup.find_skill_or_none(session, bundle, slug)
        return None if skill is None else find_program(session, bundle, skill)
    except (InvalidInput, NotFound):  # ambiguous, too large or redacted
        return None
