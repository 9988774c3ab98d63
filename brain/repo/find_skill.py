"""Look up skills in a state: all of them, or one by slug, name or path."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import InvalidInput, NotFound, printable_text
from ..named_tuple import NamedTuple
from ..objects import tree
from ..objects.tree_node import LINK, TreeEntry
from ..skills import SKILLS_SECTION, skill_layout, skill_version
from ..skills.skill_layout import address_group
from ..skills.skill_metadata import SkillMetadata
from ..skills.slug import is_slug, is_valid_name, normalize_name, slugify
from . import derive, lineage_cache
from .derive import SkillWithCard
from .lineage_cache import AncestorSet
from .session import BrainState, Session

if TYPE_CHECKING:
    from ..results.skills import Version


_MAX_SUBSTRING_MATCHES = 3
"""Names that contain the text, suggested if no name is similar."""
_MAX_LISTED_MATCHES = 20
"""Skills that the error for an ambiguous name lists."""
_MAX_SINGLE_LOOKUPS = 64
"""Slugs that are looked up one by one; for more, all skills are listed."""


class FoundSkill(NamedTuple):
    """A skill of a state; `path` is full, `blob` that of its SKILL.md."""

    slug: str
    path: str
    blob: bytes
    card: SkillMetadata

    @property
    def folder(self) -> str | None:
        """The folder of a skill that has one, with a `/` at the end; None for a flat one."""
        head, _, name = self.path.rpartition("/")
        return head + "/" if name in skill_layout.SKILL_FILES and head != SKILLS_SECTION else None

    @property
    def summary(self) -> tuple[str, str, str, Version, str]:
        """Slug, name, description, version and path, as results begin with them."""
        version = skill_version.version_value(self.card.version)
        return self.slug, self.card.name or self.slug, self.card.description, version, self.path


class Skills:
    """The skills of a state: all of them, or one by slug, name or path."""

    def __init__(self, state: BrainState) -> None:
        self.state = state
        self.session = state.session

    def all(self) -> list[FoundSkill]:
        """Return all of them, by path, without reading bodies."""
        return [
            FoundSkill(skill_layout.slug_from_name(name), path, blob, card)
            for path, name, blob, card in self.iter()
        ]

    def entries(self, skill: FoundSkill) -> list[TreeEntry]:
        """Return the entries of all files of a skill."""
        if skill.folder is None:
            entry = self.state.get(skill.path)
            return [entry] if entry else []
        return list(self.state.walk_below(skill.folder.rstrip("/")))

    def iter(self) -> Iterator[SkillWithCard]:
        """Yield all of them, with full paths; see `walk_skills`."""
        yield from derive.walk_skills(self.state)
        lineage_cache.keep_read_cards(self.session)

    def find(self, text: str) -> FoundSkill:
        """Return the skill that `text`, an address, a path or a name, means.

        A path is that of its folder or file, from the top of the brain or below skills/.

        Raises `NotFound` (`no_skill`) with near names, or `InvalidInput`
        (`ambiguous_skill`) with the addresses.
        """
        found = self.find_or_none(text)
        if found is None:
            raise self.missing_error(text)
        return found

    def find_or_none(self, text: str) -> FoundSkill | None:
        """Return the skill that `text` means, or None. Raises as `find_path`."""
        path = self.find_path(text)
        return None if path is None else self.load(path)

    def find_path(self, text: str) -> str | None:
        """Return the full path of the skill that `text` means, None without one.

        A path comes first, then a slug, then a declared name. Of skills with one slug a text
        means the one that is called so, and never one whose valid name is another. Raises
        `InvalidInput` (`ambiguous_skill`) for a slug or a name of several skills.
        """
        if "/" in text:
            candidates = skill_layout.path_candidates(text)
            return next(iter(self.filter(candidates)), None)
        if slug := skill_layout.slug_of_digest_address(text):
            group = self.paths_with_slug(slug)
            same = [path for path in group if skill_layout.digest_address(slug, path) == text]
            if len(same) == 1:
                return same[0]
        slug = slugify(text)
        candidates = list(self.filter(find_candidate_paths(self.session, slug)))
        own = {path: skill_layout.name_from_path(path) for path in candidates}
        matches = _choose_by_name(
            text, [(p, own[p]) for p in candidates if derive.slug_from_full_path(p) == slug]
        )
        if not matches:
            names = [(path, self.load(path).card.name) for path in candidates]
            found = [(path, name) for path, name in names if slug in derive.skill_slugs(path, name)]
            matches = _choose_by_name(text, found)
        if len(matches) > 1:
            raise self._ambiguous_error(text, matches)
        return matches[0] if matches else None

    def paths_with_slug(self, slug: str) -> list[str]:
        """Return the full paths of the skills that share a slug, in any order."""
        return self._find_more_paths(
            slug, (), lineage_cache.find_nonstandard_paths(self.session, slug)
        )

    def sharing_paths(self, known: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
        """Return the full paths of the skills that have each of some slugs, but for `known` ones.

        `known` has paths by slug. The cache must have the snapshot of the state.
        """
        if len(known) <= _MAX_SINGLE_LOOKUPS:
            find_unusual = self.session.cache.find_skill_paths
            return {
                slug: self._find_more_paths(slug, paths, find_unusual(slug))
                for slug, paths in known.items()
            }
        groups: dict[str, list[str]] = {slug: [] for slug in known}
        for path in self._list_paths():
            slug = derive.slug_from_full_path(path)
            if slug in groups and path not in known[slug]:
                groups[slug].append(path)
        return groups

    def _find_more_paths(
        self, slug: str, known: Collection[str], unusual: Sequence[str]
    ) -> list[str]:
        standard = [path for path in derive.standard_skill_paths(slug) if path not in known]
        inner = sorted([path.partition("/")[2] for path in standard])
        section = self.state.sections.get(SKILLS_SECTION)
        if not tree.has_any_path(self.state.nodes, section, inner):
            standard = []  # one look-up instead of one for each spelling
        more = [
            path
            for path in unusual
            if path not in known and derive.slug_from_full_path(path) == slug
        ]
        if not standard and not more:
            return []
        return list(self.filter(dict.fromkeys((*standard, *more))))

    def addresses(self, skill_paths: Collection[str]) -> dict[str, str]:
        """Return the addresses of the skills at full paths, by path."""
        if len(skill_paths) <= _MAX_SINGLE_LOOKUPS:
            slugs = {path: derive.slug_from_full_path(path) for path in skill_paths}
            return {
                # A damaged cache may not know a path; that opens the skill as well.
                path: address_group(slug, self.paths_with_slug(slug)).get(path, path)
                for path, slug in slugs.items()
            }
        return derive.address_all(self._list_paths())

    def _list_paths(self) -> Iterator[str]:
        for part in derive.iter_skill_batches(self.state):
            yield from (path for path, _, _ in part)

    def filter(self, candidates: Iterable[str]) -> Iterator[str]:
        """Yield those of some full paths at which a skill is."""
        for path in candidates:
            entry = self.state.get(path)
            if entry and entry.kind != LINK and derive.is_skill(self.state, path):
                yield path

    def _ambiguous_error(self, text: str, matches: Sequence[str]) -> InvalidInput:
        shown = sorted(self.addresses(matches[:_MAX_LISTED_MATCHES]).values())
        more = len(matches) - len(shown)
        listed = ", ".join(map(printable_text, shown)) + (f" and {more} more" if more else "")
        return InvalidInput(
            f"{text} may be any of: {listed}",
            code="ambiguous_skill",
            hint=f"name one of them, as in `brain skill view {printable_text(shown[0])}`",
        )

    def load(self, path: str) -> FoundSkill:
        """Return the skill at the full `path`, which is one."""
        entry = self.state.get(path)
        if entry is None:
            raise NotFound(
                f"no skill exists at {path}",
                code="no_skill",
                hint="`brain skill list` lists the skills",
            )
        card = lineage_cache.load_cards(self.session, [entry.blob])[entry.blob]
        return FoundSkill(derive.slug_from_full_path(path), path, entry.blob, card)

    def missing_error(self, text: str) -> NotFound:
        """Return the error for a skill that is not there, with the names that are near."""
        from ..util.text import suggest_names

        names = {
            name: path for part in derive.iter_skill_batches(self.state) for path, name, _ in part
        }
        wanted = text.rstrip("/").rpartition("/")[2]
        like = suggest_names(wanted, names) or islice(
            (name for name in names if wanted in name), _MAX_SUBSTRING_MATCHES
        )
        near = list(self.addresses([names[name] for name in like]).values())
        return NotFound(
            f"the skill {text} does not exist",
            code="no_skill",
            hint=f"did you mean {', '.join(near)}?" if near else "see `brain skill list`",
        )


def _choose_by_name(text: str, named: list[tuple[str, str]]) -> list[str]:
    """Return which of some paths with the names of their skills `text` means, of one slug each.

    Those called so come first. A text with a valid name that is no slug does not mean a skill
    whose valid name is another one of the same slug.
    """
    wanted = normalize_name(text)
    exact = [path for path, name in named if normalize_name(name) == wanted]
    if exact or is_slug(wanted) or not is_valid_name(wanted):
        return exact or [path for path, _ in named]
    return [path for path, name in named if is_slug(name) or not is_valid_name(name)]


def find_candidate_paths(session: Session, slug: str) -> list[str]:
    """Return the full paths at which a skill of that slug is, was or would be."""
    standard = derive.standard_skill_paths(slug)
    return list(dict.fromkeys([*standard, *lineage_cache.find_nonstandard_paths(session, slug)]))


def find_paths_in_lineage(session: Session, ancestors: AncestorSet, slug: str) -> list[str]:
    """Return the candidate paths at which a skill of that slug is or was in one lineage.

    The standard paths are always included. Paths of other lineages, such as undone ones,
    may be those of unrelated skills.
    """
    usual = derive.standard_skill_paths(slug)
    return [
        path
        for path in find_candidate_paths(session, slug)
        if path in usual
        or any(
            slug in row.slugs and row.snapshot in ancestors
            for row in lineage_cache.read_skill_rows(session, path)
        )
    ]
