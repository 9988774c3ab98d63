"""Read manifest.yaml: name, layout of new skills, memory in the prompt, and policies.

    name: auditor
    layout: directory          # or flat
    owner: 0x7099…             # the account that owns this brain on a chain; verify compares them
    prompt:
      system: [SOUL.md]        # who the agent is, after prompts/system.md
      memory:
        - path: MEMORY.md
          limit: 4000          # characters
        - memory/system/       # Markdown files at any depth; memory/*.md: directly in it
    commit:                    # when snapshots are committed to a ledger automatically
      ledger: local
      every: 10                # snapshots, or `after` a time; or whichever comes first
      after: 24h
      branch: main             # only snapshots on this branch
      signed: true             # only snapshots with enough signatures
    synthesis:                 # from which runs a configured model makes skills
      tools: 5                 # those with so many calls of tools, or
      recovery: true           # with a failed call and a later one that succeeded
    evolution:
      mode: propose            # what becomes of learned changes: propose, gated or off
      gaps:
        periodic: true         # look for gaps every hour; the report of a failure stays without
      budget:
        day: {tokens: 200000, cost: 2.5}  # the most that models may cost in a day (UTC)
    secrets:
      accepted: [0a1b2c3d4e5f6071]  # false positives of `brain secrets`, by id
    pinned: [vault]            # skills that are never rolled back or retired by a rule

Every field is optional; unknown ones are kept and ignored. The schema is
`schemas/manifest.json`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import BrainError, Conflict, FormatError, InvalidInput, printable_text
from ..named_tuple import NamedTuple
from ..objects import paths
from ..objects.collisions import find_file
from ..skills.skill_layout import LAYOUTS
from ..util.text import MILLION, parse_money
from .session import Session

MANIFEST_PATH = "manifest.yaml"
DEFAULT_MEMORY_LIMIT = 4000
"""Characters of a memory file in the prompt, if the manifest has no limit."""
FOLDER_ENDINGS = ("/*.md", "/")
"""Endings of a path that stands for the Markdown files in a folder, or at any depth."""
DEFAULT_LEDGER = "local"
"""The ledger of this machine, which needs no settings."""
_MAX_MEMORY_LIMIT = 1_000_000
_COMMIT_KEY = b"commit"
_LEARNING_KEYS = (b"synthesis", b"evolution", b"\\", b"\0")
"""Without any of these bytes a manifest sets neither; a backslash or UTF-16 may spell a key."""


class MemoryFile(NamedTuple):
    """A memory file that the prompt holds, up to `limit` characters.

    A path with one of `FOLDER_ENDINGS` stands for Markdown files of a folder.
    """

    path: str
    limit: int


class CommitPolicy(NamedTuple):
    """When a new snapshot is committed to a ledger.

    A commitment is due after `every` snapshots or `after` milliseconds since the last one,
    whichever comes first; None for no such rule. Only snapshots on `branch` ("" for any) are
    committed, and with `signed` only those with enough signatures.
    """

    ledger: str
    every: int | None
    after: int | None
    branch: str
    signed: bool


class SynthesisPolicy(NamedTuple):
    """Which runs are hard enough to make a skill from.

    Those with `tools` calls of tools or more, or, with `recovery`, with a failed call and a
    later one that succeeded.
    """

    tools: int
    recovery: bool


class Bounds(NamedTuple):
    """The most that models may cost: tokens in and out, and money in millionths; None for any."""

    tokens: int | None = None
    cost: int | None = None


NO_BOUNDS = Bounds()
MAX_COST = 1_000_000
"""The most money that a bound can name; a thousand times it, the most tokens."""
DEFAULT_SYNTHESIS = SynthesisPolicy(5, True)
GATED, PROPOSE, OFF = EVOLUTION_MODES = ("gated", "propose", "off")
"""What becomes of a learned change that passed the gate: the next version at once, or a proposal.

With "off" nothing is learned. The strictest is last.
"""
ALLOW = "allow"
PROVISIONAL_POLICIES = (ALLOW, PROPOSE, OFF)
"""What becomes of a change that only helps the very cases it was tried on, the strictest last.

With "allow" it goes live where the mode is "gated", with "propose" to a person; with "off" it is
kept as an attempt, as what is undecided.
"""
_MAX_MANIFEST_BYTES = 1 << 20


class Manifest(NamedTuple):
    """The content of manifest.yaml.

    `memory` is None if it is not stated; `accepted` are the ids of false positives of the scan
    for secrets. `home` is the kind of program whose home this brain is, "" if it is none.
    `pinned` are the slugs or paths of skills that no rule rolls back or retires. `evolution` is
    one of EVOLUTION_MODES, `provisional` one of PROVISIONAL_POLICIES. `gaps_are_periodic`
    tells when skills are learned from failed goals, `day` what models may cost in a day. `owner`
    is the address of the account that owns this brain on a chain, in lower case.
    """

    name: str
    layout: str
    memory: tuple[MemoryFile, ...] | None
    commit: CommitPolicy | None
    accepted: tuple[str, ...]
    system: tuple[str, ...]
    home: str
    synthesis: SynthesisPolicy = DEFAULT_SYNTHESIS
    pinned: tuple[str, ...] = ()
    evolution: str = PROPOSE
    gaps_are_periodic: bool = True
    provisional: str = PROPOSE
    day: Bounds = NO_BOUNDS
    owner: str = ""


DEFAULT_MANIFEST = Manifest("", "directory", None, None, (), (), "")


def load_manifest(session: Session, snapshot_id: bytes | None = None) -> Manifest:
    """Return the manifest at a snapshot, by default the head; or the default without one.

    Raises `InvalidInput` (`bad_manifest`).
    """
    content = read_recorded(session, snapshot_id or session.head())
    return DEFAULT_MANIFEST if content is None else parse_manifest(content)


def load_commit_policy(session: Session, snapshot_id: bytes) -> CommitPolicy | None:
    """Return the commit policy of a snapshot, None without one; raises as `load_manifest`."""
    content = read_recorded(session, snapshot_id)
    return parse_manifest(content).commit if content and _COMMIT_KEY in content else None


def read_commit_policy(session: Session) -> CommitPolicy | None:
    """Return the commit policy of the head; raises as `load_manifest`."""
    return load_commit_policy(session, session.head())


def load_learning_policy(session: Session) -> tuple[SynthesisPolicy, str]:
    """Return which runs are hard, and the mode of evolution; raises as `load_manifest`.

    The mode is the stricter one of the head and of the file in the folder: `off` there acts at
    once, a looser mode once it is recorded.
    """
    said = _read_both(session)
    mode = max((manifest.evolution for manifest in said), key=EVOLUTION_MODES.index)
    return said[0].synthesis, mode


def load_mode(session: Session) -> str:
    """Return what becomes of learned changes, as `load_learning_policy`: propose, gated or off."""
    return load_learning_policy(session)[1]


def read_synthesis_policy(session: Session) -> SynthesisPolicy:
    """Return which runs are hard enough to make a skill of; raises as `load_manifest`."""
    return load_manifest(session).synthesis


def load_is_periodic(session: Session) -> bool:
    """Tell whether gaps are looked for every hour; raises as `load_manifest`."""
    return load_manifest(session).gaps_are_periodic


def load_provisional_policy(session: Session) -> str:
    """Return what becomes of provisional changes, by the stricter one as for the mode."""
    said = _read_both(session)
    return max((manifest.provisional for manifest in said), key=PROVISIONAL_POLICIES.index)


def load_day_bounds(session: Session) -> Bounds:
    """Return what models may cost in a day, by the stricter one as for the mode."""
    said = zip(*(manifest.day for manifest in _read_both(session)), strict=True)
    return Bounds(*(min((one for one in row if one is not None), default=None) for row in said))


def _read_both(session: Session) -> list[Manifest]:
    """Return the manifest of the head, and that of the folder if it is another.

    They are asked for at the end of each run: one that says nothing of learning is not parsed.
    """
    recorded = read_recorded(session, session.head()) or b""
    written = _read_folder_manifest(session)
    return [
        parse_manifest(content)
        if any(key in content for key in _LEARNING_KEYS)
        else DEFAULT_MANIFEST
        for content in {recorded: None, written: None}
    ]


def refuse_off(mode: str) -> str:
    """Return a mode. Raises `Conflict` (`evolution_off`) if it is that nothing is learned."""
    if mode == OFF:
        raise Conflict(
            "this brain learns nothing: its manifest has the evolution mode off",
            code="evolution_off",
            hint="set `mode: propose` below `evolution:` in manifest.yaml",
        )
    return mode


def _read_folder_manifest(session: Session) -> bytes:
    """Return the manifest in the folder, b"" without one. Raises `InvalidInput`."""

    def open_unblocked(path: str, flags: int) -> int:
        return os.open(path, flags | os.O_NONBLOCK)  # a FIFO would keep every run waiting

    try:
        with open(session.root / MANIFEST_PATH, "rb", opener=open_unblocked) as file:
            content = file.read(_MAX_MANIFEST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise _bad_manifest_error(f"it cannot be read: {error.strerror}") from error
    if len(content) > _MAX_MANIFEST_BYTES:
        raise _bad_manifest_error("it is too large")
    return content


def may_have_commit_policy(session: Session, snapshot_id: bytes) -> bool:
    """Tell, without parsing, whether `load_commit_policy` may return a policy, or raise."""
    try:
        return _COMMIT_KEY in (read_recorded(session, snapshot_id) or b"")
    except BrainError:
        return True


def read_recorded(session: Session, snapshot_id: bytes) -> bytes | None:
    """Return the text of the manifest at a snapshot, None without one."""
    entry = find_file(session.state_of(snapshot_id), session.reader, MANIFEST_PATH)
    return session.reader.read_blob(entry.blob, entry.size) if entry else None


def find_manifest_problems(content: bytes) -> list[str]:
    """Return why a manifest is refused, else its unknown keys, which are ignored."""
    try:
        parse_manifest(content)
    except InvalidInput as error:
        return [error.message.removeprefix(f"{MANIFEST_PATH}: ")]
    return list(_find_unknown_keys(_load_fields(content)))


def _load_fields(content: bytes) -> dict[str, Any]:
    from ..skills.strict_yaml import load_yaml_file

    try:
        return load_yaml_file(content.decode("utf-8-sig"))
    except (InvalidInput, FormatError) as error:
        raise _bad_manifest_error(error.message) from error
    except UnicodeDecodeError as error:
        raise _bad_manifest_error("the text is not UTF-8") from error


def parse_manifest(content: bytes) -> Manifest:
    """Return the content of a manifest. Raises `InvalidInput` (`bad_manifest`)."""
    top = _read(_load_fields(content), "")
    prompt = _read(top.get("prompt"), "prompt")
    evolution = _read(top.get("evolution"), "evolution")
    day = _read(evolution.get("budget", {}).get("day"), "evolution.budget.day")
    memory = map(_parse_memory_file, prompt.get("memory", ()))
    return Manifest(
        name=top.get("name", ""),
        layout=top.get("layout", DEFAULT_MANIFEST.layout),
        memory=tuple(memory) if "memory" in prompt else None,
        commit=_parse_commit_policy(top.get("commit")),
        accepted=tuple(_read(top.get("secrets"), "secrets").get("accepted", ())),
        system=tuple(map(_parse_path, prompt.get("system", ()))),
        home=top.get("home", ""),
        synthesis=DEFAULT_SYNTHESIS._replace(**_read(top.get("synthesis"), "synthesis")),
        pinned=tuple(top.get("pinned", ())),
        evolution=evolution.get("mode", PROPOSE) or OFF,  # YAML 1.1 reads a bare `off` as false
        gaps_are_periodic=_read(evolution.get("gaps"), "evolution.gaps").get("periodic", True),
        provisional=evolution.get("provisional", PROPOSE) or OFF,
        day=Bounds(day.get("tokens"), _millionths(day["cost"]) if "cost" in day else None),
        owner=_format_owner(top.get("owner", "")),
    )


def _parse_memory_file(item: Any) -> MemoryFile:
    fields = {"path": item} if isinstance(item, str) else item
    if not isinstance(fields, dict) or not isinstance(fields.get("path"), str):
        raise _bad_manifest_error("each item of prompt.memory must be a path, or have one")
    known = _read(fields, "prompt.memory")
    path = known["path"]
    ending = next((ending for ending in FOLDER_ENDINGS if path.endswith(ending)), "")
    path = _parse_path(path.removesuffix(ending)) + ending
    return MemoryFile(path, known.get("limit", DEFAULT_MEMORY_LIMIT))


def _parse_path(text: Any) -> str:
    try:
        return paths.check_path(text if isinstance(text, str) else "")
    except InvalidInput as error:
        raise _bad_manifest_error(error.message) from error


def _parse_commit_policy(fields: dict[str, Any] | None) -> CommitPolicy | None:
    if fields is None:
        return None
    known = _read(fields, "commit")
    every, after = known.get("every"), None
    if "after" in known:
        period = str(known["after"])
        after = int(period[:-1]) * _UNIT_SECONDS[period[-1]] * 1000
    elif every is None:
        every = 1
    return CommitPolicy(
        known.get("ledger", DEFAULT_LEDGER),
        every,
        after,
        known.get("branch", ""),
        known.get("signed", False),
    )


# Which keys there are, and what is expected of each

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_Check = tuple[Callable[[Any], bool], str]
"""Tells whether a value will do, and what is said of one that will not: the key must …"""


def _read(fields: Any, section: str) -> dict[str, Any]:
    """Return the known keys of a section with a value, which is checked."""
    known = {}
    for key, (is_valid, must) in MANIFEST_KEYS[section].items():
        if (value := (fields or {}).get(key)) is None:
            continue
        if not is_valid(value):
            raise _bad_manifest_error(f"{f'{section}.' if section else ''}{key} must {must}")
        known[key] = value
    return known


def _settings(example: str) -> _Check:
    return lambda value: isinstance(value, dict), f"hold settings, such as {example}"


def _texts(words: str) -> _Check:
    return (
        lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
        words,
    )


def _whole(words: str, most: int = sys.maxsize) -> _Check:
    return lambda value: type(value) is int and 1 <= value <= most, words


def _word(words: tuple[str, ...]) -> _Check:
    def is_valid(value: Any) -> bool:
        return value in words or (value is False and OFF in words)

    return is_valid, f"be one of {', '.join(words)}"


def _is_period(value: Any) -> bool:
    import re

    return re.fullmatch(r"[1-9][0-9]{0,5}[smhd]", str(value), re.ASCII) is not None


def _format_owner(value: Any) -> str:
    """Return an address in lower case; YAML 1.1 reads one without quotes as a number."""
    return f"0x{value:040x}" if type(value) is int else str(value).lower()


def _is_budget(value: Any) -> bool:
    """Tell whether this is a budget with nothing unknown: a mistyped bound would bound nothing."""
    day = value.get("day") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(day, dict) or not day or None in day.values():
        return False
    return not day.keys() - MANIFEST_KEYS["evolution.budget.day"].keys()


def _millionths(cost: Any) -> int:
    return parse_money("" if isinstance(cost, bool) else str(cost))


_TEXT: _Check = lambda value: isinstance(value, str), "be text"
_NAME: _Check = lambda value: isinstance(value, str) and value != "", "be a name"
_FLAG: _Check = lambda value: isinstance(value, bool), "be true or false"
_LIST: _Check = lambda value: isinstance(value, list), "be a list"
MANIFEST_KEYS: Mapping[str, Mapping[str, _Check]] = {
    "": {
        "name": _TEXT,
        "layout": _word(LAYOUTS),
        "home": _TEXT,
        "owner": (lambda value: True, ""),  # what is no address is refused by `verify --ledger`
        "prompt": _settings("memory"),
        "commit": _settings("ledger"),
        "secrets": _settings("accepted"),
        "synthesis": _settings("tools"),
        "pinned": _texts("be a list of skills, by slug or path"),
        "evolution": _settings("mode"),
    },
    "prompt": {"system": _LIST, "memory": _LIST},
    "prompt.memory": {
        "path": _TEXT,
        "limit": _whole(f"be a number from 1 to {_MAX_MEMORY_LIMIT}", _MAX_MEMORY_LIMIT),
    },
    "commit": {
        "ledger": _NAME,
        "every": _whole("be a number of snapshots, 1 or more"),
        "after": (_is_period, "be a period such as 30m, 24h or 7d"),
        "branch": _TEXT,
        "signed": _FLAG,
    },
    "secrets": {"accepted": _texts("be a list of ids, in quotes")},
    "synthesis": {"tools": _whole("be a number of calls, 1 or more"), "recovery": _FLAG},
    "evolution": {
        "mode": _word(EVOLUTION_MODES),
        "gaps": _settings("periodic"),
        "provisional": _word(PROVISIONAL_POLICIES),
        "budget": (_is_budget, "hold day, and that tokens, cost or both, and nothing else"),
    },
    "evolution.gaps": {"periodic": _FLAG},
    "evolution.budget": {"day": _settings("tokens")},
    "evolution.budget.day": {
        "tokens": _whole(f"be a whole number from 1 to {MAX_COST * 1000}", MAX_COST * 1000),
        "cost": (
            lambda value: 0 < _millionths(value) <= MAX_COST * MILLION,
            f"be a number above 0, to {MAX_COST}",
        ),
    },
}
"""Section to its keys; "" is the top, and the items of `prompt.memory` are maps."""


def _bad_manifest_error(problem: str) -> InvalidInput:
    return InvalidInput(
        f"manifest.yaml: {problem}",
        code="bad_manifest",
        hint="correct it, or bring back an earlier one with `brain restore REV manifest.yaml`",
    )


def render_manifest(name: str, layout: str) -> bytes:
    """Return the text of a new manifest. Raises `InvalidInput` (`bad_manifest`)."""
    from json import dumps

    if layout not in LAYOUTS:
        raise _bad_manifest_error(f"layout must be one of {', '.join(LAYOUTS)}")
    # A JSON string is a YAML string, whatever is in it.
    return f"name: {dumps(name)}\nlayout: {layout}\n".encode()


def _find_unknown_keys(fields: Mapping[str, Any]) -> Iterator[str]:
    from difflib import get_close_matches

    for section, keys in MANIFEST_KEYS.items():
        value: Any = fields
        for name in filter(None, section.split(".")):
            value = value.get(name) if isinstance(value, Mapping) else None
        maps = [one for one in (value if isinstance(value, list) else [value]) if one]
        for key in [str(key) for one in maps if isinstance(one, Mapping) for key in one]:
            if key in keys:
                continue
            near = get_close_matches(key, keys, 1)
            elsewhere = [name for name, known in MANIFEST_KEYS.items() if key in known]
            hint = f"; did you mean {near[0]}?" if near else ""
            if elsewhere and not near:
                hint = f"; it belongs to {elsewhere[0] or 'the top'}"
            place = f" in {section}" if section else ""
            yield f"unknown key{place}, ignored: {printable_text(key, 80)}{hint}"
