"""Make an executable skill of what an agent or a person gives: code, payloads and a check.

Only texts are put together here. The trial decides whether the skill is admitted, and runs its
code in the sandbox.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import BrainError, InvalidInput, NotFound, printable_text
from ..programs import CASES_FILE, CHECK_FILE, PROGRAM_FILE, SCHEMA_FILE
from ..programs.needs import NEEDS_FILE, parse_needs, pin_resources
from ..programs.parameters import check_schema, encode_schema, schema_from_definition
from ..programs.program import Program, check_tool_name, tool_name
from ..programs.python_code import MAX_CODE_BYTES, find_shape, normalize_source
from ..programs.test_cases import ANY_OUTPUT, TestCase, encode_cases
from ..repo.learning.change import SkillEdit
from ..results import ImportedRegistry, ImportedSkill, RefusedSkill
from ..util import strict_json
from ..util.json_schema import find_json_type, list_types

if TYPE_CHECKING:
    from .. import results
    from ..api.brain import Brain

Schema = dict[str, Any]
DefinitionReader = Callable[[bytes], Mapping[str, Any]]
"""Returns what `definition()` of a class says, read in the sandbox."""


_BASH_START = """\
\"\"\"Runs skill.sh beside it, with the payload as its first argument.\"\"\"

import os
import subprocess
import sys

script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "skill.sh")
status = subprocess.run(["bash", script, *sys.argv[1:]], check=False).returncode
sys.exit(status if status >= 0 else 128 - status)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramDraft:
    """A skill that runs, as an agent or a person gives it.

    `expected` has an output for each payload, or is empty. Without `schema`, one is made from
    the definition of a class, or from the payloads. `fixtures` are files of the program,
    `resources` modules and data beside it. A script of bash gets the payload as its first argument.
    """

    name: str
    description: str
    code: str
    payloads: Sequence[Mapping[str, Any]]
    schema: Schema | None = None
    expected: Sequence[Any] = ()
    check: str = ""
    needs: Mapping[str, Any] | None = None
    fixtures: Mapping[str, bytes] = field(default_factory=dict)
    resources: Mapping[str, bytes] = field(default_factory=dict)
    lang: Literal["python", "bash"] = "python"


def build_program(draft: ProgramDraft, read_definition: DefinitionReader) -> Program:
    """Return the program of a draft.

    Raises `InvalidInput`: `bad_tool_name`, `no_payload`, `bad_expected`, `bad_python`,
    `bad_schema`, `bad_definition`, or `bad_needs`.
    """
    slug = check_tool_name(draft.name)
    if not draft.payloads:
        raise InvalidInput(
            "there is no payload to try the skill with",
            code="no_payload",
            hint='give one as a JSON object, such as {"text": "a b"}',
        )
    if draft.expected and len(draft.expected) != len(draft.payloads):
        raise InvalidInput(
            f"there are {len(draft.payloads)} payloads and {len(draft.expected)} expected outputs",
            code="bad_expected",
            hint="give one for each payload, or none and a check instead",
        )
    text, needs, resources = draft.code, draft.needs, dict(draft.resources)
    if draft.lang == "bash":
        resources["skill.sh"] = (text.replace("\r\n", "\n").rstrip() + "\n").encode()
        commands = parse_needs(needs or {}).commands
        text, needs = _BASH_START, {**(needs or {}), "commands": [*commands, "bash"]}
    code = normalize_source(text).encode()
    schema = draft.schema
    if not schema and find_shape(code) == "class":
        schema = schema_from_definition(read_definition(code))
    schema = schema or _infer_schema(draft.payloads)
    expected = draft.expected or [ANY_OUTPUT] * len(draft.payloads)
    cases = [
        TestCase(payload=dict(payload), output=output)
        for payload, output in zip(draft.payloads, expected, strict=True)
    ]
    files = {
        PROGRAM_FILE: code,
        SCHEMA_FILE: encode_schema(check_schema(schema)),
        CASES_FILE: encode_cases(cases),
    }
    if draft.check.strip():
        files[CHECK_FILE] = normalize_source(draft.check).encode()
    if needs:
        parse_needs(needs)
        files[NEEDS_FILE] = (json.dumps(needs, ensure_ascii=False, indent=2) + "\n").encode()
    files |= draft.fixtures
    return Program(
        slug=slug,
        files=pin_resources(files, resources) if resources else files,
        resources=resources,
    )


def _infer_schema(payloads: Sequence[Mapping[str, Any]]) -> Schema:
    names = dict.fromkeys(name for payload in payloads for name in payload)
    return {
        "type": "object",
        "properties": {
            name: _infer_value([payload[name] for payload in payloads if name in payload])
            for name in names
        },
        "required": [name for name in names if all(name in payload for payload in payloads)],
        "additionalProperties": False,
    }


def _infer_value(values: Sequence[Any]) -> Schema:
    kinds = list(dict.fromkeys(map(find_json_type, values)))
    if "number" in kinds and "integer" in kinds:
        kinds.remove("integer")
    schema: Schema = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if objects := [value for value in values if isinstance(value, Mapping)]:
        schema |= {key: part for key, part in _infer_schema(objects).items() if key != "type"}
    if lists := [value for value in values if isinstance(value, list)]:
        items = [item for value in lists for item in value]
        schema["items"] = _infer_value(items) if items else {"type": "string"}
    return schema


def find_same(brain: Brain, program: Program, description: str) -> results.SkillProgram | None:
    """Return the skill that has exactly this program and description, and may run."""
    for skill in brain.programs.list():
        is_same = skill.slug == program.slug and skill.program == program.id.hex()
        if is_same and skill.status == "runnable" and skill.description == description:
            return skill
    return None


def build_edit(brain: Brain, program: Program, description: str | None) -> SkillEdit:
    """Return the edit that gives a skill a program; a known skill keeps its text."""
    try:
        brain.skills.view(program.slug)
    except NotFound:
        body: bytes | None = build_skill_text(program).encode()
    else:
        body = None
    return SkillEdit(
        name=program.slug,
        files=program.files,
        resources=program.resources,
        description=description,
        body=body,
    )


def build_skill_text(program: Program) -> str:
    """Return the body of SKILL.md for a new skill that runs."""
    schema = json.loads(program.files[SCHEMA_FILE])
    required = schema.get("required", ())
    lines = [
        f"# {program.slug}",
        "",
        f"Call it by its name, `{tool_name(program.slug)}`, with:",
        "",
    ]
    for name, part in schema.get("properties", {}).items():
        needed = "" if name in required else ", optional"
        about = f": {part['description']}" if part.get("description") else ""
        kinds = " or ".join(list_types(part)) or "any"
        lines.append(f"- `{name}` ({kinds}{needed}){about}")
    if not schema.get("properties"):
        lines.append("- no arguments")
    lines += ["", f"It is the program {PROGRAM_FILE}, which was admitted by the tests beside it."]
    return "\n".join(lines) + "\n"


# The registry of another assistant: an index that maps names to entries such as
# {"description": …, "parameters_schema": {…}}, and NAME.py for each. All of it is read before
# anything is written, so one that cannot be read imports nothing, and nothing of it is run.
REGISTRY_FILES = ("skills_registry.json", "index.json")
MAX_REGISTRY_BYTES = 8 << 20
MAX_REGISTRY_SKILLS = 1000
_MAX_CODE_BYTES = 8 * MAX_CODE_BYTES
"""A longer text has more characters than `normalize_source` takes."""
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
    paths = [folder / name for name in REGISTRY_FILES if (folder / name).is_file()]
    if not paths:
        raise NotFound(
            f"{folder} has no registry of skills",
            code="no_registry",
            hint=f"name the folder with {' or '.join(REGISTRY_FILES)}",
        )
    try:
        return _parse_index(_read_start(paths[0], MAX_REGISTRY_BYTES))
    except ValueError as error:
        raise InvalidInput(
            f"{paths[0]} cannot be imported: {error}",
            code="bad_registry",
            hint="restore it from a copy; nothing was imported",
        ) from error


def _parse_index(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    if len(data) > MAX_REGISTRY_BYTES:
        raise ValueError(f"it is larger than {MAX_REGISTRY_BYTES} bytes")
    index = strict_json.parse_bounded(data, _MAX_DEPTH)
    entries = index.get("skills", index) if isinstance(index, dict) else index
    if isinstance(entries, list):
        if not all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in entries):
            raise ValueError("an entry has no name")
        entries = {entry["name"]: entry for entry in entries}
    if not isinstance(entries, dict):
        raise ValueError("it does not map names to skills")
    if len(entries) > MAX_REGISTRY_SKILLS:
        raise ValueError(f"it has more than {MAX_REGISTRY_SKILLS} skills")
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise ValueError(f"the entry of {printable_text(name, 80)} is no object")
    return list(entries.items())


def _read_skill(folder: Path, name: str, entry: Mapping[str, Any]) -> tuple[Program, str, str]:
    """Return the program of a skill without tests, its description, and what its schema lost."""
    if _NAME.fullmatch(name) is None or keyword.iskeyword(name):
        raise InvalidInput("its name is unsafe", code="bad_tool_name", hint="rename it")
    slug = check_tool_name(name)
    path = folder / f"{name}.py"
    if path.is_symlink() or not path.is_file():
        raise NotFound(f"the file {name}.py is missing", code="no_code", hint="restore the file")
    code = _read_start(path, _MAX_CODE_BYTES).decode("utf-8", "replace")
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


def _read_start(path: Path, max_bytes: int) -> bytes:
    """Return a file, or a byte more than there may be of a larger one."""
    with path.open("rb") as file:
        return file.read(max_bytes + 1)
