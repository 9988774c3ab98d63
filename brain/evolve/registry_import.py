"""Import the registry of another assistant's acquired skills: an index and a file for each.

`skills_registry.json` or `index.json` maps names to entries such as `{"description": …,
"parameters_schema": {…}}`; the code of a skill is NAME.py beside it. All of it is read and checked
before anything is written, so a registry that cannot be read imports nothing. Nothing is run: each
skill comes as not admitted.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
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


def import_registry(brain: Brain, folder: Path) -> ImportedRegistry:
    """Write the acquired skills of another assistant, each as not admitted.

    `folder` has their registry and files; the same again changes nothing. Raises `InvalidInput`
    (`bad_registry`) for an index that is damaged, `NotFound` (`no_registry`), and what an upsert
    raises.
    """
    refused: list[RefusedSkill] = []
    found: list[tuple[str, Program, str, str]] = []
    for name, entry in _read_index(folder):
        try:
            found.append((name, *_read_skill(folder, name, entry)))
        except BrainError as error:
            refused.append(RefusedSkill(printable_text(name, 80), error.message))
    imported = []
    for name, program, description, note in found:
        upserted = brain.skills.upsert(
            program.slug,
            build_skill_text(program),
            description=description,
            files=program.files,
            if_changed=True,
            message=f"Import {name} from a registry",
        )
        missing = f"write {CASES_FILE} and a check, then `brain evolve admit {program.slug}`"
        imported.append(
            ImportedSkill(
                slug=program.slug,
                name=name,
                version=upserted.version,
                changed=upserted.changed,
                next_step="; ".join(filter(None, [note, missing])),
            )
        )
    return ImportedRegistry(skills=imported, refused=refused)


def _read_index(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the entries of an index by name."""
    paths = [folder / name for name in REGISTRY_FILES if (folder / name).is_file()]
    if not paths:
        raise NotFound(
            f"{printable_text(folder)} has no registry of skills",
            code="no_registry",
            hint=f"name the folder with {' or '.join(REGISTRY_FILES)}",
        )
    try:
        index = strict_json.parse_bounded(_read_file(paths[0], MAX_REGISTRY_BYTES), _MAX_DEPTH)
    except ValueError as error:
        raise _registry_error(paths[0], str(error)) from error
    entries = index.get("skills", index) if isinstance(index, dict) else index
    if isinstance(entries, list):
        if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in entries):
            raise _registry_error(paths[0], "an entry has no name")
        entries = {entry["name"]: entry for entry in entries}
    if not isinstance(entries, dict):
        raise _registry_error(paths[0], "it does not map names to skills")
    if len(entries) > MAX_REGISTRY_SKILLS:
        raise _registry_error(paths[0], f"it has more than {MAX_REGISTRY_SKILLS} skills")
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise _registry_error(paths[0], f"the entry of {printable_text(name, 80)} is no object")
    return list(entries.items())


def _read_skill(folder: Path, name: str, entry: Mapping[str, Any]) -> tuple[Program, str, str]:
    """Return the program of a skill without tests, its description, and what its schema lost."""
    if _NAME.fullmatch(name) is None or keyword.iskeyword(name):
        raise InvalidInput("its name is unsafe", code="bad_tool_name", hint="rename it")
    slug = check_tool_name(name)
    path = folder / f"{name}.py"
    if path.is_symlink() or not path.is_file():
        raise NotFound(f"the file {name}.py is missing", code="no_code", hint="restore the file")
    code = _read_file(path, MAX_CODE_BYTES).decode("utf-8", "replace")
    stated = entry.get("parameters_schema", entry.get("parameters"))
    schema, note = _ANY_OBJECT, ""
    if not stated:
        note = "it has no schema: give the parameters in schema.json"
    else:
        is_whole = isinstance(stated, dict) and "properties" in stated
        try:
            schema = check_schema(
                {"type": "object", **(stated if is_whole else {"properties": stated})}
            )
        except InvalidInput as error:
            note = f"its schema is left out: {error.message}"
    files = {PROGRAM_FILE: normalize_source(code).encode(), SCHEMA_FILE: encode_schema(schema)}
    description = entry.get("description")
    about = description if isinstance(description, str) and description else name
    return Program(slug=slug, files=files), about, note


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
