"""Programs of skills for tests, and what create_skill is given for them."""

from __future__ import annotations

from typing import Any

COUNT_WORDS = """\
import json, sys

payload = json.loads(sys.argv[1])
print(json.dumps({"words": len(payload["text"].split())}))
"""
CHECK = """\
def check(payload, output):
    assert output == {"words": sum(1 for word in payload["text"].split(" ") if word.strip())}
"""
CHECK_WORDS = """\
def check(payload, output):
    assert output["words"] == len(payload["text"].split())
"""
SLEEPER = """\
import json, sys, time

payload = json.loads(sys.argv[1])
time.sleep(payload["seconds"])
print(json.dumps({"slept": payload["seconds"]}))
"""
CHECK_SLEPT = """\
def check(payload, output):
    assert output == {"slept": payload["seconds"]}
"""
SLEEPER_SCHEMA = {
    "type": "object",
    "properties": {
        "seconds": {"type": "number", "minimum": 0, "maximum": 30, "examples": [0, 0.01]}
    },
    "required": ["seconds"],
    "additionalProperties": False,
}


def creation(name: str, code: str = COUNT_WORDS, check: str = CHECK_WORDS, **more: Any) -> dict[str, Any]:
    """Return the arguments of create_skill for a tool."""
    return {
        "name": name,
        "description": f"Does what {name} says",
        "python_code": code,
        "test_payload": {"text": "a b c"},
        "check": check,
        **more,
    }
