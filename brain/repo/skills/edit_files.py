"""Edit one file, of a skill or any other, as a function of its current content.

The change is a function from the old content to the new, called inside the transaction,
so two concurrent changes of a file happen one after the other and neither is lost. Manual
edits of the file are recorded first, and are part of the old content.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ...errors import NotFound, printable_text
from ...objects import bundle as bundles
from ...objects import operation, paths
from ...objects.bundle import Bundle, Edits
from ...objects.collisions import find_file, follow_link
from ...objects.tree_node import TreeEntry
from ...results import Recorded, Upserted
from ...skills import skill_document, skill_layout
from ...skills.slug import slugify
from .. import find_skill
from ..changes.snapshot_folder import build_snapshot_result
from ..changes.snapshot_paths import refuse_new_collisions
from ..core.transaction import locked_write_transaction
from ..open.session import Session
from ..revisions import resolve_revision
from .file_edits import (
    ContentChange,
    apply_change,
    plan_skill_folder,
    read_editable_content,
    refuse_skill_name,
    refuse_unwritable_path,
)
from .next_version import build_new_version
from .skill_files import record_upsert
from .upsert import locate_prior_text


def read_file(session: Session, path: str, revision: str = "@") -> bytes:
    """Return the content of a file at a revision; a link is followed within the brain.

    Raises `NotFound` (`no_path`, `dead_link`, `redacted`) or `InvalidInput` (`too_large`).
    """
    bundle, entry = _find_entry(session, path, revision)
    return read_editable_content(session, follow_link(session.nodes, bundle, session.reader, entry))


def read_stored_file(session: Session, path: str, revision: str = "@") -> bytes:
    """Return what is stored of a file, of a link the text of it. Raises as `read_file`."""
    return read_editable_content(session, _find_entry(session, path, revision)[1])


def _find_entry(session: Session, path: str, revision: str) -> tuple[Bundle, TreeEntry]:
    bundle, nodes = session.bundle_of(resolve_revision(session, revision)), session.nodes
    full = paths.check_path(path)
    entry = bundles.get_entry(nodes, bundle, full) or find_file(nodes, bundle, session.reader, full)
    if entry is None:
        raise NotFound(
            f"the file {printable_text(path)} does not exist",
            code="no_path",
            hint="`brain show` lists the files of the brain; give a path relative to its folder",
        )
    return bundle, entry


def edit_file(session: Session, path: str, change: ContentChange, message: str = "") -> Recorded:
    """Change a file; records no snapshot if its content stays the same. Raises as `edit_files`."""
    return edit_files(session, {path: change}, message)


def edit_files(
    session: Session, changes: Mapping[str, ContentChange], message: str = ""
) -> Recorded:
    """Change files by their paths, in one snapshot; none if their contents stay the same.

    Raises `InvalidInput` or `Conflict` for a path that cannot be a file of the brain, and
    what a change raises; then nothing changes.
    """
    for path in changes:
        refuse_unwritable_path(session, path)
    with locked_write_transaction(session, "snapshot", message or "snapshot") as txn:
        edits: Edits = {}
        for path, change in changes.items():
            edits.update(apply_change(txn, path, change))
        before = txn.bundle
        if edits:
            txn.record_snapshot(edits, operation.snapshot_operation(), message)
            refuse_new_collisions(txn, before, [path for path, entry in edits.items() if entry])
            txn.writes.update(edits)
    return build_snapshot_result(txn, before, edits, [])


def edit_skill(
    session: Session, text: str, inner: str, change: ContentChange, message: str = ""
) -> Upserted:
    """Change a file of a skill, or with `inner` "" its own text, and raise its version.

    `inner` is relative to the folder of the skill; a flat skill that gets its first file
    moves into a folder of its own. Raises as `edit_file` does, and `NotFound` (`no_skill`).
    """
    with locked_write_transaction(session, "upsert", f"edit {printable_text(text, 80)}") as txn:
        slug = "" if "/" in text else slugify(text)
        slug, path, prior_text = locate_prior_text(txn, text, slug, of=text)
        if prior_text is None:
            raise find_skill.missing_skill_error(session, txn.bundle, text)
        if not inner:
            content = change(prior_text) or b""
            build = partial(skill_document.replace_document, prior_text, slug, content)
            new = build_new_version(txn, slug, path, build)
            return record_upsert(txn, slug, path, new, None, message)
        home, edits = plan_skill_folder(txn, path)
        file = f"{home}/{inner}"
        refuse_unwritable_path(session, file)
        refuse_skill_name(inner)
        edits.update(apply_change(txn, file, change))
        build = partial(skill_document.replace_document, prior_text, slug, prior_text)
        new = build_new_version(txn, slug, path, build)
        before = txn.bundle
        main = f"{home}/{skill_layout.SKILL_FILES[0]}" if path in edits else path
        upserted = record_upsert(txn, slug, main, new, None, message, edits)
        refuse_new_collisions(txn, before, [main, file])
        return upserted
