"""Walk the skills of a bundle, section by section.

Outside `skills`, most files are no skills. Nodes of trees below which there is no SKILL.md are
noted in the user's cache and not read again, so a large memory costs O(changes) after the
first walk. Whether a node is such a one follows from its content alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress

from ...cache.derived_cache import CacheUnusable
from ...objects import paths, tree
from ...objects.bundle import Bundle
from ...objects.tree_entry import LINK
from ...objects.tree_node import LEAF, NodeEntry, TreeNode
from ...skills import SKILLS_SECTION, skill_layout
from ..open.session import Session
from .skill_rows import CardLoader, SkillWithCard

_MIN_BATCH_FILES = 4096
SkillPath = tuple[str, str, bytes]
"""A skill: its full path, the name its path gives it, and its blob."""


def walk_skills(
    session: Session, bundle: Bundle, load_cards: CardLoader
) -> Iterator[SkillWithCard]:
    """Yield all skills of a bundle, by section and path.

    Cards are read in batches, to bound memory.
    """
    for part in iter_skill_batches(session, bundle):
        cards = load_cards(session, [blob for _, _, blob in part])
        for path, name, blob in part:
            yield path, name, blob, cards[blob]


def iter_skill_batches(session: Session, bundle: Bundle) -> Iterator[list[SkillPath]]:
    """Yield all skills, some at a time, without looking into them."""
    roots = [root.node for section, root in bundle.items() if section != SKILLS_SECTION]
    known_bare_nodes = _find_bare_nodes(session, roots)
    for section, root in bundle.items():
        if section == SKILLS_SECTION:
            yield from _iter_section_skills(session, bundle)
        elif section != paths.TOP_SECTION and root.node not in known_bare_nodes:
            yield from _iter_skills_elsewhere(session, section, root.node)


def find_new_skill_folder(session: Session, bundle: Bundle) -> str:
    """Return the folder for new skills; see `skill_layout.new_skill_folder`."""
    if SKILLS_SECTION in bundle:
        return SKILLS_SECTION
    every = (path for part in iter_skill_batches(session, bundle) for path, _, _ in part)
    return skill_layout.new_skill_folder(every)


def _iter_section_skills(session: Session, bundle: Bundle) -> Iterator[list[SkillPath]]:
    for part in _iter_file_batches(session, bundle):
        entries = [(f"{SKILLS_SECTION}/{path}", kind, blob) for path, kind, blob, _ in part]
        names = skill_layout.find_skill_paths(path for path, _, _ in entries)
        # A link is not a skill, but may keep the files beside it from being skills.
        yield [
            (path, names[path], blob)
            for path, kind, blob in entries
            if path in names and kind != LINK
        ]


def _iter_file_batches(session: Session, bundle: Bundle) -> Iterator[list[NodeEntry]]:
    part: list[NodeEntry] = []
    for node in tree.walk_leaves(session.nodes.peek, bundle.get(SKILLS_SECTION)):
        part += node.entries
        if len(part) < _MIN_BATCH_FILES:
            continue
        folder, slash, _ = part[-1][0].partition("/")
        cut = bisect_left(part, (folder + slash,)) if slash else len(part)
        if cut:
            yield part[:cut]
            del part[:cut]
    if part:
        yield part


def _iter_skills_elsewhere(
    session: Session, section: str, root: bytes
) -> Iterator[list[SkillPath]]:
    walk = _SkillFileWalk(session)
    texts = {f"{section}/{inner}": (kind, blob) for inner, kind, blob, _ in walk.walk_node(root)}
    walk.keep_bare_nodes()
    names = skill_layout.find_skill_paths(texts)
    skills = [
        (path, names[path], blob)
        for path, (kind, blob) in texts.items()
        if kind != LINK and path in names
    ]
    for start in range(0, len(skills), _MIN_BATCH_FILES):
        yield skills[start : start + _MIN_BATCH_FILES]


class _SkillFileWalk:
    """Finds the files called SKILL.md in a tree; notes nodes that have none below them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._new_bare_nodes: list[bytes] = []

    def walk_node(self, node_id: bytes) -> Iterator[NodeEntry]:
        """Yield the entries of all files called SKILL.md, by path."""
        node = self._session.nodes.peek(node_id)
        if node.kind == LEAF:
            found = entries_of_skill_texts(node)
            yield from found
            is_bare = not found
        else:
            is_bare = True
            children = [line[1] for line in node.entries]
            known_bare_nodes = _find_bare_nodes(self._session, children)
            for child in children:
                if child not in known_bare_nodes:
                    for line in self.walk_node(child):
                        is_bare = False
                        yield line
        if is_bare:
            self._new_bare_nodes.append(node_id)

    def keep_bare_nodes(self) -> None:
        """Write the noted nodes to the cache, ignoring errors: they can be found again."""
        session = self._session
        if self._new_bare_nodes and session.reader is session.store:
            with suppress(CacheUnusable), session.cache.transaction():
                session.cache.put_bare_nodes(self._new_bare_nodes)


def entries_of_skill_texts(leaf: TreeNode) -> list[NodeEntry]:
    """Return the entries of a leaf node whose file is called SKILL.md."""
    return [
        line
        for line in leaf.entries
        if line[0][-3:] in _ENDINGS and line[0].rpartition("/")[2] in skill_layout.SKILL_FILES
    ]


_ENDINGS = frozenset(name[-3:] for name in skill_layout.SKILL_FILES)


def _find_bare_nodes(session: Session, nodes: Sequence[bytes]) -> Set[bytes]:
    try:
        return session.cache.find_bare_nodes(nodes)
    except CacheUnusable:
        return frozenset()
