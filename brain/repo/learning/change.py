"""Changes that are learned: what is proposed, and the brain before and after it as two states.

A change is a set of edits: a skill whose cases decide about it, and with it any number of other
skills, memory and prompts. Planning writes the objects of the state afterwards to the store, where
content has its address, and moves no ref: nothing of the change is in the brain before it is
recorded, and what is never recorded is collected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import RLock

from ... import limits
from ...digest import NO_DIGEST, blob_id
from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...gating.case_files import Case
from ...gating.case_paths import is_in_cases, may_change
from ...objects import paths
from ...objects.bundle import Edits
from ...objects.tree_node import FILE, LINK, TreeEntry
from ...ops.files import build_edits, refuse_skill_name, refuse_unwritable_path
from ...ops.snapshot import snapshot
from ...ops.write_skill import NO_BASE_VERSION, PlannedText, plan_skill
from ...programs import PROGRAM_FILE
from ...programs.needs import NEEDS_FILE, read_needs
from ...programs.program import Program, is_program_file
from ...receipts import Receipt
from ...skills import SKILLS_SECTION, frontmatter, index_lines, skill_layout
from ...skills.skill_metadata import SkillMetadata, read_skill_metadata
from ...skills.slug import fold_to_slug, is_slug, slugify
from ...skills.visible_text import clean_text
from ...verdicts.verdict import ChangedFile
from ..find_skill import FoundSkill, Skills
from ..part import encode_body
from ..session import BrainState, Session
from ..transaction import WriteTransaction, locked_write_transaction
from .admission import (
    find_program,
    find_skill_or_retired,
    refuse_unusable_program,
    require_program,
)

MAX_TEXT_CHARS = 16_000
"""Characters of one text in a prompt."""


SCORING_FOLDERS = {"cases", "tasks", "evals"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEdit:
    """A new skill, or a new text or program of one.

    `body` and `description` are as for an upsert; None keeps them. `files` are the whole new
    program, by path in the folder of the skill; empty keeps the program. `resources` are other
    files of the folder, such as scripts; those that are not named stay, and what the needs of
    `files` name by content is among them. `base` is the version that the author has read, "" for
    the present one. `category` is the folder below skills/ for a new skill.
    """

    name: str
    description: str | None = None
    body: str | bytes | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    resources: Mapping[str, bytes] = field(default_factory=dict)
    base: str | int = ""
    category: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """A new content of a file of memory or prompts, by its full path; None removes it."""

    path: str
    content: str | bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedChange(SkillEdit):
    """A change that an evolver proposes; the cases of the skill decide about all of it.

    `evolver` is who proposes it: synthesis, patterns, gaps or person. `also` are edits of
    other skills, and of memory and prompts. `receipt` is the run in which it was made. `fault` is
    what the evolver has against its own program: it is kept as a rejected attempt, and never run.
    """

    evolver: str
    also: tuple[SkillEdit | FileEdit, ...] = ()
    message: str = ""
    receipt: Receipt | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """A change as two states, after the snapshot `head`.

    `text` is the skill whose cases decide; its edits are those of the whole change, but for its
    own text. `base` is its version before, NO_BASE_VERSION for a new one, and `base_path` where it
    is, "" for a new one. `program` is the one that it would have, `base_program` the present one,
    None without one. `contents` are those of the edits; `changes` are the files beside its text and
    its program.
    """

    head: bytes
    before: BrainState
    after: BrainState
    text: PlannedText
    base: str
    base_path: str
    base_program: Program | None
    program: Program | None
    contents: tuple[bytes, ...] = field(default=(), repr=False)
    changes: tuple[ChangedFile, ...] = ()

    @property
    def slug(self) -> str:
        """The skill whose cases decide."""
        return self.text.slug

    @property
    def path(self) -> str:
        """The full path of its text with the change."""
        return self.text.path

    @property
    def is_equal(self) -> bool:
        """Whether the change changes nothing."""
        return self.text.new is None

    @property
    def base_text(self) -> bytes | None:
        """The SKILL.md before, None for a new skill."""
        return self.text.prior_text

    @property
    def new_text(self) -> bytes:
        """The SKILL.md with the change."""
        return (self.text.prior_text or b"") if self.text.new is None else self.text.new.content

    @property
    def base_blob(self) -> bytes:
        """The blob id of SKILL.md before, empty for a new skill."""
        return NO_DIGEST if self.base_text is None else blob_id(self.base_text)

    @property
    def text_blob(self) -> bytes:
        """The blob id of SKILL.md with the change."""
        return blob_id(self.new_text)

    @property
    def card(self) -> SkillMetadata:
        """Name, description and version with the change."""
        return read_skill_metadata(self.new_text, self.slug)


def plan_change(session: Session, change: SkillEdit) -> PlannedChange:
    """Return what a change would make of the brain; manual edits are recorded first.

    A text for an earlier version is merged as an upsert does. Raises `InvalidInput` (`bad_change`)
    for what no change may touch, and as `upsert_skill`.
    """
    also = change.also if isinstance(change, ProposedChange) else ()
    edits = [change, *(one for one in also if isinstance(one, SkillEdit))]
    for edit in edits:
        _check_edit(edit)
    if session.has_folder:
        for edit in edits:
            _record_folder(session, edit.name)
    with locked_write_transaction(session, "snapshot", "Record manual edits") as txn:
        main, *others = [_plan_skill(txn, edit) for edit in edits]
        files = _plan_files(txn, [one for one in also if isinstance(one, FileEdit)])
        files |= _plan_others(txn, others)
        if main.new is not None:
            if {main.path, *main.edits} & files.keys():
                raise _bad_change(f"it edits {main.slug} twice", "name each skill once")
            main = main._replace(edits=main.edits | files)
        elif files:
            raise _bad_change(
                f"{main.slug} itself would stay as it is", "name a skill that it changes first"
            )
        program = _program_of(main.slug, change) if change.files else None
        home = main.path.rpartition("/")[0]
        listed = change.resources.keys() - (program.resources if program else {}).keys()
        own = main.edits.keys() & {f"{home}/{inner}" for inner in listed}
        changes = _describe(txn, files | {path: main.edits[path] for path in own})
        whole = {} if main.new is None else {**main.edits, main.path: _put_text(txn, main)}
        after = txn.state.edit(whole)
        txn.store_state(after)
        before, head = txn.state, txn.head
        contents = tuple(txn.contents.values())
        present = None
        if main.prior_text is not None:
            present = Skills(before).find(change.name)
        base_program = find_program(before, present) if present else None
        return PlannedChange(
            head=head,
            before=before,
            after=after,
            text=main,
            base=present.card.version if present else NO_BASE_VERSION,
            base_path=present.path if present else "",
            base_program=base_program,
            program=program or base_program,
            contents=contents,
            changes=tuple(changes),
        )


def _plan_others(txn: WriteTransaction, others: Iterable[PlannedText]) -> Edits:
    files: Edits = {}
    for other in others:
        if other.new is not None:  # a verdict lists contents, and no modes
            named = [one.path for one in _describe(txn, other.edits)]
            files |= {path: other.edits[path] for path in named}
            files[other.path] = _put_text(txn, other)
    if unfit := next((path for path in files if not may_change(path)), ""):
        raise _bad_change(
            f"{printable_text(unfit)} is in no folder of skills, memory or prompts",
            "edit it by itself",
        )
    return files


def _describe(txn: WriteTransaction, edits: Edits) -> list[ChangedFile]:
    if len(edits) > limits.MAX_VERDICT_CHANGES:
        hint = "propose less at once, or record some files before"
        raise _bad_change(f"it has {len(edits)} other files", hint)
    found = []
    for path, entry in sorted(edits.items()):
        before = txn.state.get(path)
        blobs = [NO_DIGEST if one is None else one.blob for one in (before, entry)]
        found.append(ChangedFile(path, *blobs))
    return [one for one in found if one.before != one.after]


def plan_acquired(session: Session, edit: SkillEdit) -> PlannedChange:
    """Return the plan to acquire a skill with a program.

    Raises `InvalidInput` (`bad_name`, `no_program`, `bad_program`, `bad_path`, `no_content`), or
    `Conflict` (`stale_base`) if its author had read another version.
    """
    skill = Skills(session.at()).find_or_none(edit.name)
    slug = skill.slug if skill else slugify(edit.name)
    others = [path for path in edit.files if not is_program_file(paths.check_path(path))]
    if others or PROGRAM_FILE not in edit.files:
        reason = (
            f"{printable_text(others[0])} is no part of one" if others else "it has no skill.py"
        )
        raise InvalidInput(
            f"the files are not all those of a program: {reason}",
            code="no_program",
            hint="give skill.py, schema.json and tests/cases.json, and what else is below tests/",
        )
    if skill is None and not edit.description:
        raise InvalidInput(
            f"a new skill, {slug}, needs a description",
            code="no_content",
            hint="say in one line when to use it",
        )
    refuse_stale_base(slug, skill, str(edit.base))
    return plan_change(session, replace(edit, base=""))


def plan_admitted(session: Session, slug: str) -> PlannedChange:
    """Record the folder of a skill, and return the plan to admit its program as it is.

    Raises `NotFound` (`no_skill`, `no_program`), `InvalidInput`, or `Conflict` (`retired`).
    """
    skill = find_skill_or_retired(session.at(), slug)
    planned = plan_change(session, SkillEdit(name=skill.path))
    if planned.program is None:
        require_program(planned.before, skill)
    return planned


def refuse_stale_base(slug: str, skill: FoundSkill | None, base: str) -> None:
    """Refuse to change a skill whose author has seen another version of it, "" if unknown."""
    version = NO_BASE_VERSION if skill is None else skill.card.version
    if base in ("", version):
        return
    if base == NO_BASE_VERSION:
        message = f"{slug} exists by now, at version {version}"
    elif skill is None:
        message = f"{slug} was removed after version {printable_text(base)}"
    else:
        message = f"{slug} is at version {version}, no longer at {printable_text(base)}"
    raise Conflict(
        message,
        code="stale_base",
        hint=f"read it with `brain skill view {slug}`, then improve it or choose another name",
    )


def _record_folder(session: Session, name: str) -> None:
    """Record what the user changed in the folder of a skill, so that it is tried as it is."""
    path = Skills(session.at()).find_path(name)
    if path is not None:
        is_folder = path.endswith(skill_layout.FOLDER_SUFFIXES)
        snapshot(session, "", [path.rpartition("/")[0] if is_folder else path], strict=True)


def _plan_skill(txn: WriteTransaction, edit: SkillEdit) -> PlannedText:
    target = edit.name if is_slug(edit.name) or "/" in edit.name else ""
    state = txn.state
    files: dict[str, bytes | None] = {**edit.files, **edit.resources}
    skill = Skills(state).find_or_none(edit.name) if files else None
    if skill and edit.files:  # the whole program: what else of it is there goes
        start = len(skill.folder or "")
        there = [entry.path[start:] for entry in Skills(state).entries(skill)]
        files = {**dict.fromkeys(filter(is_program_file, there)), **files}
    elif skill and (program := find_program(state, skill)):
        for path, content in edit.resources.items():
            if is_program_file(path) or program.resources.get(path, content) != content:
                raise _bad_change(f"its files lack {PROGRAM_FILE}", "give the whole program")
    return plan_skill(
        txn,
        edit.name,
        encode_body(edit.body),
        description=edit.description,
        base=str(edit.base),
        category=edit.category,
        target=target,
        if_changed=True,
        files=files,
    )


def _plan_files(txn: WriteTransaction, edits: Iterable[FileEdit]) -> Edits:
    wanted: dict[str, bytes | None] = {}
    for edit in edits:
        path = paths.check_path(edit.path)
        if path.startswith(f"{SKILLS_SECTION}/") or not may_change(path):
            raise _bad_change(
                f"{printable_text(path)} belongs to no memory and no prompts",
                "the manifest, the trust file and cases are for people alone",
            )
        refuse_skill_name(path)
        refuse_unwritable_path(txn.session, path)
        content = edit.content.encode() if isinstance(edit.content, str) else edit.content
        wanted[path] = content
    return build_edits(txn, wanted)


def _put_text(txn: WriteTransaction, planned: PlannedText) -> TreeEntry:
    assert planned.new is not None
    content = planned.new.content
    blob = txn.store_tx.put_blob(content)
    txn.contents[blob] = content
    was = txn.state.get(planned.path)
    return TreeEntry(
        planned.path, was.kind if was and was.kind != LINK else FILE, blob, len(content)
    )


def _check_edit(edit: SkillEdit) -> None:
    if edit.body is not None and len(edit.body) > limits.MAX_SKILL_BYTES:
        raise _bad_change(f"its text has {len(edit.body)} bytes", "propose a shorter text")
    if any(map(is_in_cases, edit.resources)):
        raise _bad_change("it has cases, which decide about it", "leave them out")
    if not edit.files:
        return
    if double := next(filter(is_program_file, edit.resources), ""):
        raise _bad_change(f"{printable_text(double)} is part of its program", "give it there")
    for path in edit.files:
        if not is_program_file(path) or is_in_cases(path):
            raise _bad_change(
                f"{printable_text(path)} is no part of the program of a skill",
                "change the text of the skill, skill.py, schema.json and what is below tests/",
            )
    if PROGRAM_FILE not in edit.files:
        raise _bad_change(f"its files lack {PROGRAM_FILE}", "give the whole program")
    program = _program_of(edit.name, edit)
    parts = {**program.files, **program.resources}
    refuse_unusable_program(edit.name, list(map(len, parts.values())))
    ids = {path: blob_id(content).hex() for path, content in program.resources.items()}
    if read_needs(program).resources != ids:
        raise _bad_change(f"{NEEDS_FILE} names other files beside it", "give exactly those")


def _program_of(slug: str, edit: SkillEdit) -> Program:
    program = Program(slug=slug, files=dict(edit.files))
    pinned = edit.resources.keys() & read_needs(program).resources.keys()
    return replace(program, resources={path: edit.resources[path] for path in sorted(pinned)})


def is_scoring(inner: str) -> bool:
    """Tell whether a file of a skill scores it, by its path in the folder: no change has it."""
    return inner.partition("/")[0] in SCORING_FOLDERS or is_in_cases(inner)


def _bad_change(reason: str, hint: str) -> InvalidInput:
    return InvalidInput(f"the change cannot be tried: {reason}", code="bad_change", hint=hint)


def read_workspace(session: Session, rev: str = "@") -> dict[str, bytes]:
    """Return the files at a revision that a learned change may edit, by path.

    Links and what scores are not among them.
    """
    return _read_workspace(session.at(rev))


def _read_workspace(state: BrainState) -> dict[str, bytes]:
    found = {}
    for entry in state.walk():
        if entry.kind == LINK or entry.size > limits.MAX_EDIT_BYTES or not may_change(entry.path):
            continue
        if not SCORING_FOLDERS & set(entry.path.split("/")):
            with suppress(NotFound):  # redacted
                found[entry.path] = state.session.reader.read_blob(entry.blob, entry.size)
    return found


def body_of(text: bytes) -> str:
    """Return the text of a SKILL.md without its front matter."""
    return frontmatter.load_leniently(text)[1].lstrip("\n")


class SkillsAt:
    """The skills of a state, as they are or with a change; `slug` is the one under test.

    `path` is that of its text: a state that no snapshot has is in no lineage where it could be
    found. `files` are shown in a prompt too, as far as they are there. `has_own`: whether the
    program of the skill under test counts; one that waits for its admission in place does not run
    before. `lock` keeps the session to one thread at a time.
    """

    def __init__(
        self,
        lock: RLock,
        state: BrainState,
        slug: str,
        path: str = "",
        files: Sequence[str] = (),
        *,
        has_own: bool = True,
    ) -> None:
        self.slug = slug
        self._has_own = has_own
        self._session = state.session
        self._lock = lock
        self._state = state
        self._path = path
        self._files = files
        self._found: dict[str, FoundSkill | None] = {}
        self._programs: dict[str, Program | None] = {}

    def text(self, slug: str) -> str | None:
        """Return the body of a skill; None if there is no such skill."""
        text = self._read_text(slug)
        return None if text is None else body_of(text)

    def program(self, slug: str) -> Program | None:
        """Return the program of a skill by its slug or the slug of its name.

        None without one that can be read.
        """
        slug = fold_to_slug(slug)
        with self._lock:
            if slug not in self._programs:
                skill = self._find(slug)
                if skill and skill.slug == self.slug and not self._has_own:
                    skill = None
                try:
                    found = skill and find_program(self._state, skill)
                except (InvalidInput, NotFound):  # too large or redacted
                    found = None
                self._programs[slug] = found
            return self._programs[slug]

    def files(self, slug: str) -> dict[str, bytes]:
        """Return the files of a skill by their paths in its folder, {} if there is no such skill.

        Cases, tasks and evals are left out: what works on a task must not see how it is scored.
        """
        text, files = self._read_text(slug), {}
        with self._lock:
            skill = self._find(slug)
            if text is None or skill is None:
                return {}
            start = len(skill.folder or "")
            for entry in Skills(self._state).entries(skill) if start else ():
                inner = entry.path[start:]
                if entry.kind != LINK and not is_scoring(inner):
                    files[inner] = self._session.reader.read_blob(entry.blob, entry.size)
        return {**files, "SKILL.md": text}

    def workspace(self) -> dict[str, bytes]:
        """Return all files that a learned change may edit; see `read_workspace`."""
        with self._lock:
            return _read_workspace(self._state)

    def prompt(self, case: Case) -> str:
        """Return the system prompt for a case: its skill, and the changed one if that is another.

        An agent has read both then; which ones it would choose is another question.
        """
        slugs = dict.fromkeys([case.skill, self.slug])
        texts = {slug: text for slug in slugs if (text := self._read_text(slug)) is not None}
        cards = {slug: read_skill_metadata(text, slug) for slug, text in texts.items()}
        lines = index_lines.format_lines(
            [
                (slug, index_lines.differing_name(slug, card.name or slug), card.description)
                for slug, card in cards.items()
            ]
        )
        parts = ["\n".join(["# Skills", "", *(lines or [index_lines.NO_MATCH])])]
        parts += [f"# Skill {slug}\n\n{_cut(body_of(text))}" for slug, text in texts.items()]
        parts += [f"# {path}\n\n{_cut(text)}" for path, text in self._read_files()]
        return "\n\n".join(parts) + "\n"

    def _read_files(self) -> Iterator[tuple[str, str]]:
        for path in self._files:
            with self._lock:
                entry = self._state.get(path)
                content = entry and self._session.reader.read_blob(entry.blob, entry.size)
            if content and b"\0" not in content:  # a text
                yield path, content.decode("utf-8", "replace")

    def _read_text(self, slug: str) -> bytes | None:
        with self._lock:
            found = self._find(slug)
            return found and self._session.reader.read_blob(found.blob)

    def _find(self, slug: str) -> FoundSkill | None:
        if slug not in self._found:
            self._found[slug] = self._look_up(slug)
        return self._found[slug]

    def _look_up(self, slug: str) -> FoundSkill | None:
        skills, own = Skills(self._state), None
        if self._path and self._state.has(self._path):
            own = skills.load(self._path)
        if own and slug == self.slug:
            return own
        try:
            found = skills.find_or_none(slug)
        except InvalidInput:  # ambiguous, or no name
            return None
        if own and (found is None or found.path == own.path or found.slug != slug):
            names = {self.slug, fold_to_slug(own.card.name)} - {""}
            return own if slug in names else None if found and found.path == own.path else found
        return found


def _cut(body: str) -> str:
    return clean_text(body).strip("\n")[:MAX_TEXT_CHARS]
