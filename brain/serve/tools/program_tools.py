"""The tools for skills that run: create_skill, manage_skills, and one for each that was acquired.

They are offered where a sandbox can be had. The names and the parameters follow the assistant
whose users know them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from ... import limits
from ...errors import SandboxError
from ...programs import SCHEMA_FILE
from ...programs.program import BUILT_IN_TOOLS, tool_name
from ...skills.visible_text import fold_to_line, strip_hidden, truncate
from .tool import Schema, Tool, object_schema, text_schema
from .tool_definitions import TOOLS
from .tool_formats import mcp

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import SkillProgram

MAX_TEST_PAYLOADS = 16
LESSONS_ANSWER = (
    "Lessons, preferences and facts are memory, not skills: read them with memory, action read, "
    "target memory or user. Procedures that you wrote down are in skills_list."
)
MANAGE_ACTIONS = ("list", "delete")
_ANY_JSON: Schema = {"type": ["object", "string"], "additionalProperties": True}

CREATE_SKILL = Tool(
    name="create_skill",
    description="Make a tool of your own from Python code: it is tried in a sandbox, and if it "
    "passes you call it by its name like any other tool, now and in later sessions. Use it for "
    "work that comes again and that code does better than you: parsing, converting, computing, "
    "checking. How something is done, in words, belongs in skill_manage.\n\n"
    "The code is a script: it reads its arguments as JSON from sys.argv[1], and prints its result "
    "to stdout, best as JSON. It has the standard library, 512 MB and 30 seconds, and no network, "
    "no files and no environment but what `needs` names and a person approves. For arguments it "
    "cannot use, it prints why and exits with 1. "
    "`from skillapi import call` lets it call your other tools: call('word_count', text='a b').\n\n"
    "It is tried with your payloads and with others made from parameters_schema, so `check` must "
    "tell right outputs from wrong ones for every payload. Without a check that does, it is "
    "refused, for then the tests pass for wrong programs, too. What was refused is kept: read "
    "why, and send all of it again. The same name again improves the tool, as its next version.",
    parameters=object_schema(
        ("name", "description", "python_code"),
        name=text_schema(
            "Its name: letters, digits and _, such as word_count.", limits.MAX_SKILL_NAME_CHARS, 1
        ),
        description=text_schema(
            "When to use it and what it returns, in a sentence or two.",
            limits.MAX_CALL_TEXT_CHARS,
            1,
        ),
        python_code=text_schema(
            "All of it, as plain Python, such as: import json, sys; p = json.loads(sys.argv[1]); "
            "print(json.dumps({'words': len(p['text'].split())}))",
            limits.MAX_CALL_TEXT_CHARS,
            1,
        ),
        parameters_schema={
            **_ANY_JSON,
            "description": "JSON Schema of its arguments, an object. Left out, it is made from "
            "the payloads. Say bounds (minimum, maxLength, enum): payloads are made from them.",
        },
        test_payload={
            **_ANY_JSON,
            "description": 'The arguments to try it with, such as {"text": "a b"}.',
        },
        test_payloads={
            "type": "array",
            "description": "Several of these instead, of different kinds.",
            "items": _ANY_JSON,
            "minItems": 1,
            "maxItems": MAX_TEST_PAYLOADS,
        },
        expected={
            **_ANY_JSON,
            "description": "The output that test_payload must give, as JSON; for test_payloads "
            "a list with one for each.",
        },
        check=text_schema(
            "Python source of check(payload, output), which raises if an output is wrong, for any "
            "payload, and works it out another way than the code does. Such as: "
            "def check(payload, output): assert output['words'] == "
            "sum(1 for w in payload['text'].split(' ') if w)",
            limits.MAX_CALL_TEXT_CHARS,
        ),
        needs={
            **_ANY_JSON,
            "description": "What it needs of the world, as names: hosts, asked by urllib.request "
            "or skillapi.request(url, method, headers, body); secrets, put into requests, such as "
            '{"API_TOKEN": {"host": "api.example.org", "before": "Bearer "}}; folders, such as '
            '{"logs": "read", "out": "write"}, at /folders/logs and /tmp/out; files, at '
            "/job/files/NAME; commands it starts; minutes; memory_mb. A person approves it first.",
        },
        fixtures={
            **_ANY_JSON,
            "description": 'What stands for the world in the trial: {"requests": '
            '[{"url": "https://…", "status": 200, "body": {…}}]}, with method, request_body '
            "and headers if need be. * in a url covers any text.",
        },
    ),
    read_only=False,
    destructive=False,
    idempotent=True,
)

MANAGE_SKILLS = Tool(
    name="manage_skills",
    description="List or delete the skills that run: the tools you made with create_skill. It "
    "answers what skills or tools you have acquired. Lessons, preferences and facts are no "
    "skills: they are in memory.",
    parameters=object_schema(
        ("action",),
        action={"type": "string", "enum": list(MANAGE_ACTIONS), "description": "What to do."},
        name=text_schema("For delete: its name.", limits.MAX_PATH_BYTES),
        query=text_schema("For list: only those with these words.", 200),
    ),
    read_only=False,
    destructive=True,
    idempotent=True,
)

_CREATE_PARTS = CREATE_SKILL.parameters["properties"]
SKILL_MANAGER = Tool(
    name="skill_manager",
    description="Create, list or delete skills that run.",
    parameters=object_schema(
        ("action",),
        action={
            "type": "string",
            "enum": ["create", *MANAGE_ACTIONS],
            "description": "What to do.",
        },
        code=_CREATE_PARTS["python_code"],
        **{name: part for name, part in _CREATE_PARTS.items() if name != "python_code"},
    ),
    read_only=False,
    destructive=True,
    idempotent=True,
)
"""Another name of both, as agents of another assistant call them; it is not offered."""

PROGRAM_TOOLS: tuple[Tool, ...] = (CREATE_SKILL, MANAGE_SKILLS)
"""The tools for skills that run, in the order in which they are offered."""


MAX_PROGRAM_TOOLS = 64
"""Acquired tools that are offered; a call by name reaches the others all the same."""
MAX_PROGRAM_TOOLS_CHARS = 16_384
"""Characters of the definitions of all acquired tools, as compact JSON."""
_MAX_DESCRIPTION_CHARS = 600
_TOOL_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")

ToolVersions = tuple[tuple[str, str], ...]
"""The slug and the program id of each acquired tool."""


@cache
def has_sandbox() -> bool:
    """Tell whether programs can run on this machine."""
    from ...sandbox.find_sandbox import find_sandbox

    try:
        find_sandbox()
    except SandboxError:
        return False
    return True


def list_built_in_tools() -> tuple[Tool, ...]:
    """Return the tools that every brain has on this machine."""
    return (*TOOLS, *PROGRAM_TOOLS) if has_sandbox() else TOOLS


def list_acquired(brain: Brain) -> list[SkillProgram]:
    """Return the skills that may run, most used first; none where there is no sandbox."""
    if not has_sandbox():
        return []
    return [
        skill for skill in brain.programs.list_runnable() if is_callable_name(tool_name(skill.slug))
    ]


def is_callable_name(name: str) -> bool:
    """Tell whether an acquired tool can have this name: no built-in one has it."""
    return _TOOL_NAME.fullmatch(name) is not None and name not in BUILT_IN_TOOLS


def find_tool_versions(brain: Brain) -> ToolVersions:
    """Return what tells one set of acquired tools from another."""
    return tuple(sorted((skill.slug, skill.program) for skill in list_acquired(brain)))


def list_program_tools(brain: Brain) -> Iterator[Tool]:
    """Yield the tools of the skills that may run, as many as fit, most used first."""
    room = MAX_PROGRAM_TOOLS_CHARS
    for skill in list_acquired(brain)[:MAX_PROGRAM_TOOLS]:
        tool = build_program_tool(skill, read_schema(brain, skill.slug))
        size = len(json.dumps(mcp([tool]), separators=(",", ":")))
        if size <= room:
            room -= size
            yield tool


def build_program_tool(skill: SkillProgram, schema: Schema) -> Tool:
    """Return the tool of a skill that may run."""
    name = tool_name(skill.slug)
    description = truncate(fold_to_line(skill.description), _MAX_DESCRIPTION_CHARS)
    return Tool(
        name=name,
        description=f"[ACQUIRED TOOL: CALL BY NAME] {description}\n"
        f"A tool like the others: call {name} itself. Its code runs in a sandbox and is kept "
        "out of reach, so it can be neither imported nor started from a shell or other code.",
        parameters=_strip_schema(schema),
        read_only=True,
    )


def read_schema(brain: Brain, slug: str) -> Schema:
    """Return the schema of the parameters of a skill that may run."""
    schema: Schema = json.loads(brain.programs.find(slug).files[SCHEMA_FILE])
    return schema


def _strip_schema(value: Any) -> Any:
    """Return a schema without hidden characters in its texts."""
    if isinstance(value, str):
        return strip_hidden(value)
    if isinstance(value, dict):
        return {key: _strip_schema(item) for key, item in value.items()}
    return [_strip_schema(item) for item in value] if isinstance(value, list) else value
