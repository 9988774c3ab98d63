"""The layout of the client's folder to publish into."""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidInput, printable_text
from ..objects import paths
from ..worktree.ignore_rules import IgnoreRules
from . import layouts
from .home_layout import PathRule
from .home_readers import HomeReader
from .ignore_filter import is_ignored
from .layouts import AGENTSKILLS, HomeLayout

_CLIENT_LAYOUTS = {
    "claude": (layouts.CLAUDE_HOME, layouts.CLAUDE_PROJECT, ".claude"),
    "codex": (layouts.CODEX_HOME, layouts.CODEX_PROJECT, ".codex"),
    "hermes": (layouts.HERMES, layouts.HERMES, ""),
    "openclaw": (layouts.OPENCLAW_STATE, layouts.OPENCLAW, ".openclaw"),
}
"""Client to the layout of its home, that of what it works in, and what the home is called."""
PUBLISH_CLIENTS = (*_CLIENT_LAYOUTS, "agentskills")
_BARE_SKILLS = AGENTSKILLS._replace(kind="agentskills", rules=(PathRule("", "skills/"),))


def client_layout(client: str, folder: Path) -> HomeLayout:
    """Return the layout of a client in a folder, there or not.

    Claude Code and Codex have homes and projects, OpenClaw has its own folder and workspaces.
    A folder that is called like a home is one, whatever it holds; one of another name is if
    adoption, too, would sooner take it for a home. Skills for nobody in particular go into
    `skills/` if that is there, else right into the folder. Raises `InvalidInput` (`bad_client`).
    """
    if client == "agentskills":
        return AGENTSKILLS if (folder / "skills").is_dir() else _BARE_SKILLS
    if client not in _CLIENT_LAYOUTS:
        raise InvalidInput(
            f"nothing is known of a client called {printable_text(client)}",
            code="bad_client",
            hint=f"use one of: {', '.join(PUBLISH_CLIENTS)}",
        )
    home, project, name = _CLIENT_LAYOUTS[client]
    if folder.name == name:
        return home
    as_home, as_project = HomeReader(home).detect(folder), HomeReader(project).detect(folder)
    is_home = as_home and (as_project is None or as_home.confidence >= as_project.confidence)
    return home if is_home else project


def layout_by_kind(kind: str, folder: Path) -> HomeLayout | None:
    """Return the layout that publishing in a folder as `kind` has, None if it never does."""
    if kind == _BARE_SKILLS.kind:
        return client_layout(kind, folder)
    known = (layout for home, project, _ in _CLIENT_LAYOUTS.values() for layout in (home, project))
    return next((layout for layout in known if layout.kind == kind), None)


def refuse_own_folder(root: Path, folder: Path, layout: HomeLayout) -> None:
    """Refuse a folder in which copies would lie among the files of the brain at `root`.

    Raises `InvalidInput` (`own_folder`).
    """
    root, there = root.resolve(), folder.resolve()
    if not there.is_relative_to(root):
        return
    inside = there.relative_to(root)
    if there == root:
        refused, hint = layout.in_place, "the client reads the files of the brain as they are"
    else:
        kept = not is_ignored(IgnoreRules.load(root), f"{inside.as_posix()}/x")
        refused = kept or any(map(paths.is_reserved_name, inside.parts))
        hint = "name a folder outside of it, or one that .brainignore leaves out"
    if refused:
        what = "is" if there == root else "lies in"
        raise InvalidInput(
            f"{printable_text(folder)} {what} the folder of this brain",
            code="own_folder",
            hint=hint,
        )
