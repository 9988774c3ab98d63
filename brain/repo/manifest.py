"""Read manifest.yaml: name, layout of new skills, memory in the prompt, and policies.

    name: auditor
    layout: directory          # or flat
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
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BrainError, Conflict, FormatError, InvalidInput, printable_text
from ..named_tuple import NamedTuple
from ..objects import paths
from ..objects.collisions import find_file
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
PROPOSE, GATED, OFF = EVOLUTION_MODES = ("propose", "gated", "off")
"""What becomes of a learned change that passed the gate: a proposal, or the next version at once.

With "off" nothing is learned.
"""
_BY_STRICTNESS = (GATED, PROPOSE, OFF)
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
    tells when skills are learned from failed goals, `day` what models may cost in a day.
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


DEFAULT_MANIFEST = Manifest("", "directory", None, None, (), (), "")


def load_manifest(session: Session, snapshot_id: bytes | None = None) -> Manifest:
    """Return the manifest at a snapshot, by default the head; or the default without one.

    Raises `InvalidInput` (`bad_manifest`).
    """
    content = _read_manifest(session, snapshot_id or session.head())
    return DEFAULT_MANIFEST if content is None else parse_manifest(content)


def load_commit_policy(session: Session, snapshot_id: bytes) -> CommitPolicy | None:
    """Return the commit policy of a snapshot, None without one; raises as `load_manifest`."""
    content = _read_manifest(session, snapshot_id)
    return (
        parse_manifest(content).commit if content is not None and _COMMIT_KEY in content else None
    )


def read_commit_policy(session: Session) -> CommitPolicy | None:
    """Return the commit policy of the manifest. Raises `InvalidInput` (`bad_manifest`)."""
    return load_commit_policy(session, session.head())


def load_learning_policy(session: Session) -> tuple[SynthesisPolicy, str]:
    """Return which runs are hard, and the mode of evolution; raises as `load_manifest`.

    The mode is the stricter one of the head and of the file in the folder: `off` there acts at
    once, a looser mode once it is recorded. This is asked at the end of
    each run, so a manifest that says nothing of them is not parsed.
    """
    said = _read_both(session)
    mode = max((manifest.evolution for manifest in said), key=_BY_STRICTNESS.index)
    return said[0].synthesis, mode


def load_mode(session: Session) -> str:
    """Return what becomes of learned changes: propose, gated or off.

    That is the stricter one of what the head says and what manifest.yaml in the folder says.
    Raises `InvalidInput` (`bad_manifest`).
    """
    return load_learning_policy(session)[1]


def read_synthesis_policy(session: Session) -> SynthesisPolicy:
    """Return which runs are hard enough to make a skill of, by the manifest of the head.

    Raises `InvalidInput` (`bad_manifest`).
    """
    return load_manifest(session).synthesis


def load_is_periodic(session: Session) -> bool:
    """Tell whether gaps are looked for every hour, as the manifest says.

    Raises `InvalidInput` (`bad_manifest`).
    """
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
    """Return the manifest of the head, and that of the folder if it is another."""
    recorded = _read_manifest(session, session.head()) or b""
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


def _open_unblocked(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a FIFO would keep every run waiting


def _read_folder_manifest(session: Session) -> bytes:
    """Return the manifest in the folder, b"" without one. Raises `InvalidInput`."""
    try:
        with open(session.root / MANIFEST_PATH, "rb", opener=_open_unblocked) as file:
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
        return _COMMIT_KEY in (_read_manifest(session, snapshot_id) or b"")
    except BrainError:
        return True


def _read_manifest(session: Session, snapshot_id: bytes) -> bytes | None:
    bundle = session.bundle_of(snapshot_id)
    entry = find_file(session.nodes, bundle, session.reader, MANIFEST_PATH)
    return session.reader.read_blob(entry.blob, entry.size) if entry else None


def find_recorded_problems(session: Session) -> list[str]:
    """Return the problems of the manifest at the head; none without one."""
    content = _read_manifest(session, session.head())
    return [] if content is None else find_manifest_problems(content)


def find_manifest_problems(content: bytes) -> list[str]:
    """Return why a manifest is refused, else its unknown keys, which are ignored."""

    try:
        parse_manifest(content)
    except InvalidInput as error:
        return [error.message.removeprefix(f"{MANIFEST_PATH}: ")]
    return list(find_unknown_keys(_load_fields(content)))


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
    fields = _load_fields(content)
    name, home = fields.get("name", ""), fields.get("home", "")
    if not isinstance(name, str) or not isinstance(home, str):
        raise _bad_manifest_error("name and home must be text")
    layout = fields.get("layout", DEFAULT_MANIFEST.layout)
    _check_layout(layout)
    prompt = fields.get("prompt", {})
    if not isinstance(prompt, dict):
        raise _bad_manifest_error("prompt must hold settings, such as memory")
    memory = (
        tuple(map(_parse_memory_file, _require_list(prompt, "memory")))
        if "memory" in prompt
        else None
    )
    system = tuple(map(_parse_path, _require_list(prompt, "system")))
    accepted = _parse_accepted_ids(fields.get("secrets", {}))
    synthesis = _parse_synthesis_policy(_parse_settings(fields, "synthesis", "tools"))
    commit = _parse_commit_policy(_parse_settings(fields, "commit", "ledger"))
    pinned = _parse_pinned_skills(fields.get("pinned"))
    evolution = _parse_settings(fields, "evolution", "mode") or {}
    mode = _parse_evolution_word(evolution, "mode", EVOLUTION_MODES)
    provisional = _parse_evolution_word(evolution, "provisional", PROVISIONAL_POLICIES)
    gaps = _parse_settings(evolution, "evolution.gaps", "periodic") or {}
    periodic = gaps.get("periodic", True)
    if not isinstance(periodic, bool):
        raise _bad_manifest_error("evolution.gaps.periodic must be true or false")
    return Manifest(
        *(name, layout, memory, commit, accepted, system, home, synthesis, pinned, mode, periodic),
        provisional=provisional,
        day=_parse_day_bounds(evolution.get("budget")),
    )


def _parse_settings(fields: Mapping[str, Any], key: str, example: str) -> dict[str, Any] | None:
    """Return a map of settings, None without one; `key` is its full name."""
    found = fields.get(key.rpartition(".")[2])
    if found is None or isinstance(found, dict):
        return found
    raise _bad_manifest_error(f"{key} must hold settings, such as {example}")


def _parse_day_bounds(budget: Any) -> Bounds:
    if budget is None:
        return NO_BOUNDS
    day = budget.get("day") if isinstance(budget, dict) and len(budget) == 1 else None
    if not isinstance(day, dict) or not day or day.keys() - {"tokens", "cost"}:
        raise _bad_manifest_error(
            "evolution.budget must hold day, and that tokens, cost or both, and nothing else"
        )
    tokens, most = day.get("tokens"), MAX_COST * 1_000
    if "tokens" in day and (type(tokens) is not int or not 0 < tokens <= most):
        raise _bad_manifest_error(f"a budget of tokens must be a whole number from 1 to {most}")
    if "cost" not in day:
        return Bounds(tokens)
    cost = day["cost"]
    amount = parse_money("" if isinstance(cost, bool) else str(cost))
    if not 0 < amount <= MAX_COST * MILLION:
        raise _bad_manifest_error(f"a budget of cost must be a number above 0, to {MAX_COST}")
    return Bounds(tokens, amount)


def _require_list(prompt: dict[str, Any], key: str) -> list[Any]:
    found = prompt.get(key, [])
    if not isinstance(found, list):
        raise _bad_manifest_error(f"prompt.{key} must be a list")
    return found


def _parse_memory_file(item: Any) -> MemoryFile:
    fields = {"path": item} if isinstance(item, str) else item
    if not isinstance(fields, dict) or not isinstance(fields.get("path"), str):
        raise _bad_manifest_error("each item of prompt.memory must be a path, or have one")
    limit = fields.get("limit", DEFAULT_MEMORY_LIMIT)
    if type(limit) is not int or not 0 < limit <= _MAX_MEMORY_LIMIT:
        raise _bad_manifest_error(
            f"a limit in prompt.memory must be a number from 1 to {_MAX_MEMORY_LIMIT}"
        )
    path = fields["path"]
    ending = next((ending for ending in FOLDER_ENDINGS if path.endswith(ending)), "")
    return MemoryFile(_parse_path(path.removesuffix(ending)) + ending, limit)


def _parse_path(text: Any) -> str:
    try:
        return paths.check_path(text if isinstance(text, str) else "")
    except InvalidInput as error:
        raise _bad_manifest_error(error.message) from error


def _parse_commit_policy(fields: dict[str, Any] | None) -> CommitPolicy | None:
    if fields is None:
        return None
    ledger, branch = fields.get("ledger", DEFAULT_LEDGER), fields.get("branch", "")
    signed, every = fields.get("signed", False), fields.get("every")
    if not isinstance(ledger, str) or not ledger or not isinstance(branch, str):
        raise _bad_manifest_error("commit.ledger and commit.branch must be names")
    if not isinstance(signed, bool):
        raise _bad_manifest_error("commit.signed must be true or false")
    if every is not None and (type(every) is not int or every < 1):
        raise _bad_manifest_error("commit.every must be a number of snapshots, 1 or more")
    after = _parse_period_ms(fields["after"]) if "after" in fields else None
    if every is None and after is None:
        every = 1
    return CommitPolicy(ledger, every, after, branch, signed)


def _parse_accepted_ids(fields: Any) -> tuple[str, ...]:
    ids = fields.get("accepted", []) if isinstance(fields, dict) else None
    if not isinstance(ids, list) or not all(isinstance(name, str) for name in ids):
        raise _bad_manifest_error("secrets.accepted must be a list of ids, in quotes")
    return tuple(ids)


def _parse_pinned_skills(names: Any) -> tuple[str, ...]:
    listed = [] if names is None else names
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise _bad_manifest_error("pinned must be a list of skills, by slug or path")
    return tuple(listed)


def _parse_synthesis_policy(fields: dict[str, Any] | None) -> SynthesisPolicy:
    if fields is None:
        return DEFAULT_SYNTHESIS
    tools = fields.get("tools", DEFAULT_SYNTHESIS.tools)
    recovery = fields.get("recovery", DEFAULT_SYNTHESIS.recovery)
    if type(tools) is not int or tools < 1:
        raise _bad_manifest_error("synthesis.tools must be a number of calls, 1 or more")
    if not isinstance(recovery, bool):
        raise _bad_manifest_error("synthesis.recovery must be true or false")
    return SynthesisPolicy(tools, recovery)


def _parse_evolution_word(fields: dict[str, Any], key: str, words: tuple[str, ...]) -> str:
    word = fields.get(key, PROPOSE)
    if word is False:  # YAML 1.1 reads a bare `off` as false
        return OFF
    if word not in words:
        raise _bad_manifest_error(f"evolution.{key} must be one of {', '.join(words)}")
    return str(word)


def _parse_period_ms(text: Any) -> int:
    """Return a period such as 30m, 24h or 7d in milliseconds."""
    import re

    found = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", str(text), re.ASCII)
    if found is None:
        raise _bad_manifest_error("commit.after must be a period such as 30m, 24h or 7d")
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]] * 1000


def _check_layout(layout: object) -> None:
    from ..skills.skill_layout import LAYOUTS

    if layout not in LAYOUTS:
        raise _bad_manifest_error(f"layout must be one of {', '.join(LAYOUTS)}")


def _bad_manifest_error(problem: str) -> InvalidInput:
    return InvalidInput(
        f"manifest.yaml: {problem}",
        code="bad_manifest",
        hint="correct it, or bring back an earlier one with `brain restore REV manifest.yaml`",
    )


def render_manifest(name: str, layout: str) -> bytes:
    """Return the text of a new manifest. Raises `InvalidInput` (`bad_manifest`)."""
    from json import dumps

    _check_layout(layout)
    # A JSON string is a YAML string, whatever is in it.
    return f"name: {dumps(name)}\nlayout: {layout}\n".encode()


MANIFEST_KEYS: Mapping[str, tuple[str, ...]] = {
    "": (
        "name",
        "layout",
        "home",
        "prompt",
        "commit",
        "secrets",
        "synthesis",
        "pinned",
        "evolution",
    ),
    "prompt": ("system", "memory"),
    "prompt.memory": ("path", "limit"),
    "commit": ("ledger", "every", "after", "branch", "signed"),
    "secrets": ("accepted",),
    "synthesis": ("tools", "recovery"),
    "evolution": ("mode", "gaps", "provisional", "budget"),
    "evolution.budget": ("day",),
    "evolution.budget.day": ("tokens", "cost"),
    "evolution.gaps": ("periodic",),
}
"""Section to its keys; "" is the top, and the items of `prompt.memory` are maps."""


def find_unknown_keys(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each key that no version of the manifest knows."""
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
