"""The tool skill_manager: the calls that agents of another assistant know, for skills that run.

It is not offered, since create_skill and manage_skills do the same, but a call of it works. Code
without tests is stored and does not run: nothing is admitted that nothing was tried on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import NotFound, ToolFailure, printable_text
from ...evolve.acquire import build_skill_text
from ...programs import PROGRAM_FILE, SCHEMA_FILE
from ...programs.advice import check_code
from ...programs.parameters import encode_schema, schema_from_definition
from ...programs.program import Program, check_tool_name, tool_name
from ...programs.python_code import normalize_source
from .create_skill import create_skill
from .manage_skills import manage_skills
from .program_call import refuse_wrapped_call
from .tool import MAX_LINE_CHARS, ToolResult, notice_line, pick_fields

if TYPE_CHECKING:
    from ...api.brain import Brain

Arguments = dict[str, Any]
_TESTS = ("test_payload", "test_payloads", "expected", "check", "parameters_schema")
_CODE_PROFILE = "seed-000"


def skill_manager(brain: Brain, arguments: Arguments) -> ToolResult:
    """Create, list or delete skills that run."""
    if arguments["action"] != "create":
        named = {"name": arguments["name"]} if "name" in arguments else {}
        return manage_skills(brain, {"action": arguments["action"], **named})
    for name in ("name", "description", "code"):
        if not arguments.get(name):
            raise ToolFailure(
                f"{name} is missing.",
                code="bad_arguments",
                hint="Call skill_manager again with it.",
            )
    tests = {name: arguments[name] for name in _TESTS if name in arguments}
    if not tests:
        return _store_untried(brain, arguments)
    call = {
        "name": arguments["name"],
        "description": arguments["description"],
        "python_code": arguments["code"],
    }
    return create_skill(brain, {**call, **tests})


def _store_untried(brain: Brain, arguments: Arguments) -> ToolResult:
    """Store a new skill with its code, which does not run until it has passed tests."""
    refuse_wrapped_call(brain, arguments["code"])
    slug = check_tool_name(arguments["name"])
    _refuse_known(brain, slug)
    code = normalize_source(arguments["code"]).encode()
    for finding in check_code(code, _CODE_PROFILE, name=tool_name(slug)):
        raise ToolFailure(
            f"Not stored: {printable_text(finding, MAX_LINE_CHARS)}.",
            code="rejected",
            hint="Mend that, and send it again.",
        )
    schema = schema_from_definition(brain.programs.read_definition(code))
    program = Program(slug=slug, files={PROGRAM_FILE: code, SCHEMA_FILE: encode_schema(schema)})
    upserted = brain.skills.upsert(
        slug,
        build_skill_text(program),
        description=arguments["description"],
        base=0,
        files=program.files,
        message=f"Store {slug}, which has no tests yet",
    )
    name = tool_name(slug)
    lines = [
        f"Stored {name}, version {upserted.version} (snapshot {upserted.snapshot[:12]}). It does "
        f"not run yet, for it has no tests: call create_skill with the name {name}, this code, "
        "test_payload and check.",
        *map(notice_line, upserted.notices),
    ]
    fields = ("slug", "version", "path", "snapshot")
    return ToolResult("\n".join(lines), pick_fields(upserted, *fields), upserted.changed)


def _refuse_known(brain: Brain, slug: str) -> None:
    try:
        brain.skills.view(slug)
    except NotFound:
        return
    raise ToolFailure(
        f"There is a skill {slug} already, which stays as it is.",
        code="skill_exists",
        hint="Improve it with create_skill and tests, or choose another name.",
    )
