"""Where publishing writes: the layout of a client, as the folder at hand has it."""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidInput, printable
from ..objects import paths
from ..worktree.ignore import IgnoreRules
from . import layouts
from .clients import Client
from .ignoring import leaves_out
from .layouts import COLLECTION, Layout
from .rules import Rule

_HOMES = {
    "claude": (layouts.CLAUDE_HOME, layouts.CLAUDE_PROJECT, ".claude"),
    "codex": (layouts.CODEX_HOME, layouts.CODEX_PROJECT, ".codex"),
    "hermes": (layouts.HERMES, layouts.HERMES, ""),
    "openclaw": (layouts.OPENCLAW_STATE, layouts.OPENCLAW, ".openclaw"),
}
"""Client to the layout of its home, that of what it works in, and what the home is called."""
CLIENTS = (*_HOMES, "agentskills")
_BARE = COLLECTION._replace(kind="agentskills", rules=(Rule("", "skills/"),))


def layout_for(client: str, folder: Path) -> Layout:
    """Return the layout of a client in a folder, there or not.

    Claude Code and Codex have homes and projects, OpenClaw has its own folder and workspaces.
    A folder that is called like a home is one, whatever it holds; one of another name is if
    adoption, too, would sooner take it for a home. Skills for nobody in particular go into
    `skills/` if that is there, else right into the folder. Raises `InvalidInput` (`bad_client`).
    """
    if client == "agentskills":
        return COLLECTION if (folder / "skills").is_dir() else _BARE
    if client not in _HOMES:
        raise InvalidInput(
            f"nothing is known of a client called {printable(client)}",
            code="bad_client",
            hint=f"use one of: {', '.join(CLIENTS)}",
        )
    home, project, name = _HOMES[client]
    if folder.name == name:
        return home
    as_home, as_project = Client(home).detect(folder), Client(project).detect(folder)
    is_home = as_home and (as_project is None or as_home.weight >= as_project.weight)
    return home if is_home else project


def layout_of(kind: str, folder: Path) -> Layout | None:
    """Return the layout that publishing in a folder as `kind` has, None if it never does."""
    if kind == _BARE.kind:
        return layout_for(kind, folder)
    known = (layout for home, project, _ in _HOMES.values() for layout in (home, project))
    return next((layout for layout in known if layout.kind == kind), None)


def refuse_own(root: Path, folder: Path, layout: Layout) -> None:
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
        kept = not leaves_out(IgnoreRules.load(root), f"{inside.as_posix()}/x")
        refused = kept or any(map(paths.is_reserved, inside.parts))
        hint = "name a folder outside of it, or one that .brainignore leaves out"
    if refused:
        what = "is" if there == root else "lies in"
        raise InvalidInput(
            f"{printable(folder)} {what} the folder of this brain", code="own_folder", hint=hint
        )
