"""An agent of the demo: it makes itself a tool, uses it, and makes it worse.

Run with `make` or `worse` in the folder of a brain. It calls tools as a model does.
"""

from __future__ import annotations

import sys
from typing import Any

from brain import Brain, ToolFailure
from brain.serve.tools import Toolbox

CODE = """\
import json, sys

pool = json.loads(sys.argv[1])
if pool["reserve"] <= 0 or pool["paid"] < 0:
    sys.exit("reserve must be above 0, and paid not below")
print(json.dumps({"basis_points": pool["paid"] * 10000 // (pool["reserve"] + pool["paid"])}))
"""
WORSE_CODE = CODE.replace(
    "print(", 'if pool["reserve"] > 10**15:\n    raise OverflowError("too large a pool")\nprint('
)
CHECK = """\
def check(pool, output):
    share = output["basis_points"]
    total = pool["reserve"] + pool["paid"]
    assert share * total <= pool["paid"] * 10000 < (share + 1) * total
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "reserve": {"type": "integer", "minimum": 1},
        "paid": {"type": "integer", "minimum": 0},
    },
    "required": ["reserve", "paid"],
}
NAME = "price_impact"
LARGE_POOL: dict[str, Any] = {"reserve": 10**24, "paid": 10**22}


def main() -> None:
    """Play the part that the first argument names."""
    with Brain.open(".", author="auditor") as brain, brain.task("Audit a pool") as task:
        tools = Toolbox(brain, task)
        if sys.argv[1] == "make":
            _call(tools, "create_skill", _draft(CODE, check=""))
            _call(tools, "create_skill", _draft(CODE))
            for paid in range(6):
                _call(tools, NAME, {**LARGE_POOL, "paid": paid})
        else:
            _call(tools, "create_skill", _draft(WORSE_CODE))
            for paid in range(4):
                _call(tools, NAME, {**LARGE_POOL, "paid": paid})


def _draft(code: str, check: str = CHECK) -> dict[str, Any]:
    return {
        "name": NAME,
        "description": "How far a payment moves the price of a pool",
        "python_code": code,
        "parameters_schema": SCHEMA,
        "test_payload": {"reserve": 990, "paid": 10},
        "check": check,
    }


def _call(tools: Toolbox, name: str, arguments: dict[str, Any]) -> None:
    try:
        answer = tools.call(name, arguments).text
    except ToolFailure as failure:
        answer = failure.text
    sys.stdout.write(f"{name}: {answer}\n")


if __name__ == "__main__":
    main()
