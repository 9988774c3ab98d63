"""Make an executable skill of what an agent or a person gives: code, payloads and a check.

Only texts are put together here. The trial decides whether the skill is admitted, and runs its
code in the sandbox.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InvalidInput, NotFound
from ..programs import CASES_FILE, CHECK_FILE, PROGRAM_FILE, SCHEMA_FILE
from ..programs.needs import NEEDS_FILE, parse_needs, pin_resources
from ..programs.parameters import check_schema, encode_schema, schema_from_definition
from ..programs.program import Program, check_tool_name, tool_name
from ..programs.python_code import find_shape, normalize_source
from ..programs.test_cases import ANY_OUTPUT, TestCase, encode_cases
from ..repo.learning.change import SkillEdit
from ..util.json_schema import find_json_type

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
    schema = draft.schema or _make_schema(code, draft.payloads, read_definition)
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


def _make_schema(
    code: bytes, payloads: Sequence[Mapping[str, Any]], read_definition: DefinitionReader
) -> Schema:
    if find_shape(code) == "class":
        return schema_from_definition(read_definition(code))
    return _infer_schema(payloads)


def _infer_schema(payloads: Sequence[Mapping[str, Any]]) -> Schema:
    """Return the schema of an object that allows all `payloads`, with them as examples.

    An argument that every payload has is required.
    """
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
        lines.append(f"- `{name}` ({_show_type(part)}{needed}){about}")
    if not schema.get("properties"):
        lines.append("- no arguments")
    lines += ["", f"It is the program {PROGRAM_FILE}, which was admitted by the tests beside it."]
    return "\n".join(lines) + "\n"


def _show_type(schema: Schema) -> str:
    kind = schema.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
