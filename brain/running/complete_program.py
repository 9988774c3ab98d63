"""Give a program that is a class its schema, and compare a schema with the definition."""

from __future__ import annotations

from dataclasses import replace

from ..errors import InvalidInput
from ..programs import SCHEMA_FILE
from ..programs.parameter_schema import (
    compare_with_definition,
    encode_schema,
    parse_schema,
    schema_from_definition,
)
from ..programs.program import Program
from ..programs.program_shape import find_shape
from ..sandbox.sandbox_protocol import DEFAULT_LIMITS, Sandbox, SandboxLimits
from .run_program import read_definition


def complete_program(
    sandbox: Sandbox, program: Program, *, limits: SandboxLimits = DEFAULT_LIMITS
) -> Program:
    """Return a program with its schema.json; a class without one gets it from `definition()`.

    A script is returned as it is. Raises `InvalidInput`: `bad_definition`, `bad_schema`, or
    `schema_differs` if schema.json and `definition()` do not agree; and `SandboxError`.
    """
    if find_shape(program.code) == "script":
        return program
    definition = read_definition(sandbox, program.code, limits=limits)
    if SCHEMA_FILE not in program.files:
        schema = schema_from_definition(definition)
        return replace(program, files={**program.files, SCHEMA_FILE: encode_schema(schema)})
    differences = compare_with_definition(parse_schema(program.files[SCHEMA_FILE]), definition)
    if differences:
        raise InvalidInput(
            f"{SCHEMA_FILE} and definition() differ: {'; '.join(differences)}",
            code="schema_differs",
            hint=f"leave {SCHEMA_FILE} out, and it is made from definition()",
        )
    return program
