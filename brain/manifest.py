"""manifest.yaml: the name of a brain, the layout of new skills, what the prompt holds.

    name: auditor
    layout: directory          # or flat
    prompt:
      memory:
        - path: MEMORY.md
          limit: 4000          # characters

Every field may be left out; unknown ones are kept and ignored. The schema is
`schemas/manifest.json`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .errors import FormatError, InvalidInput
from .objects import bundle as bundles
from .objects import paths
from .session import Session

PATH = "manifest.yaml"
LAYOUTS = ("directory", "flat")
DEFAULT_LIMIT = 4000
"""Characters of a memory file in the prompt, where the manifest states no limit."""
_MAX_LIMIT = 1_000_000


class MemoryFile(NamedTuple):
    """A memory file that the prompt holds, up to `limit` characters."""

    path: str
    limit: int


class Manifest(NamedTuple):
    """What manifest.yaml says."""

    name: str
    layout: str
    memory: tuple[MemoryFile, ...]


DEFAULT = Manifest("", "directory", ())


def load(session: Session, snapshot_id: bytes | None = None) -> Manifest:
    """Return the manifest at a snapshot, by default the head; the default where there is none.

    Raises `InvalidInput` (`bad_manifest`).
    """
    bundle = session.bundle_of(snapshot_id or session.head())
    entry = bundles.get(session.nodes, bundle, PATH)
    return parse(session.reader.read_blob(entry.blob)) if entry else DEFAULT


def parse(content: bytes) -> Manifest:
    """Return what the text of a manifest says. Raises `InvalidInput` (`bad_manifest`)."""
    from .skills.strict_yaml import load_mapping

    try:
        fields = load_mapping(content.decode("utf-8-sig"))
    except (InvalidInput, FormatError) as error:
        raise _bad(error.message) from error
    except UnicodeDecodeError as error:
        raise _bad("it is not UTF-8") from error
    name = fields.get("name", "")
    if not isinstance(name, str):
        raise _bad("name is not text")
    layout = fields.get("layout", DEFAULT.layout)
    if layout not in LAYOUTS:
        raise _bad(f"layout is neither of {', '.join(LAYOUTS)}")
    prompt = fields.get("prompt", {})
    if not isinstance(prompt, dict) or not isinstance(prompt.get("memory", []), list):
        raise _bad("prompt.memory is not a list")
    return Manifest(name, layout, tuple(map(_memory, prompt.get("memory", []))))


def _memory(item: Any) -> MemoryFile:
    fields = {"path": item} if isinstance(item, str) else item
    if not isinstance(fields, dict) or not isinstance(fields.get("path"), str):
        raise _bad("an item of prompt.memory has no path")
    limit = fields.get("limit", DEFAULT_LIMIT)
    if type(limit) is not int or not 0 < limit <= _MAX_LIMIT:
        raise _bad(f"a limit is not a number from 1 to {_MAX_LIMIT}")
    try:
        return MemoryFile(paths.check(fields["path"]), limit)
    except InvalidInput as error:
        raise _bad(error.message) from error


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
