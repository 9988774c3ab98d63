"""What a program may reach: the user approves it, on each machine, for exactly its bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from ...errors import InvalidInput, NotFound, printable_text
from ...programs.needs import Needs
from ...running.broker import MIN_SECRET_CHARS, SecretValues
from ...running.fetch import find_scope, read_address
from ...sandbox.hidden_paths import explain_refusal, find_hidden
from ...util.files import is_secret_file_name, write_atomic
from ..session import Session
from .admission import (
    NOTHING_APPROVED,
    Approvals,
    TriedProgram,
    encode_tried,
    list_own_places,
    require_state_folder,
)

MAX_APPROVALS = 32
_MAX_FILE_BYTES = 10 << 20
_HOST = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
    r"(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*(?::[0-9]{1,5})?"
)
_LOCAL_NAME = re.compile(
    r"(?:.*\.)?(?:localhost|localdomain|local|internal|ip6-localhost|ip6-loopback)(?::[0-9]+)?"
)
_MAX_NAMED = 5
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def approve(
    session: Session,
    tried: TriedProgram,
    wanted: Approvals,
    knowingly: bool,
    files: Collection[str] = (),
) -> None:
    """Replace what was approved for a program on this machine.

    `files` are the names of the files that it needs; all other places are folders. A link is
    approved for where it leads now. Raises as `check_approvals` and `require_state_folder`.
    """
    checked = check_approvals(session, tried, wanted, knowingly, files)
    path = require_state_folder(session) / tried.program.hex()
    write_atomic(path, encode_tried(tried.with_approvals(checked)))


def check_approvals(
    session: Session,
    known: Approvals,
    wanted: Approvals,
    knowingly: bool,
    files: Collection[str] = (),
) -> Approvals:
    """Return what is wanted as it is approved, `known` being what was approved before.

    Raises `InvalidInput`: `protected_folder`, `protected_host` and `bad_host` for what nobody can
    approve, `too_many`; `consequences` for what was not approved before and has some, unless
    `knowingly`. Also `NotFound` (`no_path`).
    """
    places = list_own_places(session)
    paths = [*known.folders.values(), *known.write.values()]
    folders, write = (
        {
            name: path if path in paths else _resolve(path, is_file=name in files)
            for name, path in places_of.items()
        }
        for places_of in (wanted.folders, wanted.write)
    )
    new = [path for path in (*folders.values(), *write.values()) if path not in paths]
    for path in new:
        refusal = explain_refusal(path, places)
        if not os.path.isdir(path) and is_secret_file_name(os.path.basename(path).lower()):
            refusal = "it is called as keys are"
        if refusal:
            raise InvalidInput(
                f"no skill may read {path}: {refusal}",
                code="protected_folder",
                hint="approve a folder that has only what the skill reads",
            )
    hosts = tuple(
        dict.fromkeys(host if host in known.hosts else _check_host(host) for host in wanted.hosts)
    )
    if len(folders) + len(write) + len(hosts) > MAX_APPROVALS:
        raise InvalidInput(
            f"more than {MAX_APPROVALS} folders and hosts",
            code="too_many",
            hint="remove some with --remove",
        )
    found = [
        *(text for path in new if os.path.isdir(path) for text in _explain_folder(path, places)),
        *(text for host in hosts if host not in known.hosts for text in explain_host(host)),
    ]
    if found and not knowingly:
        raise InvalidInput(
            "; ".join(found),
            code="consequences",
            hint="if the skill needs that, repeat the command with --yes; in Python, approve it"
            " knowingly",
        )
    return replace(wanted, folders=folders, write=write, hosts=hosts)


def approve_needs(known: Approvals, needs: Needs) -> Approvals:
    """Return approvals with all that a program needs, but for places of this machine."""
    return replace(
        known,
        hosts=tuple(dict.fromkeys([*known.hosts, *needs.hosts])),
        secrets=tuple(needs.secrets),
        minutes=needs.minutes,
        memory_mb=needs.memory_mb,
    )


def find_missing(needs: Needs, known: Approvals) -> list[str]:
    """Return what a program needs that was not approved, a phrase each."""
    lacking = Needs(
        hosts=tuple(host for host in needs.hosts if host not in known.hosts),
        folders={
            name: access
            for name, access in needs.folders.items()
            if name not in (known.write if access == "write" else known.folders)
        },
        files=tuple(name for name in needs.files if name not in known.folders),
        secrets={
            name: secret for name, secret in needs.secrets.items() if name not in known.secrets
        },
        minutes=needs.minutes if needs.minutes > known.minutes else 0,
        memory_mb=needs.memory_mb if needs.memory_mb > known.memory_mb else 0,
    )
    return lacking.describe()


def read_files(needs: Needs, known: Approvals) -> dict[str, bytes]:
    """Return the contents of the approved files that a program needs, by name.

    Raises `InvalidInput` (`bad_file`) for one that cannot be read, or is larger than 10 MiB.
    """
    out = {}
    for name in needs.files:
        reason = f"it has more than {_MAX_FILE_BYTES} bytes"
        try:
            with open(os.open(known.folders[name], os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                out[name] = file.read(_MAX_FILE_BYTES + 1)
        except OSError as error:
            reason = error.strerror or "it cannot be read"
        if len(out.get(name, b"")) > _MAX_FILE_BYTES or name not in out:
            raise InvalidInput(
                f"the file {name} cannot be given to the skill: {reason}",
                code="bad_file",
                hint="approve another with `brain evolve allow SKILL --read NAME=PATH`",
            )
    return out


def write_files(known: Approvals, files: Mapping[str, bytes]) -> None:
    """Put what a program left in its write folders, as NAME/path, into the approved folders.

    Raises `InvalidInput` (`unsafe_write`) before the first is written, if one of them would leave
    its folder, also over a link in it.
    """
    targets: list[tuple[str, bytes]] = []
    for file, content in files.items():
        name, _, inner = file.partition("/")
        parts = inner.split("/")
        steps = [os.path.join(known.write.get(name, ""), *parts[:end]) for end in range(len(parts))]
        target = os.path.join(known.write.get(name, ""), inner)
        bad = name not in known.write or not inner.isprintable()
        bad = bad or any(part in ("", ".", "..") or part.startswith(".") for part in parts)
        if bad or any(map(os.path.islink, [*steps[1:], target])) or os.path.isdir(target):
            raise InvalidInput(
                f"the skill would write {printable_text(file, 100)}, no file in its folder",
                code="unsafe_write",
                hint="let it write plain names, none that begins with a dot and none of a link",
            )
        targets.append((target, content))
    for target, content in targets:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_atomic(Path(target), content)


def read_secrets(needs: Needs, known: Approvals) -> SecretValues:
    """Return the values of the approved secrets, from the environment of this process.

    Raises `InvalidInput` (`no_secret`) for one that has none here, or one that is too short to be
    found in what a host answers.
    """
    values = {name: os.environ.get(name, "") for name in needs.secrets if name in known.secrets}
    for name, value in values.items():
        if len(value) < MIN_SECRET_CHARS or not value.isprintable() or not value.isascii():
            raise InvalidInput(
                f"the secret {name} has no value here that can go into a request",
                code="no_secret",
                hint=f"set the environment variable {name}, at least {MIN_SECRET_CHARS} "
                "characters of ASCII, for the process of brain",
            )
    return SecretValues(needs, values)


def _resolve(path: str, *, is_file: bool) -> str:
    if not (os.path.isabs(path) and (os.path.isfile if is_file else os.path.isdir)(path)):
        kind = "file" if is_file else "folder"
        raise NotFound(
            f"{path} is not the absolute path of a {kind}",
            code="no_path",
            hint=f"name a {kind} that exists",
        )
    return os.path.realpath(path)


def _explain_folder(path: str, places: Sequence[str]) -> Iterator[str]:
    secret = [one.path for one in find_hidden(os.path.realpath(path), places) if one.is_secret]
    if secret:
        more = f" and {len(secret) - _MAX_NAMED} more" if len(secret) > _MAX_NAMED else ""
        named = ", ".join(map(printable_text, sorted(secret)[:_MAX_NAMED]))
        yield (
            f"{printable_text(path)} has keys or a brain ({named}{more}): these stay hidden, and"
            " the skill reads all else in it, also secrets under other names"
        )


def explain_host(host: str) -> Iterator[str]:
    """Yield what it means to approve a host that not everybody can reach."""
    address = read_address(_split_port(host)[0])
    if address is not None and find_scope(address) == "private":
        yield (
            f"{host} is this machine or in a private network, where services trust all who"
            " reach them: the skill can ask them as you can"
        )


def change_approvals(
    tried: Approvals,
    folders: Sequence[str],
    hosts: Sequence[str],
    write: Sequence[str] = (),
    *,
    remove: bool = False,
) -> Approvals:
    """Return the approvals of a program with more of them, or without these.

    A folder is given as its path, or as NAME=PATH. With `remove` and nothing else, nothing stays
    approved. Raises `InvalidInput` (`bad_host`, `protected_host`), or `NotFound` (`not_approved`).
    """
    hosts = [_check_host(host) if not remove or host not in tried.hosts else host for host in hosts]
    if not remove:
        return replace(
            tried,
            folders=_add(tried.folders, folders),
            write=_add(tried.write, write),
            hosts=tuple(dict.fromkeys([*tried.hosts, *hosts])),
        )
    paths = [path for _, path in map(_split_name, [*folders, *write])]
    if not paths and not hosts:
        return NOTHING_APPROVED
    known = (*tried.folders.values(), *tried.write.values(), *tried.hosts)
    if missing := sorted({*paths, *hosts}.difference(known)):
        raise NotFound(
            f"{missing[0]} is not approved",
            code="not_approved",
            hint="without options, `brain evolve allow` shows what is",
        )
    return replace(
        tried,
        folders={name: path for name, path in tried.folders.items() if path not in paths},
        write={name: path for name, path in tried.write.items() if path not in paths},
        hosts=tuple(host for host in tried.hosts if host not in hosts),
    )


def _split_name(place: str) -> tuple[str, str]:
    name, equals, path = place.partition("=")
    is_named = equals and _NAME.sub("-", name) == name and not os.path.exists(place)
    path = path if is_named else place
    return name if is_named else "", os.path.realpath(os.path.expanduser(path))


def _add(known: Mapping[str, str], places: Sequence[str]) -> dict[str, str]:
    """Add places, those without a name under one that no other has."""
    out = dict(known)
    for name, path in map(_split_name, places):
        if name or path not in out.values():
            base = _NAME.sub("-", os.path.basename(path)).strip(".-") or "folder"
            names = (f"{base}-{number}" if number > 1 else base for number in count(1))
            out[name or next(free for free in names if free not in out)] = path
    return out


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    return (name, colon + port) if colon else (host, "")


def _check_host(host: str) -> str:
    """Return the host as it is fetched from: in lower case, an address in its usual form."""
    lowered = host.lower()
    name, port = _split_port(lowered)
    if _HOST.fullmatch(lowered) is None or int(port[1:] or 1) > 0xFFFF:
        raise InvalidInput(
            f"not the name of a host: {printable_text(host, 80)}",
            code="bad_host",
            hint="write it without https:// and without a path, such as api.example.org",
        )
    address = read_address(name)
    if _LOCAL_NAME.fullmatch(lowered) or (address and find_scope(address) == "never"):
        raise InvalidInput(
            f"no skill may reach {lowered}: it is this machine, or has what is for it alone",
            code="protected_host",
            hint="name a public host, or a machine of a private network by its address",
        )
    return f"{address}{port}" if address else lowered
