"""Look up skills in a bundle: all of them, or one by slug, name or path."""

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
from ..skills.slug import slugify
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
    """A skill of a bundle; `path` is full, `blob` that of its SKILL.md."""

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


def find_all_skills(session: Session, bundle: BrainState) -> list[FoundSkill]:
    """Return all skills of `bundle`, by path, without reading bodies."""
    return [
        FoundSkill(skill_layout.slug_from_name(name), path, blob, card)
        for path, name, blob, card in iter_skills(session, bundle)
    ]


def list_skill_entries(session: Session, bundle: BrainState, skill: FoundSkill) -> list[TreeEntry]:
    """Return the entries of all files of a skill."""
    if skill.folder is None:
        entry = bundle.get(skill.path)
        return [entry] if entry else []
    return list(bundle.walk_below(skill.folder.rstrip("/")))


def iter_skills(session: Session, bundle: BrainState) -> Iterator[SkillWithCard]:
    """Yield all skills of a bundle, with full paths; see `walk_skills`."""
    yield from derive.walk_skills(session, bundle)
    lineage_cache.keep_read_cards(session)


def find_skill(session: Session, bundle: BrainState, text: str) -> FoundSkill:
    """Return the skill that `text`, an address, a path or a name, means.

    A path is that of its folder or file, from the top of the brain or below skills/.

    Raises `NotFound` (`no_skill`) with near names, or `InvalidInput`
    (`ambiguous_skill`) with the addresses.
    """
    found = find_skill_or_none(session, bundle, text)
    if found is None:
        raise missing_skill_error(session, bundle, text)
    return found


def find_skill_or_none(session: Session, bundle: BrainState, text: str) -> FoundSkill | None:
    """Return the skill that `text` means, or None. Raises `InvalidInput` (`ambiguous_skill`)."""
    path = find_skill_path(session, bundle, text)
    return None if path is None else load_skill(session, bundle, path)


def find_skill_path(session: Session, bundle: BrainState, text: str) -> str | None:
    """Return the full path of the skill that `text` means, None without one.

    A path comes first, then a slug, then a declared name. Raises `InvalidInput`
    (`ambiguous_skill`) for a slug or a name of several skills.
    """
    if "/" in text:
        candidates = skill_layout.path_candidates(text)
        return next(iter(filter_skills(session, bundle, candidates)), None)
    if slug := skill_layout.slug_of_digest_address(text):
        group = find_paths_with_slug(session, bundle, slug)
        same = [path for path in group if skill_layout.digest_address(slug, path) == text]
        if len(same) == 1:
            return same[0]
    slug = slugify(text)
    candidates = list(filter_skills(session, bundle, find_candidate_paths(session, slug)))
    matches = [path for path in candidates if derive.slug_from_full_path(path) == slug]
    if not matches:
        matches = [path for path in candidates if _is_named(session, bundle, path, slug)]
    if len(matches) > 1:
        raise _ambiguous_skill_error(session, bundle, text, matches)
    return matches[0] if matches else None


def find_paths_with_slug(session: Session, bundle: BrainState, slug: str) -> list[str]:
    """Return the full paths of the skills that share a slug, in any order."""
    return _find_more_paths(
        session, bundle, slug, (), lineage_cache.find_nonstandard_paths(session, slug)
    )


def find_sharing_paths(
    session: Session,
    bundle: BrainState,
    known: Mapping[str, Collection[str]],
) -> dict[str, list[str]]:
    """Return the full paths of the skills that have each of some slugs, but for `known` ones.

    `known` has paths by slug. The cache must have the snapshot of the bundle.
    """
    if len(known) <= _MAX_SINGLE_LOOKUPS:
        find_unusual = session.cache.find_skill_paths
        return {
            slug: _find_more_paths(session, bundle, slug, paths, find_unusual(slug))
            for slug, paths in known.items()
        }
    groups: dict[str, list[str]] = {slug: [] for slug in known}
    for path in _list_paths(session, bundle):
        slug = derive.slug_from_full_path(path)
        if slug in groups and path not in known[slug]:
            groups[slug].append(path)
    return groups


def _find_more_paths(
    session: Session, bundle: BrainState, slug: str, known: Collection[str], unusual: Sequence[str]
) -> list[str]:
    standard = [path for path in derive.standard_skill_paths(slug) if path not in known]
    inner = sorted([path.partition("/")[2] for path in standard])
    if not tree.has_any_path(session.nodes, bundle.sections.get(SKILLS_SECTION), inner):
        standard = []  # one look-up instead of one for each spelling
    more = [
        path for path in unusual if path not in known and derive.slug_from_full_path(path) == slug
    ]
    if not standard and not more:
        return []
    return list(filter_skills(session, bundle, dict.fromkeys((*standard, *more))))


def find_address(session: Session, bundle: BrainState, path: str) -> str:
    """Return the address of the skill at a full path."""
    slug = derive.slug_from_full_path(path)
    return address_group(slug, find_paths_with_slug(session, bundle, slug))[path]


def find_addresses(
    session: Session, bundle: BrainState, skill_paths: Collection[str]
) -> dict[str, str]:
    """Return the addresses of the skills at full paths, by path."""
    if len(skill_paths) <= _MAX_SINGLE_LOOKUPS:
        return {path: find_address(session, bundle, path) for path in skill_paths}
    return derive.address_all(_list_paths(session, bundle))


def _list_paths(session: Session, bundle: BrainState) -> Iterator[str]:
    from . import derive

    for part in derive.iter_skill_batches(session, bundle):
        yield from (path for path, _, _ in part)


def filter_skills(session: Session, bundle: BrainState, candidates: Iterable[str]) -> Iterator[str]:
    """Yield those of some full paths at which a skill is."""
    for path in candidates:
        entry = bundle.get(path)
        if entry and entry.kind != LINK and derive.is_skill(session, bundle, path):
            yield path


def _is_named(session: Session, bundle: BrainState, path: str, slug: str) -> bool:
    """Tell whether the declared name of a skill has this slug."""
    entry = bundle.get(path)
    card = lineage_cache.load_cards(session, [entry.blob])[entry.blob] if entry else None
    return card is not None and slug in derive.skill_slugs(path, card.name)


def _ambiguous_skill_error(
    session: Session, bundle: BrainState, text: str, matches: Sequence[str]
) -> InvalidInput:
    shown = sorted(find_addresses(session, bundle, matches[:_MAX_LISTED_MATCHES]).values())
    more = len(matches) - len(shown)
    listed = ", ".join(map(printable_text, shown)) + (f" and {more} more" if more else "")
    return InvalidInput(
        f"{text} may be any of: {listed}",
        code="ambiguous_skill",
        hint=f"name one of them, as in `brain skill view {printable_text(shown[0])}`",
    )


def load_skill(session: Session, bundle: BrainState, path: str) -> FoundSkill:
    """Return the skill at the full `path`, which is one."""
    entry = bundle.get(path)
    if entry is None:
        raise NotFound(
            f"no skill exists at {path}",
            code="no_skill",
            hint="`brain skill list` lists the skills",
        )
    card = lineage_cache.load_cards(session, [entry.blob])[entry.blob]
    return FoundSkill(derive.slug_from_full_path(path), path, entry.blob, card)


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


def missing_skill_error(session: Session, bundle: BrainState, text: str) -> NotFound:
    """Return the error for a skill that is not there, with the names that are near."""
    from ..util.text import suggest_names
    from . import derive

    names = {
        name: path for part in derive.iter_skill_batches(session, bundle) for path, name, _ in part
    }
    wanted = text.rstrip("/").rpartition("/")[2]
    like = suggest_names(wanted, names) or islice(
        (name for name in names if wanted in name), _MAX_SUBSTRING_MATCHES
    )
    near = list(find_addresses(session, bundle, [names[name] for name in like]).values())
    return NotFound(
        f"the skill {text} does not exist",
        code="no_skill",
        hint=f"did you mean {', '.join(near)}?" if near else "see `brain skill list`",
    )
