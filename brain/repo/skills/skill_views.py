"""List skills, view one with its text, and check them against the rules."""

from __future__ import annotations

from functools import partial

from ... import limits
from ...errors import NotFound, printable_text
from ...objects.bundle import Bundle
from ...results import Skill, SkillFile, SkillProblem, SkillView
from ...skills import deceptive_names, frontmatter
from ...skills.skill_address import address_group, split_version
from ...skills.skill_lint import WARNING, check_skill
from ...skills.suggestions import suggest_names
from ..history.log import find_skill_at_version
from ..open.session import Session
from ..read import lookalikes, skill_lookup, skill_rows
from ..read.revisions import resolve_revision
from ..read.skill_lookup import FoundSkill
from . import edit_files
from .folder_skills import FolderSkills, read_folder_skills
from .skill_files import list_skill_entries

_MAX_NAMED_FILES = 20


def list_skills(session: Session, revision: str = "@") -> list[Skill]:
    """Return all skills at a revision, by slug, without reading bodies."""
    bundle = session.bundle_of(resolve_revision(session, revision))
    every = skill_lookup.find_all_skills(session, bundle)
    addresses = skill_lookup.address_all(found.path for found in every)
    lines = [Skill(*found.summary, addresses[found.path]) for found in every]
    return sorted(lines, key=lambda line: (line.slug, line.path))


def list_addresses(session: Session, slug: str, revision: str = "@") -> list[str]:
    """Return the addresses of the skills that share a slug at a revision, sorted."""
    bundle = session.bundle_of(resolve_revision(session, revision))
    group = skill_lookup.find_paths_with_slug(session, bundle, slug)
    return sorted(address_group(slug, group).values())


def _find_skill_version(session: Session, text: str, revision: str) -> tuple[bytes, FoundSkill]:
    skill, wanted = split_version(text)
    start = resolve_revision(session, revision)
    if wanted:
        return find_skill_at_version(session, start, skill, wanted)
    return start, skill_lookup.find_skill(session, session.bundle_of(start), text)


def view_skill(session: Session, text: str, revision: str = "@") -> SkillView:
    """Return one skill with its text; `text` may be SLUG@VERSION.

    Raises `NotFound` (`no_skill`, `no_version`).
    """
    snapshot_id, found = _find_skill_version(session, text, revision)
    files = list_skill_entries(session, session.bundle_of(snapshot_id), found)
    main = next(entry for entry in files if entry.path == found.path)
    content = session.reader.read_blob(main.blob, main.size)
    fields, body = frontmatter.load_leniently(content)
    return SkillView(
        *found.summary, snapshot_id.hex(), fields, body, [entry.path for entry in files]
    )


def read_skill_file(session: Session, text: str, inner: str = "", revision: str = "@") -> SkillFile:
    """Return a file of a skill, by default its own text; `text` may be SLUG@VERSION.

    Raises `NotFound` (`no_skill`, `no_version`, `no_file`) or `InvalidInput` (`too_large`).
    """
    snapshot_id, found = _find_skill_version(session, text, revision)
    entries = list_skill_entries(session, session.bundle_of(snapshot_id), found)
    home = found.folder or ""
    others = {e.path.removeprefix(home): e for e in entries if e.path != found.path}
    entry = others.get(inner)
    if inner and entry is None:
        raise missing_file_error(found.slug, inner, list(others))
    main = next(entry for entry in entries if entry.path == found.path)
    content = edit_files.read_editable_content(session, entry or main)
    return SkillFile(*found.summary, snapshot_id.hex(), inner, content, list(others))


def missing_file_error(slug: str, inner: str, files: list[str]) -> NotFound:
    """Return the error for a missing file of a skill, with names of its files."""
    near = suggest_names(inner, files) or files[:_MAX_NAMED_FILES]
    names = ", ".join(map(printable_text, near))
    return NotFound(
        f"{slug} has no file {printable_text(inner)}",
        code="no_file",
        hint=f"it has {names}" if near else "it has no files",
    )


def _choose_skill(
    session: Session, bundle: Bundle, every: list[FoundSkill], text: str
) -> FoundSkill:
    """Return the skill that `text` means; one that is in the folder only by slug or path."""
    exact = [found for found in every if text in (found.slug, found.path)]
    return exact[0] if len(exact) == 1 else skill_lookup.find_skill(session, bundle, text)


def check_skills(session: Session, texts: list[str], strict: bool) -> list[SkillProblem]:
    """Check skills of the folder, all or some, against agentskills.io.

    With `strict` by the rules of the specification, else by what clients need.
    """
    with read_folder_skills(session) as folder:
        return _check_folder_skills(session, folder, texts, strict)


def _check_folder_skills(
    session: Session, skills: FolderSkills, texts: list[str], strict: bool
) -> list[SkillProblem]:
    every = skill_lookup.find_all_skills(session, skills.bundle)
    chosen = [_choose_skill(session, skills.bundle, every, text) for text in texts] or every
    shared: dict[str, list[str]] = {}
    called: dict[str, list[str]] = {}
    for found in every:
        shared.setdefault(found.slug, []).append(found.path)
        skeleton = deceptive_names.name_skeleton(found.card.name or found.slug)
        called.setdefault(skeleton, []).append(found.path)
    stored = list({found.blob for found in chosen} - skills.contents.keys())
    content = dict(skill_rows.read_skill_contents(session, stored))
    content |= {blob: text for blob, text in skills.contents.items() if text is not None}
    out: list[SkillProblem] = []
    for found in chosen:
        report = partial(SkillProblem, found.slug, found.path)
        folder = found.path.split("/")[-2] if found.folder else None
        if found.blob not in content:
            size = f"more than {limits.MAX_SKILL_BYTES} bytes"
            out.append(report("too_large", "error", 0, size))
            continue
        out += [
            report(*row) for row in check_skill(found.path, content[found.blob], folder, strict)
        ]
        others = [path for path in shared[found.slug] if path != found.path]
        if others:
            message = f"shares its slug with {', '.join(map(printable_text, others))}"
            out.append(report("duplicate_slug", "error", 0, message))
        name = found.card.name or found.slug
        namesakes = called[deceptive_names.name_skeleton(name)]
        alike = [path for path in namesakes if path != found.path]
        if alike:
            message = lookalikes.describe_same_name(name, alike[:_MAX_NAMED_FILES])
            out.append(report(lookalikes.SAME_NAME_CODE, WARNING, 0, message))
    return out
