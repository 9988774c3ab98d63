"""Look up skills in a bundle: all of them, or one by slug, name or path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ...errors import InvalidInput, NotFound, printable_text
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_entry import LINK
from ...skills import SKILLS_SECTION, skill_layout, skill_version
from ...skills.skill_metadata import SkillMetadata
from ...skills.slug import slugify
from ..open.session import Session
from . import card_cache, lineage_cache, skill_rows, skill_walk
from .ancestor_set import AncestorSet
from .skill_rows import SkillWithCard

if TYPE_CHECKING:
    from ...results import Skill

_MAX_SUBSTRING_MATCHES = 3
"""Names that contain the text, suggested if no name is similar."""


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

    def to_result(self) -> Skill:
        """Return the skill as a line of the list."""
        from ...results import Skill

        return Skill(
            self.slug,
            self.card.name or self.slug,
            self.card.description,
            skill_version.version_value(self.card.version),
            self.path,
        )


def find_all_skills(session: Session, bundle: Bundle) -> list[FoundSkill]:
    """Return all skills of `bundle`, by path, without reading bodies."""
    return [
        FoundSkill(skill_layout.slug_from_name(name), path, blob, card)
        for path, name, blob, card in iter_skills(session, bundle)
    ]


def iter_skills(session: Session, bundle: Bundle) -> Iterator[SkillWithCard]:
    """Yield all skills of a bundle, with full paths; see `walk_skills`."""
    return skill_walk.walk_skills(session, bundle, card_cache.load_cards)


def find_skill(session: Session, bundle: Bundle, text: str) -> FoundSkill:
    """Return the skill that `text` means: a slug, a name, or a path.

    A path is that of its folder or file, from the top of the brain or below skills/.

    Raises `NotFound` (`no_skill`) with near names, or `InvalidInput`
    (`ambiguous_skill`) with the paths.
    """
    found = find_skill_or_none(session, bundle, text)
    if found is None:
        raise missing_skill_error(session, bundle, text)
    return found


def find_skill_or_none(session: Session, bundle: Bundle, text: str) -> FoundSkill | None:
    """Return the skill that `text` means, or None. Raises `InvalidInput` (`ambiguous_skill`)."""
    path = find_skill_path(session, bundle, text)
    return None if path is None else load_skill(session, bundle, path)


def find_skill_path(session: Session, bundle: Bundle, text: str) -> str | None:
    """Return the full path of the skill that `text` means, None without one.

    Raises `InvalidInput` (`ambiguous_skill`).
    """
    for candidates in _rank_candidate_paths(session, text):
        skills = [
            path
            for path in filter_skills(session, bundle, candidates)
            if _has_name(session, bundle, path, text)
        ]
        if len(skills) > 1:
            raise InvalidInput(
                f"{printable_text(text)} may be any of: {', '.join(map(printable_text, skills))}",
                code="ambiguous_skill",
                hint="name it by its path, as in"
                f" `brain skill view {skill_layout.address_from_path(skills[0])}`",
            )
        if skills:
            return skills[0]
    return None


def filter_skills(session: Session, bundle: Bundle, candidates: Iterable[str]) -> Iterator[str]:
    """Yield those of some full paths at which a skill is."""
    for path in candidates:
        entry = bundles.get_entry(session.nodes, bundle, path)
        if entry and entry.kind != LINK and skill_rows.is_skill(session, bundle, path):
            yield path


def _has_name(session: Session, bundle: Bundle, path: str, text: str) -> bool:
    """Tell whether the slug of `text` is that of the path or the name of a skill."""
    if "/" in text:
        return True
    slug = slugify(text)
    if skill_rows.slug_from_full_path(path) == slug:
        return True
    entry = bundles.get_entry(session.nodes, bundle, path)
    card = card_cache.load_cards(session, [entry.blob])[entry.blob] if entry else None
    return card is not None and slug in skill_rows.skill_slugs(path, card.name)


def load_skill(session: Session, bundle: Bundle, path: str) -> FoundSkill:
    """Return the skill at the full `path`, which is one."""
    entry = bundles.get_entry(session.nodes, bundle, path)
    if entry is None:
        raise NotFound(f"no skill at {printable_text(path)}", code="no_skill")
    card = card_cache.load_cards(session, [entry.blob])[entry.blob]
    return FoundSkill(skill_rows.slug_from_full_path(path), path, entry.blob, card)


def find_candidate_paths(session: Session, slug: str) -> list[str]:
    """Return the full paths at which a skill of that slug is, was or would be."""
    standard = skill_rows.standard_skill_paths(slug)
    return list(dict.fromkeys([*standard, *lineage_cache.find_nonstandard_paths(session, slug)]))


def find_paths_in_lineage(session: Session, ancestors: AncestorSet, slug: str) -> list[str]:
    """Return the candidate paths at which a skill of that slug is or was in one lineage.

    The standard paths are always included. Paths of other lineages, such as undone ones,
    may be those of unrelated skills.
    """
    usual = skill_rows.standard_skill_paths(slug)
    return [
        path
        for path in find_candidate_paths(session, slug)
        if path in usual
        or any(
            slug in row.slugs and row.snapshot in ancestors
            for row in lineage_cache.read_skill_rows(session, path)
        )
    ]


def _rank_candidate_paths(session: Session, text: str) -> list[list[str]]:
    """Return the paths to try, best first: those of the slug, then those of the name."""
    if "/" in text:
        return [[path] for paths in list_paths_of_address(text) for path in paths]
    slug = slugify(text)
    candidates = find_candidate_paths(session, slug)
    own = [path for path in candidates if skill_rows.slug_from_full_path(path) == slug]
    return [own, [path for path in candidates if path not in own]]


def list_paths_of_address(address: str) -> list[list[str]]:
    """Return the full paths that a skill named by a path may have, the best first.

    They are those from the top of the brain, then those below skills/.
    """
    relative = address.rstrip("/")
    return [
        [*(top + ending for ending in skill_layout.FOLDER_SUFFIXES), f"{top}.md", top]
        for top in (relative, f"{SKILLS_SECTION}/{relative}")
    ]


def missing_skill_error(session: Session, bundle: Bundle, text: str) -> NotFound:
    """Return the error for a skill that is not there, with the names that are near."""
    from ...skills.suggestions import suggest_names

    names = {
        name: path
        for part in skill_walk.iter_skill_batches(session, bundle)
        for path, name, _ in part
    }
    like = suggest_names(text, names) or islice(
        (name for name in names if text in name), _MAX_SUBSTRING_MATCHES
    )
    near = [skill_rows.slug_from_full_path(names[name]) for name in like]
    return NotFound(
        f"no skill {printable_text(text)}",
        code="no_skill",
        hint=f"did you mean {', '.join(near)}?" if near else "see `brain skill list`",
    )
