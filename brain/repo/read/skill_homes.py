"""Find the skill that a file belongs to."""

from __future__ import annotations

from collections.abc import Sequence

from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...skills import SKILLS_SECTION
from ...skills.skill_layout import FOLDER_SUFFIXES
from ..open.session import Session
from . import skill_rows


class SkillHomes:
    """Finds the skills that files belong to, in the first of some bundles that has them."""

    def __init__(self, session: Session, searched: Sequence[Bundle]) -> None:
        self._session = session
        self._bundles = searched
        self._by_folder: dict[str, str] = {"": "", SKILLS_SECTION: ""}

    def find_home(self, path: str) -> str:
        """Return the path of the skill that a file is or belongs to, "" if there is none."""
        if skill_rows.may_be_skill(path) and self._is_skill(path):
            return path
        return self._find_folder_home(path.rpartition("/")[0])

    def _find_folder_home(self, folder: str) -> str:
        """Return the path of the nearest skill in a folder or above it."""
        home = self._by_folder.get(folder)
        if home is None:
            texts = [folder + ending for ending in FOLDER_SUFFIXES]
            found = (path for path in texts if self._is_skill(path))
            home = next(found, "") or self._find_folder_home(folder.rpartition("/")[0])
            self._by_folder[folder] = home
        return home

    def _is_skill(self, path: str) -> bool:
        session = self._session
        return any(
            bundles.has_entry(session.nodes, bundle, path)
            and skill_rows.is_skill(session, bundle, path)
            for bundle in self._bundles
        )
