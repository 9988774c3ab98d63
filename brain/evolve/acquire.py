"""Make an executable skill of what an agent or a person gives: code, payloads and a check.

Only texts are put together here. The trial decides whether the skill is admitted, and runs its
code in the sandbox.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput
from ..programs import CASES_FILE, CHECK_FILE, PROGRAM_FILE, SCHEMA_FILE
from ..programs.program import Program
from ..programs.program_shape import find_shape
from ..programs.test_cases import ANY_OUTPUT, TestCase, encode_cases
from ..programs.tool_name import check_tool_name, tool_name
from .inferred_schema import Schema, infer_schema, schema_from_definition

DefinitionReader = Callable[[bytes], Mapping[str, Any]]
"""Returns what `definition()` of a class says, read in the sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramDraft:
    """What is given for a skill that runs.

    `expected` has an output for each payload, or is empty. Without `schema`, one is made from
    the definition of a class, or from the payloads.
    """

    name: str
    description: str
    code: str
    payloads: Sequence[Mapping[str, Any]]
    schema: Schema | None = None
    expected: Sequence[Any] = ()
    check: str = ""


def build_program(
    draft: ProgramDraft, taken: Collection[str], read_definition: DefinitionReader
) -> Program:
    """Return the program of a draft, whose name is none of the tools in `taken`.

    Raises `InvalidInput`: `bad_tool_name`, `no_payload`, `bad_expected`, `bad_definition`, or
    `bad_code` for a text that is no Python.
    """
    slug = check_tool_name(draft.name, taken)
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
    code = normalize_code(draft.code)
    schema = draft.schema or _make_schema(code, draft.payloads, read_definition)
    expected = draft.expected or [ANY_OUTPUT] * len(draft.payloads)
    cases = [
        TestCase(payload=dict(payload), output=output)
        for payload, output in zip(draft.payloads, expected, strict=True)
    ]
    files = {
        PROGRAM_FILE: code,
        SCHEMA_FILE: (json.dumps(schema, ensure_ascii=False, indent=2) + "\n").encode(),
        CASES_FILE: encode_cases(cases),
    }
    if draft.check.strip():
        files[CHECK_FILE] = normalize_code(draft.check)
    return Program(slug=slug, files=files)


def _make_schema(
    code: bytes, payloads: Sequence[Mapping[str, Any]], read_definition: DefinitionReader
) -> Schema:
    if find_shape(code) == "class":
        return schema_from_definition(read_definition(code))
    return infer_schema(payloads)


def build_skill_text(program: Program) -> str:
    """Return the body of SKILL.md for a new skill that runs."""
    schema = json.loads(program.files[SCHEMA_FILE])
    required = schema.get("required", ())
    lines = [f"# {program.slug}", "", f"Call it by its name, `{tool_name(program.slug)}`, with:", ""]
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
