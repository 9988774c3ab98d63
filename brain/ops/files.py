"""Read recorded files, and edit them as functions of their current content.

The change is a function from the old content to the new, called inside the transaction,
so two concurrent changes of a file happen one after the other and neither is lost. Manual
edits of the file are recorded first, and are part of the old content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .. import limits
from ..errors import Conflict, InvalidInput, NotFound, printable_text
from ..objects import paths
from ..objects.bundle import Edits
from ..objects.collisions import find_file, follow_link
from ..objects.tree_node import EXECUTABLE, FILE, LINK, TreeEntry
from ..repo import working_copy
from ..repo.session import BrainState, Session
from ..repo.transaction import WriteTransaction, locked_write_transaction, refuse_long_names
from ..skills import skill_layout

if TYPE_CHECKING:
    from ..results import Recorded

ContentChange = Callable[[bytes | None], bytes | None]
"""Takes the content of a file and returns the new one; None stands for a missing file.

If it raises, nothing is recorded.
"""
SkillFiles = Mapping[str, bytes | None]
"""New contents by path in the folder of a skill; None removes the file."""


class ExecutableContent(bytes):
    """The content of a file that may be executed.

    Of other contents, a new one may if it begins with #!, and a file that exists stays as it is.
    """


def read(session: Session, path: str, rev: str = "@") -> bytes:
    """Return the content of a file at a revision; a link is followed within the brain.

    Raises `NotFound` (`no_path`, `dead_link`, `redacted`) or `InvalidInput` (`too_large`).
    """
    state, entry = _find_entry(session, path, rev)
    return read_editable_content(session, follow_link(state, session.reader, entry))


def read_stored(session: Session, path: str, rev: str = "@") -> bytes:
    """Return what is stored of a file: of a link, the text that says where it leads.

    Raises `NotFound` (`no_path`, `redacted`) or `InvalidInput` (`too_large`).
    """
    return read_editable_content(session, _find_entry(session, path, rev)[1])


def _find_entry(session: Session, path: str, rev: str) -> tuple[BrainState, TreeEntry]:
    state = session.at(rev)
    full = paths.check_path(path)
    entry = state.get(full) or find_file(state, session.reader, full)
    if entry is None:
        raise NotFound(
            f"the file {path} does not exist",
            code="no_path",
            hint="`brain show` lists the files of the brain; give a path relative to its folder",
        )
    return state, entry


def edit(session: Session, path: str, change: ContentChange, *, message: str = "") -> Recorded:
    """Replace a file by `change(old)`, and record a snapshot of this file alone.

    `change` gets the content, None for a new file, and returns the new content, None
    to remove the file. It runs under the write lock and sees edits that were made in the
    folder since the last snapshot. If it raises, nothing changes. Raises `InvalidInput`
    or `Conflict` for a path that a brain cannot hold.
    """
    return _edit_all(session, {path: change}, message)


def write(session: Session, path: str, content: bytes | str, *, message: str = "") -> Recorded:
    """Write a file and record a snapshot of it. Raises as `edit`."""
    data = content.encode() if isinstance(content, str) else content
    return _edit_all(session, {path: lambda _: data}, message)


def write_all(
    session: Session, files: Mapping[str, bytes | None], *, message: str = ""
) -> Recorded:
    """Write files by their paths, None removes one, as one snapshot. Raises as `edit`."""
    changes = {path: lambda _, content=content: content for path, content in files.items()}
    return _edit_all(session, changes, message)


def remove(session: Session, path: str, *, message: str = "") -> Recorded:
    """Remove a file and record a snapshot of that. Raises as `edit`."""
    return _edit_all(session, {path: lambda _: None}, message)


def _edit_all(session: Session, changes: Mapping[str, ContentChange], message: str) -> Recorded:
    from .snapshot import build_snapshot_result

    for path in changes:
        refuse_unwritable_path(session, path)
    with locked_write_transaction(session, "snapshot", message or "snapshot") as txn:
        edits: Edits = {}
        for path, change in changes.items():
            edits.update(apply_change(txn, path, change))
        before = txn.state
        if edits:
            txn.record_snapshot(edits, ("snapshot",), message)
            txn.writes.update(edits)
    return build_snapshot_result(txn, before, edits, [])


def plan_skill_files(txn: WriteTransaction, path: str, files: SkillFiles) -> tuple[str, Edits]:
    """Return the path of a skill that gets `files`, and the edits of these.

    `path` is where its text is, or will be; a flat skill moves into a folder of its own. Manual
    edits of the files are recorded first. Raises `InvalidInput` or `Conflict`, as `apply_change`
    does.
    """
    size = sum(len(content) for content in files.values() if content is not None)
    hint = "write them to the folder, and record them with `brain snapshot`"
    _refuse_many("the upsert", len(files), size, hint)
    is_flat = not path.endswith(skill_layout.FOLDER_SUFFIXES)
    home = path.removesuffix(".md") if is_flat else path.rpartition("/")[0]
    wanted = {f"{home}/{inner}": content for inner, content in files.items()}
    for inner, file in zip(files, wanted, strict=True):
        refuse_unwritable_path(txn.session, file)
        refuse_skill_name(inner)
    if not is_flat:
        return path, build_edits(txn, wanted)
    if all(content is None for content in files.values()):
        return path, {}
    _, moved = plan_skill_folder(txn, path)
    return f"{home}/{skill_layout.SKILL_FILES[0]}", {**moved, **build_edits(txn, wanted)}


def _refuse_many(what: str, files: int, size: int, hint: str) -> None:
    if files > (most := limits.MAX_WRITTEN_FILES):
        raise InvalidInput(
            f"{what} has {files} files, more than {most}", code="too_many", hint=hint
        )
    if size > (most := limits.MAX_EDIT_BYTES):
        raise InvalidInput(
            f"{what} has {size} bytes, more than {most}", code="too_large", hint=hint
        )


def build_edits(txn: WriteTransaction, wanted: SkillFiles) -> Edits:
    """Return the edits that give files at full paths their contents; raises as `apply_change`."""
    txn.record_edits_at(wanted)
    edits: Edits = {}
    for file, content in wanted.items():
        edits.update(_build_edit(txn, file, content))
    return edits


def plan_skill_folder(txn: WriteTransaction, path: str) -> tuple[str, Edits]:
    """Return the folder of a skill, and the edits that move a flat skill there.

    Raises `Conflict` (`path_conflict`) for a flat skill beside a folder of its name.
    """
    session = txn.session
    home, _, name = path.rpartition("/")
    if name.lower() == "skill.md":
        return home, {}
    home = path[: -len(".md")]
    main = f"{home}/{skill_layout.SKILL_FILES[0]}"
    in_use = any(True for _ in txn.state.walk_below(home))
    if in_use or (session.has_folder and working_copy.find_candidate(session, main) is not None):
        raise Conflict(
            f"{path} cannot move into the folder of its name, which is in use",
            code="path_conflict",
            hint="write the text of the file into the skill itself",
        )
    return home, {path: None} if txn.state.has(path) else {}


def refuse_skill_name(inner: str) -> None:
    """Refuse a file of a skill that would be a skill itself. Raises `InvalidInput` (`bad_path`)."""
    if inner.rpartition("/")[2] in skill_layout.SKILL_FILES:
        raise InvalidInput(
            f"{inner} in a skill would be a skill itself",
            code="bad_path",
            hint="choose another name, or create the skill by its own name",
        )


def apply_change(txn: WriteTransaction, path: str, change: ContentChange) -> Edits:
    """Return the edit that a change makes of the file at the full `path`; store its content.

    Manual edits of the file are recorded first. Raises `InvalidInput` (`not_regular`,
    `too_large`) or `Conflict` (`path_conflict`).
    """
    session = txn.session
    now = working_copy.read_if_unchanged(txn.state, path)
    if now is None:
        txn.record_edits_at([path])
    was = txn.state.get(path)
    _refuse_link(path, was)
    if was is not None and now is None:
        now = read_editable_content(session, was)
    new = change(now)
    return {} if new == now else _build_edit(txn, path, new)


def _build_edit(txn: WriteTransaction, path: str, content: bytes | None) -> Edits:
    """Return the edit that gives a file its content, empty if it has that; store the content."""
    state = txn.state
    was = state.get(path)
    _refuse_link(path, was)
    if content is None:
        return {path: None} if was is not None else {}
    blob = txn.store_tx.put_blob(content)
    kind = was.kind if was else EXECUTABLE if content.startswith(b"#!") else FILE
    if isinstance(content, ExecutableContent):
        kind = EXECUTABLE
    if was is not None and (was.kind, was.blob) == (kind, blob):
        return {}
    inside = any(entry.path != path for entry in state.walk_below(path))
    if inside or any(state.get(outer) is not None for outer in paths.folders_above(path)):
        raise Conflict(
            f"{path} cannot be both a file and a folder",
            code="path_conflict",
            hint="choose another name",
        )
    txn.contents[blob] = content
    return {path: TreeEntry(path, kind, blob, len(content))}


def _refuse_link(path: str, was: TreeEntry | None) -> None:
    if was is not None and was.kind == LINK:
        raise InvalidInput(
            f"{path} is a link, which is not edited as text",
            code="not_regular",
            hint="edit the file that it points to",
        )


def read_editable_content(session: Session, entry: TreeEntry) -> bytes:
    """Return the content of a file. Raises `InvalidInput` (`too_large`) or `NotFound`."""
    if entry.size > limits.MAX_EDIT_BYTES:
        raise InvalidInput(
            f"{entry.path} has {entry.size} bytes",
            code="too_large",
            hint=f"files of up to {limits.MAX_EDIT_BYTES} bytes are read as a whole",
        )
    return session.reader.read_blob(entry.blob, entry.size)


def refuse_unwritable_path(session: Session, path: str) -> None:
    """Refuse a path that the brain ignores, or that leads through a link.

    Raises `InvalidInput` (`bad_path`, `left_out`, `name_too_long`, `unsafe_path`, …).
    """
    from ..folder.ignore import IgnoreRules

    if IgnoreRules.load(session.root).excludes(paths.check_path(path)):
        raise InvalidInput(
            f"{path} has a name that is left out of a brain",
            code="left_out",
            hint="choose another name, or allow it in .brainignore",
        )
    refuse_long_names(session, [path])
    working_copy.refuse_unsafe_parents(session, path)


def read_skill_folder(folder: str | Path) -> tuple[bytes, dict[str, bytes]]:
    """Return the text of a skill in a folder and its other files, as `upsert` takes them.

    What a brain ignores is left out. Raises `NotFound` (`no_file`) without a SKILL.md, or
    `InvalidInput` (`not_regular`, `link_outside`, `too_many`, `too_large`).
    """
    from ..folder import scan
    from ..folder.ignore import IgnoreRules
    from ..folder.read import read_working_file

    folder = Path(folder)
    shown, put_there = printable_text(folder), "put the file itself there"
    scanned = scan.scan_files(folder, IgnoreRules.load(folder), None)
    for error in scanned.skipped.values():
        raise error
    for notice in scanned.notices:  # a scan leaves out what a reader of one folder must not miss
        if notice.code in ("link_outside", "not_regular"):
            problem = notice.message.removeprefix("left out: ")
            raise InvalidInput(problem, code=notice.code, hint=put_there)
    found = scanned.changed
    text = next((file.path for file in found if file.path in skill_layout.SKILL_FILES), None)
    if text is None:
        raise NotFound(
            f"{shown} has no {skill_layout.SKILL_FILES[0]}",
            code="no_file",
            hint="name the folder of a skill, or the file with its text",
        )
    if linked := [file.path for file in found if file.kind == LINK]:
        raise InvalidInput(f"{folder / linked[0]} is a link", code="not_regular", hint=put_there)
    hint = "copy it below skills/, and record it with `brain snapshot`"
    _refuse_many(shown, len(found), sum(file.size for file in found), hint)
    contents = {file.path: read_working_file(folder, file.path) for file in found}
    executable = {file.path for file in found if file.kind == EXECUTABLE}
    contents |= {path: ExecutableContent(contents[path]) for path in executable}
    return contents.pop(text), contents
