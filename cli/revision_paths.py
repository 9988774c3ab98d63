"""Arguments that name revisions and paths, which are separated as in git.

Paths are relative to where the user stands: to the folder of -C or BRAIN_DIR, else to the
current folder. What stands behind `--` is a path; without it, the first argument that names a
file, and all behind it, are paths. A skill is named where a revision is expected, too: SKILL
stands for its files, SKILL@VERSION for the snapshot that made that version, and its files there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from brain.errors import BrainError, InvalidInput, printable_text
from brain.skills.skill_layout import split_version

from .command import PATHS_AFTER_DASHES
from .context import App, current_directory


def split_terms(app: App, terms: Sequence[str], most_revisions: int) -> tuple[list[str], list[str]]:
    """Return revisions and paths of the brain; none of these stand for all.

    Raises `click.UsageError` for more than `most_revisions`.
    """
    behind = click.get_current_context().meta.get(PATHS_AFTER_DASHES)
    if behind is not None:
        count = len(terms) - behind
    else:
        count = next(
            (at for at, term in enumerate(terms) if not _is_revision(app, term)), len(terms)
        )
    if count > most_revisions:
        raise click.UsageError(
            f"{terms[most_revisions]!r} is one revision too many; paths stand behind --"
        )
    return list(terms[:count]), resolve_paths(app, terms[count:])


def _is_revision(app: App, term: str) -> bool:
    """Tell whether a term is a revision. Only one that is a file, too, is looked up."""
    if not term or not os.path.lexists(_base_folder(app) / term):
        return True
    try:
        for side in filter(None, term.split("..")):
            app.brain.history.resolve(side)
    except BrainError:
        return False
    raise click.UsageError(
        f"{term!r} is a revision and a file: write -- behind the revisions and before the paths"
    )


class NamedSkill(NamedTuple):
    """A skill that stands where a revision may: its files, and the snapshot of its version.

    `snapshot` and `version` are "" if no version was named, and `path` is a folder, or the file
    of a flat skill.
    """

    address: str
    snapshot: str
    path: str
    version: str = ""


def separate_skills(app: App, revisions: Sequence[str]) -> tuple[list[str], list[NamedSkill]]:
    """Return the revisions, with the snapshots of named versions in place, and the skills."""
    found: list[str] = []
    skills: list[NamedSkill] = []
    for term in revisions:
        skill = find_named_skill(app, term)
        if skill is None:
            found.append(term)
            continue
        skills.append(skill)
        if skill.snapshot:
            found.append(skill.snapshot)
    return found, skills


def find_named_skill(app: App, term: str) -> NamedSkill | None:
    """Return the skill that a term names; None for a revision, and for what is neither.

    A branch or a tag comes before a skill of its name.
    """
    if ".." in term or term.startswith("@"):
        return None
    try:
        app.brain.history.resolve(term)
    except InvalidInput as error:
        if error.code != "bad_revision":
            return None
    except BrainError:
        return None
    else:
        return None
    try:
        skill = app.brain.skills.read_file(term)
    except BrainError as error:
        if "@" in term or error.code not in ("no_skill", "bad_slug", "bad_name"):
            raise
        deleted = _find_deleted_skill(app, term)
        if deleted is None and not os.path.lexists(_base_folder(app) / term):
            _refuse_unknown(app, term)
        return deleted
    folder = skill.path.removesuffix("/SKILL.md").removesuffix("/skill.md")
    address, version = split_version(term)
    return NamedSkill(address, skill.snapshot if version else "", folder, version or "")


def _find_deleted_skill(app: App, term: str) -> NamedSkill | None:
    try:
        path = app.brain.skills.history(term)[0].path
    except BrainError:
        return None
    return NamedSkill(term, "", path.removesuffix("/SKILL.md").removesuffix("/skill.md"))


def _refuse_unknown(app: App, term: str) -> None:
    """Raise `InvalidInput` (`bad_revision`) with names like a term that names nothing, if any."""
    from brain.util.text import suggest_names

    files = [file.path for file in app.brain.files.list()]
    if "/" in term or term in files:
        return
    names = {one.address for one in app.brain.skills.list()}
    names.update(branch.name for branch in app.brain.branches.list().branches)
    names.update(tag.name for tag in app.brain.tags.list())
    near = suggest_names(term, sorted(names)) or [
        f"-- {path}" for path in suggest_names(term, files)
    ]
    if near:
        raise InvalidInput(
            f"'{printable_text(term, 80)}' is not a revision",
            code="bad_revision",
            hint=f"did you mean {', '.join(map(printable_text, near))}?",
        )


def is_path(app: App, term: str) -> bool:
    """Tell whether a term names files: of the folder, or with a slash."""
    if "/" in term:
        return True
    return os.path.lexists(_base_folder(app) / term) and not _is_revision(app, term)


def resolve_paths(app: App, arguments: Sequence[str]) -> list[str]:
    """Return paths relative to the brain; none if one of them is its top, that is all of it.

    Raises `InvalidInput` (`bad_path`) for a path outside the brain.
    """
    if not arguments:
        return []
    root, base = os.path.abspath(app.brain.root), _base_folder(app)
    resolved = [_relative_path(root, base, path) for path in arguments]
    return [] if "." in resolved else resolved


def _relative_path(root: str, base: Path, path: str) -> str:
    if not path or "\0" in path:
        raise InvalidInput(
            f"'{printable_text(path, 80)}' is not a path of a file or folder",
            code="bad_path",
            hint="give one such as skills/NAME/SKILL.md, relative to the current folder",
        )
    full = os.path.normpath(os.path.join(os.path.abspath(base), path))
    if not _is_inside(full, root):  # the folder or the path may go through a link
        folder, name = os.path.split(full)
        full, root = os.path.join(os.path.realpath(folder), name), os.path.realpath(root)
    if not _is_inside(full, root):
        raise InvalidInput(
            f"{printable_text(path, 200)} is outside the brain in {printable_text(root, 200)}",
            code="bad_path",
            hint="paths are relative to the current folder, or to the folder of -C",
        )
    return os.path.relpath(full, root).replace(os.sep, "/")


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _base_folder(app: App) -> Path:
    return Path(app.directory) if app.directory else current_directory()
