"""Find the program of a skill in a bundle: the exact bytes of skill.py, its schema and tests."""

from __future__ import annotations

from ... import limits
from ...errors import InvalidInput, printable_text
from ...objects.bundle import Bundle
from ...objects.tree_entry import LINK, TreeEntry
from ...programs import PROGRAM_FILE
from ...programs.program import Program, is_program_file
from ..open.session import Session
from ..read import skill_lookup
from ..read.skill_lookup import FoundSkill


def list_program_entries(session: Session, bundle: Bundle, skill: FoundSkill) -> list[TreeEntry]:
    """Return the entries of the program of a skill, by their full paths; empty without skill.py."""
    if skill.folder is None:
        return []
    start = len(skill.folder)
    entries = [
        entry
        for entry in skill_lookup.list_skill_entries(session, bundle, skill)
        if is_program_file(entry.path[start:])
    ]
    has_code = any(entry.path[start:] == PROGRAM_FILE for entry in entries)
    return entries if has_code else []


def find_program(session: Session, bundle: Bundle, skill: FoundSkill) -> Program | None:
    """Return the program of a skill in a bundle, None if it has none.

    Raises `InvalidInput` (`bad_program`) for a program with a link in it, or beyond the limits,
    and `NotFound` for a redacted one.
    """
    entries = list_program_entries(session, bundle, skill)
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
    return Program(slug=skill.slug, files=files)


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
