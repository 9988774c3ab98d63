"""The layouts of all homes that can be adopted, from the table of clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from ..clients.client_row import Client, ClientFolder
from ..clients.client_table import load_clients
from .home_layout import (
    REASON_DATABASE,
    REASON_STATE,
    HomeLayout,
    PathRule,
)

__all__ = [
    "AGENTSKILLS",
    "CLIENT_LAYOUTS",
    "HOME_LAYOUTS",
    "LAYOUT_BY_KIND",
    "PROJECT",
    "HomeLayout",
]

_SKIPPED_ANYWHERE = (
    ("*.sqlite*", REASON_DATABASE),
    ("*.db", REASON_DATABASE),
    ("/*.lock", REASON_STATE),
    ("/*.bak*", REASON_STATE),
)
_Item = TypeVar("_Item")
_SHARED_SKILLS = ".agents/skills/"
"""The folder of skills that every program reads in a project, as most of them do."""


def _build_layout(name: str, client: Client, folder: ClientFolder) -> HomeLayout:
    system = tuple(_path_rule(place, "").home_pattern for place in folder.instructions)
    is_project = not folder.name and folder.skills[:1] != ("skills/",)
    shared = (_SHARED_SKILLS,) if is_project and _SHARED_SKILLS not in folder.skills else ()
    rules = (
        *(_path_rule(place, "skills/") for place in (*folder.skills, *shared)),
        *(_path_rule(place, "") for place in folder.instructions),
        *(_path_rule(place, "prompts/") for place in folder.prompts),
        *(_path_rule(place, "memory/") for place in folder.memory),
    )
    return HomeLayout(
        kind=folder.kind,
        client=name,
        title=folder.title,
        home_name=folder.name,
        rules=rules,
        marks=folder.marks,
        signs=folder.signs,
        min_signs=folder.min_signs,
        excluding_marks=folder.other_marks,
        skipped_patterns=(
            *(
                (pattern, reason)
                for reason, patterns in folder.left_out.items()
                for pattern in patterns
            ),
            *_SKIPPED_ANYWHERE,
        ),
        reported_folders=folder.reported,
        memory=tuple(
            (file.path, file.max_chars) for file in folder.memory_files if file.path not in system
        ),
        system=system,
        in_place=folder.skills[:1] == ("skills/",),
        skills_anywhere=is_project,
        extra_fields=frozenset(client.fields),
        has_categories=client.has_categories,
    )


def _path_rule(place: str, section: str) -> PathRule:
    """Return the rule of a place; without a path in a brain it has the usual one."""
    home, _, brain = place.partition("=")
    if brain:
        return PathRule(home, brain)
    name = home.removesuffix("/").rpartition("/")[2]
    if section == "prompts/":
        return PathRule(home, f"prompts/{name}/")
    if not home.endswith("/"):
        return PathRule(home, section + name)
    return PathRule(home, section)


AGENTSKILLS = HomeLayout(
    kind="agentskills",
    client="agentskills",
    title="folder of skills",
    rules=(PathRule("skills/", "skills/"),),
    marks=(),
    signs=(),
    skipped_patterns=(
        (".hub", "where skills were installed from"),
        (".archive", "put away by the program"),
        (".curator_backups", "backups of the program"),
        ("skills/.*", REASON_STATE),
        *_SKIPPED_ANYWHERE,
    ),
    skills_anywhere=True,
)

_LETTA_RULES = (PathRule("skills/", "skills/"), PathRule("", "memory/"))
_LETTA_LIMIT = 20_000

LETTA = HomeLayout(
    kind="letta",
    client="letta",
    title="Letta MemFS",
    rules=_LETTA_RULES,
    marks=(),
    signs=("persona.md", "human.md", "MEMORY.md"),
    skipped_patterns=_SKIPPED_ANYWHERE,
    min_signs=3,
    memory=(("*.md", _LETTA_LIMIT),),
    in_place=False,
)
LETTA_SYSTEM = replace(
    LETTA,
    kind="letta-system",
    title="Letta MemFS with system/",
    signs=("system/persona.md", "system/human.md"),
    min_signs=2,
    memory=(("system/", _LETTA_LIMIT),),
)
CLIENT_LAYOUTS = {
    name: tuple(
        _build_layout(name, client, folder)
        for folder in (client.home, client.project)
        if folder is not None
    )
    for name, client in load_clients().items()
}
"""By the name of a client: the layout of its home, and that of a project or a workspace."""


def _build_project(projects: Sequence[HomeLayout]) -> HomeLayout:
    """Return the layout of a project in which several programs are used."""
    return HomeLayout(
        kind="project",
        client="project",
        title="project of several programs",
        rules=_unite(layout.rules for layout in projects),
        marks=(),
        signs=(),
        skipped_patterns=_unite(layout.skipped_patterns for layout in projects),
        reported_folders=_unite(layout.reported_folders for layout in projects),
        system=_unite(layout.system for layout in projects),
        in_place=False,
        skills_anywhere=True,
    )


def _unite(found: Iterable[tuple[_Item, ...]]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(found)))


PROJECT = _build_project(
    [layout for layout in chain(*CLIENT_LAYOUTS.values()) if layout.skills_anywhere]
)
HOME_LAYOUTS = (*chain(*CLIENT_LAYOUTS.values()), PROJECT, AGENTSKILLS)
LAYOUT_BY_KIND = {layout.kind: layout for layout in (*HOME_LAYOUTS, LETTA, LETTA_SYSTEM)}
