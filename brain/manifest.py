"""manifest.yaml: the name of a brain, the layout of new skills, what the prompt holds.

    name: auditor
    layout: directory          # or flat
    prompt:
      system: [SOUL.md]        # who the agent is, after prompts/system.md
      memory:
        - path: MEMORY.md
          limit: 4000          # characters
        - memory/system/       # the Markdown files below a folder; in it: memory/*.md
    commit:                    # when snapshots go to a ledger by themselves
      ledger: local
      every: 10                # snapshots; and, or, after so long:
      after: 24h
      branch: main             # only what has reached this branch
      signed: true             # only what those have signed who may
    synthesis:                 # which work a model, if one is configured, makes skills of
      tools: 5                 # that took so many calls of tools, or
      recovery: true           # in which a call failed and a later one did not
    secrets:
      accepted: [0a1b2c3d4e5f6071]  # ids of findings of `brain secrets` that are none

Every field may be left out; unknown ones are kept and ignored. The schema is
`schemas/manifest.json`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .errors import BrainError, FormatError, InvalidInput
from .objects import bundle as bundles
from .objects import paths
from .session import Session

PATH = "manifest.yaml"
LAYOUTS = ("directory", "flat")
DEFAULT_LIMIT = 4000
"""Characters of a memory file in the prompt, where the manifest states no limit."""
FOLDER_ENDINGS = ("/*.md", "/")
"""Ends of a path that means the Markdown files in a folder, or all below it."""
DEFAULT_LEDGER = "local"
"""The ledger that needs no set-up."""
_MAX_LIMIT = 1_000_000
_COMMIT = b"commit"


class MemoryFile(NamedTuple):
    """A memory file that the prompt holds, up to `limit` characters.

    A path with one of `FOLDER_ENDINGS` stands for Markdown files of a folder.
    """

    path: str
    limit: int


class CommitPolicy(NamedTuple):
    """When a new snapshot is committed to a ledger: what is due, if it may be.

    Due after `every` snapshots or `after` milliseconds since the last commitment,
    whichever comes first; None for no such rule. It may be if it is on `branch`
    ("" for any) and, with `signed`, if those have signed who have to.
    """

    ledger: str
    every: int | None
    after: int | None
    branch: str
    signed: bool


class SynthesisPolicy(NamedTuple):
    """Which work is hard enough to make a skill of it.

    That which took `tools` calls of tools or more, or, with `recovery`, in which a call
    failed and a later one did not.
    """

    tools: int
    recovery: bool


DEFAULT_SYNTHESIS = SynthesisPolicy(5, True)


class Manifest(NamedTuple):
    """What manifest.yaml says.

    `memory` is None where it does not say; `accepted` are the ids of secrets that are none.
    `home` is the kind of program whose home this brain is, "" where paths are a brain's own.
    """

    name: str
    layout: str
    memory: tuple[MemoryFile, ...] | None
    commit: CommitPolicy | None
    accepted: tuple[str, ...]
    system: tuple[str, ...]
    home: str
    synthesis: SynthesisPolicy = DEFAULT_SYNTHESIS


DEFAULT = Manifest("", "directory", None, None, (), (), "")


def load(session: Session, snapshot_id: bytes | None = None) -> Manifest:
    """Return the manifest at a snapshot, by default the head; the default where there is none.

    Raises `InvalidInput` (`bad_manifest`).
    """
    content = _read(session, snapshot_id or session.head())
    return DEFAULT if content is None else parse(content)


def commit_policy(session: Session, snapshot_id: bytes) -> CommitPolicy | None:
    """Return what the manifest of a snapshot says of commitments; raises as `load`."""
    content = _read(session, snapshot_id)
    return parse(content).commit if content is not None and _COMMIT in content else None


def may_commit(session: Session, snapshot_id: bytes) -> bool:
    """Tell, without a parse, whether `commit_policy` has something to say, or to complain of."""
    try:
        return _COMMIT in (_read(session, snapshot_id) or b"")
    except BrainError:
        return True


def _read(session: Session, snapshot_id: bytes) -> bytes | None:
    entry = bundles.get(session.nodes, session.bundle_of(snapshot_id), PATH)
    return session.reader.read_blob(entry.blob, entry.size) if entry else None


def parse(content: bytes) -> Manifest:
    """Return what the text of a manifest says. Raises `InvalidInput` (`bad_manifest`)."""
    from .skills.strict_yaml import load_mapping

    try:
        fields = load_mapping(content.decode("utf-8-sig"))
    except (InvalidInput, FormatError) as error:
        raise _bad(error.message) from error
    except UnicodeDecodeError as error:
        raise _bad("it is not UTF-8") from error
    name, home = fields.get("name", ""), fields.get("home", "")
    if not isinstance(name, str) or not isinstance(home, str):
        raise _bad("name or home is not text")
    layout = fields.get("layout", DEFAULT.layout)
    if layout not in LAYOUTS:
        raise _bad(f"layout is neither of {', '.join(LAYOUTS)}")
    prompt = fields.get("prompt", {})
    if not isinstance(prompt, dict):
        raise _bad("prompt is not a list of settings")
    memory = tuple(map(_memory, _listed(prompt, "memory"))) if "memory" in prompt else None
    system = tuple(map(_path, _listed(prompt, "system")))
    accepted = _accepted(fields.get("secrets", {}))
    synthesis = _synthesis(fields.get("synthesis"))
    commit = _commit(fields.get("commit"))
    return Manifest(name, layout, memory, commit, accepted, system, home, synthesis)


def _listed(prompt: dict[str, Any], key: str) -> list[Any]:
    found = prompt.get(key, [])
    if not isinstance(found, list):
        raise _bad(f"prompt.{key} is not a list")
    return found


def _memory(item: Any) -> MemoryFile:
    fields = {"path": item} if isinstance(item, str) else item
    if not isinstance(fields, dict) or not isinstance(fields.get("path"), str):
        raise _bad("an item of prompt.memory has no path")
    limit = fields.get("limit", DEFAULT_LIMIT)
    if type(limit) is not int or not 0 < limit <= _MAX_LIMIT:
        raise _bad(f"a limit is not a number from 1 to {_MAX_LIMIT}")
    path = fields["path"]
    ending = next((ending for ending in FOLDER_ENDINGS if path.endswith(ending)), "")
    return MemoryFile(_path(path.removesuffix(ending)) + ending, limit)


def _path(text: Any) -> str:
    try:
        return paths.check(text if isinstance(text, str) else "")
    except InvalidInput as error:
        raise _bad(error.message) from error


def _commit(fields: Any) -> CommitPolicy | None:
    if fields is None:
        return None
    if not isinstance(fields, dict):
        raise _bad("commit is not a list of settings")
    ledger, branch = fields.get("ledger", DEFAULT_LEDGER), fields.get("branch", "")
    signed, every = fields.get("signed", False), fields.get("every")
    if not isinstance(ledger, str) or not ledger or not isinstance(branch, str):
        raise _bad("commit.ledger or commit.branch is not a name")
    if not isinstance(signed, bool):
        raise _bad("commit.signed is neither true nor false")
    if every is not None and (type(every) is not int or every < 1):
        raise _bad("commit.every is not a number of snapshots")
    after = _period(fields["after"]) if "after" in fields else None
    if every is None and after is None:
        every = 1
    return CommitPolicy(ledger, every, after, branch, signed)


def _accepted(fields: Any) -> tuple[str, ...]:
    ids = fields.get("accepted", []) if isinstance(fields, dict) else None
    if not isinstance(ids, list) or not all(isinstance(name, str) for name in ids):
        raise _bad("secrets.accepted is not a list of ids, in quotes")
    return tuple(ids)


def _synthesis(fields: Any) -> SynthesisPolicy:
    if fields is None:
        return DEFAULT_SYNTHESIS
    if not isinstance(fields, dict):
        raise _bad("synthesis is not a list of settings")
    tools = fields.get("tools", DEFAULT_SYNTHESIS.tools)
    recovery = fields.get("recovery", DEFAULT_SYNTHESIS.recovery)
    if type(tools) is not int or tools < 1:
        raise _bad("synthesis.tools is not a number of calls")
    if not isinstance(recovery, bool):
        raise _bad("synthesis.recovery is neither true nor false")
    return SynthesisPolicy(tools, recovery)


def _period(text: Any) -> int:
    """Return a period such as 30m, 24h or 7d in milliseconds."""
    import re

    found = re.fullmatch(r"([1-9][0-9]{0,5})([smhd])", str(text), re.ASCII)
    if found is None:
        raise _bad("commit.after is not a period such as 30m, 24h or 7d")
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]] * 1000


def _bad(what: str) -> InvalidInput:
    return InvalidInput(
        f"manifest.yaml: {what}", code="bad_manifest", hint="see schemas/manifest.json"
    )


def new(name: str, layout: str) -> bytes:
    """Return the text of a new manifest. Raises `InvalidInput` (`bad_manifest`)."""
    from json import dumps

    if layout not in LAYOUTS:
        raise _bad(f"layout is neither of {', '.join(LAYOUTS)}")
    # A JSON string is a YAML string, whatever is in it.
    return f"name: {dumps(name)}\nlayout: {layout}\n".encode()
