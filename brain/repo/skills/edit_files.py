"""Edit one file, of a skill or any other, as a function of its current content.

The change is a function from the old content to the new, called inside the transaction,
so two concurrent changes of a file happen one after the other and neither is lost. Manual
edits of the file are recorded first, and are part of the old content.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ... import limits
from ...errors import Conflict, InvalidInput, NotFound, printable_text
from ...objects import bundle as bundles
from ...objects import operation, paths
from ...objects.bundle import Edits
from ...objects.tree_entry import FILE, LINK, TreeEntry
from ...results import Recorded, Upserted
from ...skills import skill_document, skill_layout
from ...skills.slug import slugify
from ...worktree.scan_paths import is_path_ignored
from ..changes.snapshot_folder import build_snapshot_result
from ..changes.snapshot_paths import parent_folders, refuse_new_collisions
from ..core import working_copy
from ..core.pending_writes import refuse_long_names
from ..core.transaction import WriteTransaction, locked_write_transaction
from ..open.session import Session
from ..read import skill_lookup
from ..read.revisions import resolve_revision
from .next_version import build_new_version
from .skill_files import record_edits_at, record_upsert
from .upsert import locate_prior_text

ContentChange = Callable[[bytes | None], bytes | None]
"""Takes the content of a file and returns the new one; None stands for a missing file.

If it raises, nothing is recorded.
"""


def read_file(session: Session, path: str, revision: str = "@") -> bytes:
    """Return the content of a file at a revision.

    Raises `NotFound` (`no_path`, `redacted`) or `InvalidInput` (`too_large`).
    """
    bundle = session.bundle_of(resolve_revision(session, revision))
    entry = bundles.get_entry(session.nodes, bundle, paths.check_path(path))
    if entry is None:
        raise NotFound(
            f"the file {printable_text(path)} does not exist",
            code="no_path",
            hint="`brain show` lists the files of the brain; give a path relative to its folder",
        )
    return read_editable_content(session, entry)


def edit_file(session: Session, path: str, change: ContentChange, message: str = "") -> Recorded:
    """Change a file; records no snapshot if its content stays the same.

    Raises `InvalidInput` or `Conflict` for a path that cannot be a file of the brain, and
    what `change` raises.
    """
    _refuse_unwritable_path(session, path)
    with locked_write_transaction(session, "snapshot", message or "snapshot") as txn:
        edits = _apply_change(txn, path, change)
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
            raise skill_lookup.missing_skill_error(session, txn.bundle, text)
        if not inner:
            content = change(prior_text) or b""
            build = partial(skill_document.replace_document, prior_text, slug, content)
            new = build_new_version(txn, slug, path, build)
            return record_upsert(txn, slug, path, new, None, message)
        home, edits = _plan_skill_folder(txn, path)
        file = f"{home}/{inner}"
        _refuse_unwritable_path(session, file)
        if file.rpartition("/")[2] in skill_layout.SKILL_FILES:
            raise InvalidInput(
                f"{printable_text(inner)} in a skill would be a skill itself",
                code="bad_path",
                hint="choose another name, or create the skill by its own name",
            )
        edits.update(_apply_change(txn, file, change))
        build = partial(skill_document.replace_document, prior_text, slug, prior_text)
        new = build_new_version(txn, slug, path, build)
        before = txn.bundle
        main = f"{home}/{skill_layout.SKILL_FILES[0]}" if path in edits else path
        upserted = record_upsert(txn, slug, main, new, None, message, edits)
        refuse_new_collisions(txn, before, [main, file])
        return upserted


def _apply_change(txn: WriteTransaction, path: str, change: ContentChange) -> Edits:
    session = txn.session
    now = working_copy.read_if_unchanged(session, txn.bundle, path)
    if now is None:
        record_edits_at(txn, [path])
    was = bundles.get_entry(session.nodes, txn.bundle, path)
    if was is not None and was.kind == LINK:
        raise InvalidInput(
            f"{printable_text(path)} is a link, which is not edited as text",
            code="not_regular",
            hint="edit the file that it points to",
        )
    if was is not None and now is None:
        now = read_editable_content(session, was)
    new = change(now)
    if new == now:
        return {}
    if new is None:
        return {path: None}
    _refuse_path_conflict(txn, path)
    blob = txn.store_tx.put_blob(new)
    txn.contents[blob] = new
    return {path: TreeEntry(path, was.kind if was else FILE, blob, len(new))}


def read_editable_content(session: Session, entry: TreeEntry) -> bytes:
    """Return the content of a file. Raises `NotFound` or `InvalidInput` as `read_file` does."""
    if entry.size > limits.MAX_EDIT_BYTES:
        raise InvalidInput(
            f"{printable_text(entry.path)} has {entry.size} bytes",
            code="too_large",
            hint=f"files of up to {limits.MAX_EDIT_BYTES} bytes are read as a whole",
        )
    return session.reader.read_blob(entry.blob, entry.size)


def _plan_skill_folder(txn: WriteTransaction, path: str) -> tuple[str, Edits]:
    """Return the folder of a skill, and the edits that move a flat skill there.

    Raises `Conflict` (`path_conflict`) for a flat skill beside a folder of its name.
    """
    session = txn.session
    home, _, name = path.rpartition("/")
    if name.lower() == "skill.md":
        return home, {}
    home = path[: -len(".md")]
    main = f"{home}/{skill_layout.SKILL_FILES[0]}"
    in_use = any(True for _ in bundles.walk_below(session.nodes, txn.bundle, home))
    if in_use or (session.has_folder and working_copy.find_candidate(session, main) is not None):
        raise Conflict(
            f"{printable_text(path)} cannot move into the folder of its name, which is in use",
            code="path_conflict",
            hint="write the text of the file into the skill itself",
        )
    return home, {path: None}


def _refuse_unwritable_path(session: Session, path: str) -> None:
    """Refuse a path that the brain ignores, or that leads through a link.

    Raises `InvalidInput` (`bad_path`, `left_out`, `name_too_long`, `unsafe_path`, …).
    """
    if is_path_ignored(session.root, paths.check_path(path)):
        raise InvalidInput(
            f"{printable_text(path)} has a name that is left out of a brain",
            code="left_out",
            hint="choose another name, or allow it in .brainignore",
        )
    refuse_long_names(session, [path])
    working_copy.refuse_unsafe_parents(session, path)


def _refuse_path_conflict(txn: WriteTransaction, path: str) -> None:
    nodes, bundle = txn.session.nodes, txn.bundle
    inside = any(entry.path != path for entry in bundles.walk_below(nodes, bundle, path))
    if inside or any(
        bundles.get_entry(nodes, bundle, outer) is not None for outer in parent_folders(path)
    ):
        raise Conflict(
            f"{printable_text(path)} cannot be both a file and a folder",
            code="path_conflict",
            hint="choose another name",
        )
