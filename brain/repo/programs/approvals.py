"""The folders that a program may read, and the hosts that it may reach: the user approves them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from ...errors import InvalidInput, NotFound, printable_text
from .tried_programs import TriedProgram

MAX_APPROVALS = 32
_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
    r"(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*(?::[0-9]{1,5})?"
)
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def change_approvals(
    tried: TriedProgram, folders: Sequence[str], hosts: Sequence[str], *, remove: bool = False
) -> TriedProgram:
    """Return the approvals of a program with more of them, or without these.

    With `remove` and neither folders nor hosts, nothing stays approved. Raises `InvalidInput`
    (`bad_host`, `too_many`), or `NotFound` (`no_path`, `not_approved`).
    """
    hosts = [_check_host(host) for host in hosts]
    paths = [os.path.realpath(os.path.expanduser(folder)) for folder in folders]
    if not remove:
        return _add(tried, paths, hosts)
    if not paths and not hosts:
        return replace(tried, folders={}, hosts=())
    missing = sorted({*paths, *hosts}.difference(tried.folders.values(), tried.hosts))
    if missing:
        raise NotFound(
            f"{printable_text(missing[0])} is not approved",
            code="not_approved",
            hint="without options, `brain evolve allow` shows what is",
        )
    return replace(
        tried,
        folders={name: path for name, path in tried.folders.items() if path not in paths},
        hosts=tuple(host for host in tried.hosts if host not in hosts),
    )


def _add(tried: TriedProgram, paths: Sequence[str], hosts: Sequence[str]) -> TriedProgram:
    folders = dict(tried.folders)
    for path in paths:
        if not os.path.isdir(path):
            raise NotFound(
                f"{printable_text(path)} is not a folder",
                code="no_path",
                hint="name a folder that exists",
            )
        if path not in folders.values():
            folders[_free_name(path, folders)] = path
    approved = replace(tried, folders=folders, hosts=tuple(dict.fromkeys([*tried.hosts, *hosts])))
    if len(approved.folders) + len(approved.hosts) > MAX_APPROVALS:
        raise InvalidInput(
            f"more than {MAX_APPROVALS} folders and hosts",
            code="too_many",
            hint="remove some with --remove",
        )
    return approved


def _free_name(path: str, folders: dict[str, str]) -> str:
    """Return a name for a folder that no other one has."""
    base = _NAME.sub("-", os.path.basename(path)).strip(".-") or "folder"
    names = (base, *(f"{base}-{number}" for number in range(2, MAX_APPROVALS + 3)))
    return next(name for name in names if name not in folders)


def _check_host(host: str) -> str:
    lowered = host.lower()
    if _HOST.fullmatch(lowered) is None:
        raise InvalidInput(
            f"not the name of a host: {printable_text(host, 80)}",
            code="bad_host",
            hint="write it without https:// and without a path, such as api.example.org",
        )
    return lowered
