"""The client's folder to publish into: its layout, lock, leftovers, and the files there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from ..errors import InvalidInput, Locked
from ..folder.handles import FolderHandles, open_root
from ..folder.ignore import IgnoreRules
from ..folder.write import remove_temporary_files
from ..objects import paths
from ..repo.session import is_brain
from ..util.files import LockTimeout, lock_file
from .layouts import AGENTSKILLS, CLIENT_LAYOUTS, HomeLayout, PathRule
from .publish_manifest import file_state
from .source_files import GONE_CODE, SkipFile, is_ignored, read_home_file
from .sources import HomeReader

PUBLISH_CLIENTS = (*(name for name, found in CLIENT_LAYOUTS.items() if found), "agentskills")
_BARE_SKILLS = replace(AGENTSKILLS, kind="agentskills", rules=(PathRule("", "skills/"),))


def client_layout(client: str, folder: Path) -> HomeLayout:
    """Return the layout of a client in a folder, which need not exist.

    Most clients have homes and projects, OpenClaw has a state folder and workspaces. A folder
    with the name of a home is a home; another folder is one if adoption would detect it as
    one. The client `agentskills` gets its skills in `skills/` if that exists, else directly in
    the folder. Raises `InvalidInput` (`bad_client`).
    """
    if client == "agentskills":
        return AGENTSKILLS if (folder / "skills").is_dir() else _BARE_SKILLS
    found = CLIENT_LAYOUTS.get(client)
    if not found:
        raise InvalidInput(
            f"there is no client {client}",
            code="bad_client",
            hint=f"use one of: {', '.join(PUBLISH_CLIENTS)}",
        )
    home, project = found[0], found[-1]
    if home.is_home(folder):
        return home
    as_home, as_project = HomeReader(home).detect(folder), HomeReader(project).detect(folder)
    is_home = as_home and (as_project is None or as_home.confidence >= as_project.confidence)
    return home if is_home else project


def layout_by_kind(kind: str, folder: Path) -> HomeLayout | None:
    """Return the layout for publishing into a folder as `kind`, None if there is none."""
    if kind == _BARE_SKILLS.kind:
        return client_layout(kind, folder)
    candidates = chain(*CLIENT_LAYOUTS.values())
    return next((layout for layout in candidates if layout.kind == kind), None)


def refuse_own_folder(root: Path, folder: Path, layout: HomeLayout) -> None:
    """Refuse a folder whose published files the brain at `root` would record.

    Raises `InvalidInput` (`own_folder`).
    """
    root, target = root.resolve(), folder.resolve()
    if not target.is_relative_to(root):
        return
    inside = target.relative_to(root)
    if target == root:
        refused, hint = layout.in_place, "the client reads the files of the brain as they are"
    else:
        recorded = not is_ignored(IgnoreRules.load(root), f"{inside.as_posix()}/x")
        refused = recorded or any(map(paths.is_reserved_name, inside.parts))
        hint = "name a folder outside of it, or one that .brainignore ignores"
    if refused:
        place = "is" if target == root else "is inside"
        raise InvalidInput(
            f"{folder} {place} the folder of this brain",
            code="own_folder",
            hint=hint,
        )


@contextmanager
def hold_publish_lock(folder: Path) -> Iterator[None]:
    """Lock a folder, created if missing, against other publications during the block.

    A created folder that stays empty is removed. Raises `Locked` at once if another
    publication is running. On file systems without locks it continues without one.
    """
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with open_root(folder) as handle, ExitStack() as stack:
        try:
            stack.enter_context(lock_file(handle, 0, "ignore"))
        except LockTimeout:
            raise Locked(
                f"another publication is running in {folder}",
                hint="wait until it ends, and try again",
            ) from None
        try:
            yield
        finally:
            with suppress(OSError):  # it has files, as it should
                for path in created:
                    path.rmdir()


def clear_leftovers(folder: Path, root: Path, published: Iterable[str]) -> None:
    """Remove temporary files that killed publications of the brain at `root` left.

    Nothing is removed if the folder belongs to another brain, which may be writing there.
    """
    folder, root = folder.resolve(), root.resolve()
    brains = {path for path in (folder, *folder.parents) if is_brain(path)}
    if brains <= {root} - {folder}:
        remove_temporary_files(folder, published)


def read_states(folder: Path, paths: Iterable[str]) -> dict[str, str]:
    """Return the states of the files at some paths of a folder, "" where there is none."""
    if not folder.is_dir():
        return dict.fromkeys(paths, "")
    with open_root(folder) as fd, closing(FolderHandles(fd)) as folders:
        return {path: _read_state(folders, path) for path in paths}


def _read_state(folders: FolderHandles, path: str) -> str:
    try:
        return file_state(read_home_file(folders, path))
    except SkipFile as error:
        return "" if error.code == GONE_CODE else error.code
