"""The folders of the host that a job reads, and what it never sees of them: keys, brains, devices.

A read-only mount keeps no program from writing to a FIFO, and no list of folders knows what lies
in them by the time of a run. So each folder is searched before each job, and what is found is
covered. What another process puts there later, while the job runs, is not.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import SandboxError, printable_text
from ..util.files import is_secret_file_name

MAX_ENTRIES = 200_000
"""Files and folders in an approved folder, which are searched in about a second."""
MAX_HIDDEN = 500
"""Places that are covered in one folder; each takes a mount."""
_MAX_PATH_BYTES = 3_800
"""The kernel takes such a path with a name behind it."""

_SYSTEM = ("/proc", "/sys", "/dev", "/run")
_NOT_SYSTEM = ("/dev/shm/", "/run/media/")
_KEY_FOLDERS = frozenset(
    ".ssh .gnupg .aws .azure .kube .docker .brain .password-store .pki .mozilla .thunderbird"
    " keyrings keychains .config/brain .config/chromium .config/gcloud .config/gh"
    " .config/google-chrome .config/op .config/rclone .config/sops".split()
)
_KEY_FILES = frozenset(
    ".netrc .git-credentials .pgpass .my.cnf .htpasswd .vault-token shadow gshadow auth.json"
    " credentials .credentials.json credentials.json credentials.tfrc.json credentials.toml".split()
)
"""Beside those that a brain leaves out by default."""
_MAYBE_KEY_SUFFIXES = (".pem", "_key", "-key")
"""What is called so is often a certificate, or a key that is public."""
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY")
_PEM_BYTES = 64 << 10

_Identity = tuple[int, int]


class Hidden(NamedTuple):
    """A place in an approved folder, relative to it, that a job does not see.

    `is_secret` tells keys, a brain and its state from FIFOs, sockets and devices.
    """

    path: str
    is_folder: bool
    is_secret: bool


def explain_refusal(folder: str, hidden: Sequence[str]) -> str:
    """Return why a folder can be approved for no program, "" if it can.

    `hidden` are places of the host that no job sees. A folder above one of them can be approved.
    """
    real = os.path.realpath(folder)
    if _is_below_or_same(os.path.realpath(os.path.expanduser("~")), real) or real == "/":
        return "it holds everything that this user has"
    if any(_is_below_or_same(real, one) for one in _SYSTEM) and not real.startswith(_NOT_SYSTEM):
        return "it is the kernel's, or has sockets and devices of this machine"
    parts = real.strip("/").split("/")
    if any(_is_key_folder("/".join(parts[:end])) for end in range(1, len(parts) + 1)):
        return "it is a place of keys"
    if any(_is_below_or_same(real, os.path.realpath(one)) for one in hidden):
        return "it is part of a brain, or of the settings and the state of brain"
    return ""


def find_hidden(
    folder: str, hidden: Sequence[str], *, for_other_user: bool = False
) -> list[Hidden]:
    """Return what a job must not see of an approved folder.

    What the user of the job cannot reach anyway is left out: folders that others cannot enter, if
    it is another user. Raises `SandboxError` (`bad_folder`) for a folder that has too many files
    to be searched, or too much to hide.
    """
    found: list[Hidden] = []
    for count, one in enumerate(_search(folder, _Places(hidden), for_other_user)):
        if count > MAX_ENTRIES:
            raise _too_large(folder, f"more than {MAX_ENTRIES} files, too many to be searched")
        if one is not None:
            found.append(one)
        if len(found) > MAX_HIDDEN:
            raise _too_large(folder, f"more than {MAX_HIDDEN} keys, FIFOs, sockets or devices")
    return found


def _search(folder: str, places: _Places, for_other_user: bool) -> Iterator[Hidden | None]:
    """Yield for each entry below a folder what is to be hidden, or None. Links are not followed:

    inside, they lead to what is covered, or to nothing.
    """
    left = [""]
    while left:
        inner = left.pop()
        here = os.path.join(folder, inner)
        if len(os.fsencode(here)) > _MAX_PATH_BYTES:  # a program can go there step by step
            raise _too_large(folder, "folders too deep to be searched")
        try:
            with os.scandir(here) as entries:
                listed = list(entries)
        except OSError:  # what cannot be listed can be entered by those who know its names
            enterable = inner and os.access(here, os.X_OK)
            yield Hidden(inner, True, True) if enterable else None
            continue
        for entry in listed:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it is gone
            path = os.path.join(inner, entry.name)
            mode = found.st_mode
            if stat.S_ISLNK(mode):
                yield None
            elif stat.S_ISDIR(mode):
                if _is_key_folder(path) or (found.st_dev, found.st_ino) in places.known:
                    yield Hidden(path, True, True)
                    continue
                yield None
                if not for_other_user or mode & stat.S_IXOTH:
                    left.append(path)
            elif stat.S_ISREG(mode):
                is_key = _is_key_file(entry) or places.holds(found)
                yield Hidden(path, False, True) if is_key else None
            else:
                yield Hidden(path, False, False)


class _Places:
    """The hidden places of the host by their identity, which links and mounts do not change."""

    def __init__(self, hidden: Sequence[str]) -> None:
        home = os.path.expanduser("~")
        keys = [os.path.join(home, name) for name in (*_KEY_FOLDERS, *_KEY_FILES)]
        self._paths = [*_SYSTEM, *hidden, *keys]
        self._linked: set[_Identity] | None = None
        self.known: set[_Identity] = set()
        for path in self._paths:
            try:
                found = os.stat(path)
            except OSError:
                continue
            self.known.add((found.st_dev, found.st_ino))

    def holds(self, file: os.stat_result) -> bool:
        """Tell whether a file is in one of the places, also by another name of it."""
        if (file.st_dev, file.st_ino) in self.known:
            return True
        if file.st_nlink == 1:
            return False
        if self._linked is None:
            self._linked = set(self._list_linked())
        return (file.st_dev, file.st_ino) in self._linked

    def _list_linked(self) -> Iterator[_Identity]:
        for place in self._paths[len(_SYSTEM) :]:
            for folder, _, names in os.walk(place):
                for name in names:
                    try:
                        found = os.lstat(os.path.join(folder, name))
                    except OSError:
                        continue
                    if found.st_nlink > 1:
                        yield found.st_dev, found.st_ino


def _is_key_folder(path: str) -> bool:
    parts = path.lower().rsplit("/", 2)
    return parts[-1] in _KEY_FOLDERS or "/".join(parts[-2:]) in _KEY_FOLDERS


def _is_key_file(entry: os.DirEntry[str]) -> bool:
    name = entry.name.lower()
    if not name.endswith(_MAYBE_KEY_SUFFIXES):
        return name in _KEY_FILES or is_secret_file_name(name)
    try:
        with open(entry.path, "rb") as file:
            return _PRIVATE_KEY.search(file.read(_PEM_BYTES)) is not None
    except OSError:
        return True


def _is_below_or_same(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _too_large(folder: str, why: str) -> SandboxError:
    hint = "approve a smaller folder, with only what the skill reads"
    return _bad_folder(f"{printable_text(folder)} has {why}", hint)


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
