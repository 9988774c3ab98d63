"""The definitions of create_skill and manage_skills, the tools for skills that run.

They are offered where a sandbox can be had. The name and the parameters follow the assistant
whose users know them.
"""

from __future__ import annotations

from ... import limits
from .tool import Schema, Tool, object_schema, text_schema

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
    "refused, for then the tests prove nothing. What was refused is kept: read why, and send all "
    "of it again. The same name again improves the tool, as its next version.",
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
