"""The skills as they lie in the folder, before a snapshot records them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ... import limits
from ...digest import blob_id
from ...folder import read
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_node import LINK
from ...skills.skill_metadata import encode_skill_metadata, read_skill_metadata
from .. import derive
from ..core import working_copy
from ..open.session import Session


class FolderSkills(NamedTuple):
    """The bundle that a snapshot would record, and the content of the skills that changed.

    `contents` has them by blob id; None stands for one of more than MAX_SKILL_BYTES.
    """

    bundle: Bundle
    contents: dict[bytes, bytes | None]


@contextmanager
def read_folder_skills(session: Session) -> Iterator[FolderSkills]:
    """Read the skills of the folder; nothing is stored. Raises as a snapshot does."""
    head = session.bundle_of(session.head())
    if not session.has_folder:
        yield FolderSkills(head, {})
        return
    scan = working_copy.scan_folder(session)
    entries = working_copy.hash_files(session, scan.scan.changed, scan.scan.skipped)
    edits = working_copy.diff_folder(session, scan, head, entries)
    contents: dict[bytes, bytes | None] = {}
    staged: list[bytes] = []
    try:
        for path, entry in edits.items():
            if entry is None or entry.kind == LINK or not derive.may_be_skill(path):
                continue
            content = read.read_bounded_file(session.root, path, limits.MAX_SKILL_BYTES)
            # The file may have changed since it was hashed, so that it gets the id of this content.
            id = entry.blob if content is None else blob_id(content)
            edits[path] = entry._replace(blob=id)
            contents[id] = content
            if id not in session.new_cards:
                session.new_cards[id] = encode_skill_metadata(
                    read_skill_metadata(content or b"", "")
                )
                staged.append(id)
        yield FolderSkills(bundles.update_bundle(session.nodes, head, edits), contents)
    finally:
        session.nodes.drop_unstored()
        for id in staged:
            session.new_cards.pop(id, None)
