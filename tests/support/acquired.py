"""Programs of skills for tests, and what create_skill is given for them."""

from typing import Any

COUNT_WORDS = """\
import json, sys

payload = json.loads(sys.argv[1])
print(json.dumps({"words": len(payload["text"].split())}))
"""
CHECK_WORDS = """\
def check(payload, output):
    assert output["words"] == len(payload["text"].split())
"""
SLEEPER = """\
import json, sys, time

payload = json.loads(sys.argv[1])
if payload["text"] == "sleep":
    time.sleep(25)
print(json.dumps({"words": len(payload["text"].split())}))
"""
"""Sleeps if it is asked to, which no trial does."""
LIMITED = """\
import json, sys

payload = json.loads(sys.argv[1])
words = payload["text"].split()
if len(words) > 40:
    raise ValueError("too many words")
print(json.dumps({"words": len(words)}))
"""
"""Fails for long texts, which no trial gives."""
CALLER = """\
import json, sys
from skillapi import SkillError, call, progress

payload = json.loads(sys.argv[1])
try:
    progress(0.5, "half")
    print(json.dumps(call("count_words", text=payload["text"])))
except SkillError:
    print(json.dumps({"words": len(payload["text"].split())}))
"""
"""Calls another tool, if it is answered; a trial answers nothing."""


def creation(
    name: str, code: str = COUNT_WORDS, check: str = CHECK_WORDS, **more: Any
) -> dict[str, Any]:
    """Return the arguments of create_skill for a tool."""
    return {
        "name": name,
        "description": f"Does what {name} says",
        "python_code": code,
        "test_payload": {"text": "a b c"},
        "check": check,
        **more,
    }
