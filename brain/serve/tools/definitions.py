"""The tools: their type, names, parameters and descriptions, and the formats of model APIs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ... import limits
from ...errors import printable_text
from ...results import Notice

MAX_LINE_CHARS = 300
"""Characters of one message."""

Schema = dict[str, Any]
"""A JSON Schema with the keywords that `argument_check` supports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """The definition of a tool; `parameters` is the JSON Schema of an object.

    `read_only`: it changes nothing. `destructive`: it may remove something from the head (the
    lineage keeps it). `idempotent`: repeating a call has no further effect. `open_world`: it may
    ask hosts.
    """

    name: str
    description: str
    parameters: Schema
    read_only: bool
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = False


class ToolResult(NamedTuple):
    """The result of a call: `text` for the model, the same as JSON-ready `data` for programs.

    `changed` tells whether the call recorded a snapshot.
    """

    text: str
    data: dict[str, Any]
    changed: bool


def pick_fields(result: object, *names: str) -> dict[str, Any]:
    """Return the named attributes of a result, as JSON-ready data of a tool."""
    return {name: getattr(result, name) for name in names}


def notice_line(notice: Notice) -> str:
    """Return a notice as one line for a model."""
    place = f"{printable_text(notice.path)}: " if notice.path else ""
    return f"Note: {place}{printable_text(notice.message, MAX_LINE_CHARS)}"


def object_schema(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """Return the schema of an object that allows no other properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def text_schema(description: str, max_chars: int, min_chars: int = 0) -> Schema:
    """Return the schema of a text of `min_chars` to `max_chars` characters."""
    bounds = {"minLength": min_chars} if min_chars else {}
    return {"type": "string", "description": description, **bounds, "maxLength": max_chars}


SKILL_ACTIONS = ("create", "edit", "patch", "delete", "write_file", "remove_file")
"""The actions of skill_manage."""
MEMORY_ACTIONS = ("add", "replace", "remove")
"""The actions of memory that change an entry."""
SKILL_FOLDERS = ("references", "templates", "scripts", "assets")
"""The folders of a skill that new files may go into."""

_NAME_PARAMETER = text_schema(
    "The skill, as its line in the list begins: words joined by hyphens, such as "
    "oracle-manipulation.",
    limits.MAX_PATH_BYTES,
    1,
)
_FILE_DESCRIPTION = (
    "Path of a file of the skill, relative to its folder, such as references/api.md."
)

SKILLS_LIST = Tool(
    name="skills_list",
    description="List the skills you have, a line each. Read the full text of one with skill_view "
    "before you do work that it is about.",
    parameters=object_schema(
        category=text_schema("List only the skills of this category.", limits.MAX_SKILL_NAME_CHARS),
        task=text_schema(
            "What is to be done, in a sentence or in full: lists the skills that fit best, best "
            "first. For when there are many.",
            limits.MAX_CALL_TEXT_CHARS,
        ),
        cursor=text_schema("From the last list: where to go on.", 100),
    ),
    read_only=True,
)

SKILL_VIEW = Tool(
    name="skill_view",
    description="Read a skill: its SKILL.md and the list of its files. With file_path, read one "
    "of these files instead. With version, read what it was at an earlier version.",
    parameters=object_schema(
        ("name",),
        name=_NAME_PARAMETER,
        file_path=text_schema(
            f"{_FILE_DESCRIPTION} Leave it out for SKILL.md.", limits.MAX_PATH_BYTES
        ),
        version={
            "type": ["string", "integer"],
            "description": "An earlier version of the skill, such as 2. Leave it out for now.",
            "maxLength": 64,
            "minimum": 0,
            "maximum": 999_999_999,
        },
    ),
    read_only=True,
)

SKILL_MANAGE = Tool(
    name="skill_manage",
    description="Write down what you learned, as skills: your procedural memory, one for each kind "
    "of task. Every write raises the version of the skill and is recorded; nothing is lost.\n\n"
    "Improve the skill you have before you add another: look through skills_list first, and "
    "patch or edit the nearest one. Add a new one only for a kind of "
    "task that none covers. Never make a near-duplicate of one.\n\n"
    "Actions:\n"
    "create: a new skill from content (on a name that exists it improves that skill).\n"
    "patch: replace old_string by new_string, for corrections. Best for most changes.\n"
    "edit: replace the text by content, for overhauls. Read it first with skill_view.\n"
    "write_file, remove_file: a file of the skill, at file_path.\n"
    "delete: remove the skill. If another one took its content in, name that one in "
    'absorbed_into; if it was stale, give absorbed_into="".\n\n'
    "Create after: a hard task that went well (5 or more calls), an error overcome, a way "
    "that the user corrected, a procedure you were asked to remember. Patch as soon as "
    "instructions turn out stale, wrong or incomplete. Skip what was simple and done once.\n\n"
    "A good skill says when to use it (description, the one line you will see in the list), "
    "the steps with exact commands, the pitfalls, and how to verify the outcome.",
    parameters=object_schema(
        ("name",),
        action={
            "type": "string",
            "enum": list(SKILL_ACTIONS),
            "description": "What to do. Required, unless it is given as op.",
        },
        op={"type": "string", "enum": list(SKILL_ACTIONS), "description": "The same as action."},
        name=_NAME_PARAMETER,
        content=text_schema(
            "For create and edit: the whole text in Markdown, with YAML front matter (name, "
            "description) or without. Do not state a version: it is kept for you.",
            limits.MAX_CALL_TEXT_CHARS,
        ),
        description=text_schema(
            "For create and edit: one line that says what the skill does and when to use it, "
            "if content has no front matter.",
            limits.MAX_DESCRIPTION_CHARS,
        ),
        old_string=text_schema(
            "For patch: the text to replace, exactly as in the file. It must occur once: "
            "give some lines around it, or set replace_all.",
            limits.MAX_CALL_TEXT_CHARS,
        ),
        new_string=text_schema(
            'For patch: the text instead; "" removes old_string.', limits.MAX_CALL_TEXT_CHARS
        ),
        replace_all={
            "type": "boolean",
            "description": "For patch: replace every occurrence (default: false).",
        },
        category=text_schema(
            "For create: the category, a folder of skills, that a new skill goes into, such as "
            "devops.",
            limits.MAX_SLUG_CHARS,
        ),
        file_path=text_schema(
            f"For write_file, remove_file, and patch of such a file. {_FILE_DESCRIPTION} "
            f"New files go below {', '.join(name + '/' for name in SKILL_FOLDERS)}.",
            limits.MAX_PATH_BYTES,
        ),
        file_content=text_schema("For write_file: its content.", limits.MAX_CALL_TEXT_CHARS),
        absorbed_into=text_schema(
            'For delete: the existing skill that took in the content of this one; "" if none did.',
            limits.MAX_PATH_BYTES,
        ),
    ),
    read_only=False,
    destructive=True,
    idempotent=False,
)

_CHANGE_PARAMETERS = {
    "content": text_schema("For add and replace: the entry.", limits.MAX_CALL_TEXT_CHARS),
    "old_text": text_schema(
        "For replace and remove: text that occurs in this entry only.",
        limits.MAX_CALL_TEXT_CHARS,
    ),
}

DEFAULT_SHOWN = "memory and user"
MEMORY_SHOWN = f"; those of {DEFAULT_SHOWN} you see as each begins (if many, the last)"

MEMORY = Tool(
    name="memory",
    description=f"Keep facts beyond this session: short entries{MEMORY_SHOWN}.\n\n"
    "Save as soon as the user states a preference, a correction or a detail about themselves, "
    "or you learn something stable about their environment, conventions or tools. What counts "
    "most is what keeps the user from having to say it again. Skip what is trivial or easily "
    "found out again, raw data, progress of a task, notes to be done. How something is done "
    "belongs in a skill.\n\n"
    "Targets: user (who the user is), memory (your own notes), or a file of JSON Lines such as "
    "findings.jsonl, whose entries are JSON objects.\n\n"
    "Make all changes in one call, with operations: all are made or none, and only what comes "
    "out has to fit. If memory is full, remove or shorten entries in the call that adds one.",
    parameters=object_schema(
        ("target",),
        action={
            "type": "string",
            "enum": [*MEMORY_ACTIONS, "read"],
            "description": "What to do. Leave it out if you give operations.",
        },
        target=text_schema(
            "Which memory: memory, user, or the name of a file of JSON Lines.",
            limits.MAX_SKILL_NAME_CHARS,
            1,
        ),
        **_CHANGE_PARAMETERS,
        operations={
            "type": "array",
            "description": "Several changes at once, in order.",
            "items": object_schema(
                ("action",),
                action={"type": "string", "enum": list(MEMORY_ACTIONS)},
                **_CHANGE_PARAMETERS,
            ),
            "maxItems": 100,
        },
    ),
    read_only=False,
    destructive=True,
    idempotent=False,
)

_REVISION_DESCRIPTION = (
    "An id of a snapshot or its first digits, a branch, @ for the last snapshot, @~2"
)

BRAIN_SNAPSHOT = Tool(
    name="brain_snapshot",
    description="Record the whole brain as it is now, with changes made directly in its files. "
    "What the other tools write is recorded already. Without changes nothing is recorded.",
    parameters=object_schema(message=text_schema("What was done and why, in a line.", 4000)),
    read_only=False,
    destructive=False,
    idempotent=True,
)

BRAIN_DIFF = Tool(
    name="brain_diff",
    description="Say what differs between two states of the brain: skills with their versions, and "
    "files. Without from and to: what was changed directly in files since the last snapshot.",
    parameters=object_schema(
        (),
        **{
            "from": text_schema(
                f"The earlier state. {_REVISION_DESCRIPTION} for two before it.", 200, 1
            ),
            "to": text_schema("The later state; the files as they are now, if left out.", 200, 1),
            "patch": {"type": "boolean", "description": "Show the changed lines, too."},
        },
    ),
    read_only=True,
)

BRAIN_LOG = Tool(
    name="brain_log",
    description="List what was done to the brain, newest first: snapshot, time, author, what and "
    "why.",
    parameters=object_schema(
        limit={
            "type": "integer",
            "minimum": 1,
            "maximum": 200,
            "description": "How many snapshots (default: 10).",
        },
        skill=text_schema("Only snapshots that changed this skill.", limits.MAX_PATH_BYTES, 1),
    ),
    read_only=True,
)

BRAIN_VERIFY = Tool(
    name="brain_verify",
    description="Check that nothing in the history of the brain was tampered with or lost.",
    parameters=object_schema(
        deep={"type": "boolean", "description": "Read every file again, which takes time."}
    ),
    read_only=True,
)

TOOLS: tuple[Tool, ...] = (
    SKILLS_LIST,
    SKILL_VIEW,
    SKILL_MANAGE,
    MEMORY,
    BRAIN_SNAPSHOT,
    BRAIN_DIFF,
    BRAIN_LOG,
    BRAIN_VERIFY,
)
"""All tools, in the order in which they are offered."""


MAX_TEST_PAYLOADS = 16
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

PROGRAM_TOOLS: tuple[Tool, ...] = (CREATE_SKILL, MANAGE_SKILLS)
"""The tools for skills that run, in the order in which they are offered."""

ToolDefinition = dict[str, Any]


def openai(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` of OpenAI's chat completions and of compatible interfaces."""
    return [{"type": "function", "function": _define(tool, "parameters")} for tool in tools]


def responses(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` of OpenAI's Responses.

    `strict` is turned off: it is on by default and makes a model fill in every parameter.
    """
    return [{"type": "function", **_define(tool, "parameters"), "strict": False} for tool in tools]


def anthropic(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` of Anthropic's Messages."""
    return [_define(tool, "input_schema") for tool in tools]


def mcp(tools: Iterable[Tool] = TOOLS) -> list[ToolDefinition]:
    """Return the `tools` that an MCP server lists, with their annotations, as the wire has them."""
    hints = {
        "readOnlyHint": "read_only",
        "destructiveHint": "destructive",
        "idempotentHint": "idempotent",
        "openWorldHint": "open_world",
    }
    return [
        {
            **_define(tool, "inputSchema"),
            "annotations": {hint: getattr(tool, field) for hint, field in hints.items()},
        }
        for tool in tools
    ]


def _define(tool: Tool, schema_key: str) -> ToolDefinition:
    return {"name": tool.name, "description": tool.description, schema_key: tool.parameters}


EXPORT_FORMATS: dict[str, Callable[[Iterable[Tool]], list[ToolDefinition]]] = {
    "openai": openai,
    "responses": responses,
    "anthropic": anthropic,
    "mcp": mcp,
}
"""By the name that `brain tools list --for` takes."""
