"""Import the registry of another assistant's acquired skills: an index and a file for each.

`skills_registry.json` or `index.json` maps names to entries such as `{"description": …,
"parameters_schema": {…}}`; the code of a skill is NAME.py beside it. All of it is read and checked
before anything is written, so a registry that cannot be read imports nothing. Nothing is run: each
skill comes as not admitted.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BrainError, InvalidInput, NotFound, printable_text
from ..programs import CASES_FILE, PROGRAM_FILE, SCHEMA_FILE
from ..programs.parameters import check_schema, encode_schema
from ..programs.program import Program, check_tool_name
from ..programs.python_code import normalize_source
from ..results import ImportedRegistry, ImportedSkill, RefusedSkill
from ..util import strict_json
from .acquire import build_skill_text

if TYPE_CHECKING:
    from ..api.brain import Brain

REGISTRY_FILES = ("skills_registry.json", "index.json")
MAX_REGISTRY_BYTES = 8 << 20
MAX_REGISTRY_SKILLS = 1000
MAX_CODE_BYTES = 1 << 20
_MAX_DEPTH = 64
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_ANY_OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySkill:
    """A skill of a registry: its program without tests, and what its schema lost."""

    name: str
    slug: str
    description: str
    files: Mapping[str, bytes]
    note: str = ""


def import_registry(brain: Brain, folder: Path) -> ImportedRegistry:
    """Write the acquired skills of another assistant, each as not admitted.

    `folder` has their registry and files; the same again changes nothing. Raises `InvalidInput`
    (`bad_registry`) for an index that is damaged, `NotFound` (`no_registry`), and what an upsert
    raises.
    """
    skills, refused = read_registry(folder)
    imported = [_write(brain, skill) for skill in skills]
    return ImportedRegistry(skills=imported, refused=refused)


def read_registry(folder: Path) -> tuple[list[RegistrySkill], list[RefusedSkill]]:
    """Return the skills of a registry, and those that are left out. Raises as `import_registry`."""
    found: list[RegistrySkill] = []
    refused: list[RefusedSkill] = []
    for name, entry in _read_index(folder):
        try:
            found.append(_read_skill(folder, name, entry))
        except BrainError as error:
            refused.append(RefusedSkill(printable_text(name, 80), error.message))
    return found, refused


def _read_index(folder: Path) -> Iterator[tuple[str, Any]]:
    paths = [folder / name for name in REGISTRY_FILES if (folder / name).is_file()]
    if not paths:
        raise NotFound(
            f"{printable_text(folder)} has no registry of skills",
            code="no_registry",
            hint=f"name the folder with {' or '.join(REGISTRY_FILES)}",
        )
    data = _read_file(paths[0], MAX_REGISTRY_BYTES)
    try:
        index = strict_json.parse_bounded(data, _MAX_DEPTH)
    except ValueError as error:
        raise _registry_error(paths[0], str(error)) from error
    entries = index.get("skills", index) if isinstance(index, dict) else index
    if isinstance(entries, list):
        entries = {_name_of(paths[0], entry): entry for entry in entries}
    if not isinstance(entries, dict):
        raise _registry_error(paths[0], "it does not map names to skills")
    if len(entries) > MAX_REGISTRY_SKILLS:
        raise _registry_error(paths[0], f"it has more than {MAX_REGISTRY_SKILLS} skills")
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise _registry_error(paths[0], f"the entry of {printable_text(name, 80)} is no object")
    yield from entries.items()


def _name_of(path: Path, entry: Any) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str):
        raise _registry_error(path, "an entry has no name")
    return name


def _read_skill(folder: Path, name: str, entry: Mapping[str, Any]) -> RegistrySkill:
    if _NAME.fullmatch(name) is None or keyword.iskeyword(name):
        raise InvalidInput("its name is unsafe", code="bad_tool_name", hint="rename it")
    slug = check_tool_name(name)
    path = folder / f"{name}.py"
    if path.is_symlink() or not path.is_file():
        raise NotFound(f"the file {name}.py is missing", code="no_code", hint="restore the file")
    code = _read_file(path, MAX_CODE_BYTES).decode("utf-8", "replace")
    schema, note = _read_schema(entry.get("parameters_schema", entry.get("parameters")))
    description = entry.get("description")
    return RegistrySkill(
        name=name,
        slug=slug,
        description=description if isinstance(description, str) and description else name,
        files={PROGRAM_FILE: normalize_source(code).encode(), SCHEMA_FILE: encode_schema(schema)},
        note=note,
    )


def _read_schema(value: Any) -> tuple[dict[str, Any], str]:
    """Return a schema that can be used, and what is wrong with the given one."""
    if not value:
        return _ANY_OBJECT, "it has no schema: give the parameters in schema.json"
    schema = value if isinstance(value, dict) and "properties" in value else {"properties": value}
    try:
        return check_schema({"type": "object", **schema}), ""
    except InvalidInput as error:
        return _ANY_OBJECT, f"its schema is left out: {error.message}"


def _write(brain: Brain, skill: RegistrySkill) -> ImportedSkill:
    program = Program(slug=skill.slug, files=dict(skill.files))
    upserted = brain.skills.upsert(
        skill.slug,
        build_skill_text(program),
        description=skill.description,
        files=skill.files,
        if_changed=True,
        message=f"Import {skill.name} from a registry",
    )
    missing = f"write {CASES_FILE} and a check, then `brain evolve admit {skill.slug}`"
    return ImportedSkill(
        slug=skill.slug,
        name=skill.name,
        version=upserted.version,
        changed=upserted.changed,
        next_step="; ".join(filter(None, [skill.note, missing])),
    )


def _read_file(path: Path, max_bytes: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise _registry_error(path, f"it is larger than {max_bytes} bytes")
    return data


def _registry_error(path: Path, reason: str) -> InvalidInput:
    return InvalidInput(
        f"{printable_text(path)} cannot be imported: {reason}",
        code="bad_registry",
        hint="restore it from a copy; nothing was imported",
    )
