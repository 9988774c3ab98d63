"""Check the folders of the host that a job may read, and find what it must not see of them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence

from ..errors import SandboxError, printable_text
from .hidden_paths import Hidden, explain_refusal, find_hidden

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_folders(
    folders: Mapping[str, str], hidden: Sequence[str], *, for_other_user: bool
) -> Iterator[tuple[str, str, list[Hidden]]]:
    """Yield the path of each folder inside, its path here without links, and what it hides.

    Raises `SandboxError` (`bad_folder`) for one that is not there, that the user that runs the job
    cannot read, or that nobody can approve, whenever it was approved.
    """
    for name, path in folders.items():
        if name.startswith("/"):
            place = name
            if os.path.normpath(name) != name or "\0" in name or name == "/":
                raise ValueError(f"{name!r} is no place for a folder")
        elif _NAME.fullmatch(name):
            place = f"/folders/{name}"
        else:
            raise _bad_folder(
                f"{printable_text(name)} cannot name a folder",
                "use letters, digits, '.', '_' and '-'",
            )
        if not os.path.isabs(path) or "\0" in path or not os.path.isdir(path):
            raise _bad_folder(
                f"the approved folder {printable_text(path)} is not there",
                "approve the absolute path of a folder",
            )
        if refusal := explain_refusal(path, hidden):
            raise _bad_folder(
                f"no skill may read {printable_text(path)}: {refusal}",
                "remove its approval with `brain evolve allow SKILL --remove`, and approve a"
                " smaller folder",
            )
        if for_other_user and not is_public(path):
            raise _bad_folder(
                f"skills that root runs cannot read {printable_text(path)}: it is root's own",
                "let all users read it (`chmod -R o+rX`), and enter the folders above it, or run"
                " skills as the user that it belongs to",
            )
        real = os.path.realpath(path)
        yield place, real, find_hidden(real, hidden, for_other_user=for_other_user)


def is_public(path: str) -> bool:
    """Tell whether every user can reach the file or folder at `path`, and read it."""
    path = os.path.realpath(path)
    if not os.stat(path).st_mode & stat.S_IROTH:
        return False
    while path != "/":
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
    return True


def _bad_folder(message: str, hint: str) -> SandboxError:
    return SandboxError(message, code="bad_folder", hint=hint)
