"""A model works with the tools of a brain: `python examples/agent_loop.py [FOLDER]`.

The loop is the one that every interface of function calling asks for. The model here only
says what a script tells it; put a client of your own in its place, and give it
`openai()`, `responses()` or `anthropic()` as its tools.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from brain import Brain
from brain.serve.tools import Toolbox, ToolFailure, openai

SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("skills_list", {"task": "Review a contract that reads prices"}),
    (
        "skill_manage",
        {
            "action": "create",
            "name": "Oracle manipulation",
            "description": "Use when a contract reads a price: is it fresh, can it be moved?",
            "content": "1. Compare the age of the price with its heartbeat.\n2. Ask who sets it.\n",
        },
    ),
    ("skill_view", {"name": "oracle-manipulaton"}),  # misspelt: the answer names the near one
    ("skill_view", {"name": "oracle-manipulation"}),
    (
        "skill_manage",
        {
            "action": "patch",
            "name": "oracle-manipulation",
            "old_string": "2. Ask who sets it.",
            "new_string": "2. Prefer a TWAP: a spot price is moved by a flash loan.",
        },
    ),
    ("memory", {"action": "add", "target": "user", "content": "Wants findings by severity."}),
    ("brain_verify", {}),
]


def scripted(script: list[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield what a model would say: a call each time, then a closing word."""
    for number, (name, arguments) in enumerate(script):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}
    yield {"role": "assistant", "content": "Done."}


def run(brain: Brain, task: str, model: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Let a model work on a task until it calls no tool any more; return what was said."""
    tools, definitions = Toolbox(brain), openai()
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": brain.prompt.build().prompt},
        {"role": "user", "content": task},
    ]
    print(f"offered: {', '.join(tool['function']['name'] for tool in definitions)}")
    while True:
        said = next(model)  # client.chat.completions.create(messages=…, tools=definitions)
        messages.append(said)
        if not said.get("tool_calls"):
            return messages
        for call in said["tool_calls"]:
            function = call["function"]
            try:
                text = tools.call(function["name"], function["arguments"]).text
            except ToolFailure as failure:  # what the model can act on: it goes on
                text = f"Error: {failure.text}"
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
            print(f"{function['name']}: {text.splitlines()[0]}")


def main(folder: Path) -> None:
    """Make a brain in `folder` and let the scripted model work in it."""
    with Brain.init(folder, name="auditor", author="model") as brain:
        run(brain, "Review a contract that reads prices.", scripted(SCRIPT))
        print(brain.prompt.build_index().index)
        for row in brain.skills.history("oracle-manipulation"):
            print(f"version {row.version} by {row.author}: {row.message or row.change}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch) / "auditor")
