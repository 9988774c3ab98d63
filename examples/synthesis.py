"""Let a model draft skills from hard work, and accept what it proposes.

    python synthesis.py [FOLDER]

The model here answers from a list. A real one is named with `brain config model`, or
opened in a program:

    from brain.models import open_endpoint
    from brain.models.config import parse_model_config
    settings = parse_model_config({"model": "anthropic:claude-haiku-4-5"})
    model = open_endpoint(settings, key)
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from brain import Brain
from brain.evolve import Learner

FIRST = {
    "decision": "create",
    "name": "stale-price-feeds",
    "description": "Use when a contract reads a price from an oracle.",
    "body": "# Stale price feeds\n\n1. Read the time of the answer, not the answer alone.\n",
    "reason": "The first check passed on a price that was a day old.",
}
BETTER = {
    **FIRST,
    "decision": "improve",
    "body": FIRST["body"] + "2. Compare a second feed, and refuse where they are far apart.\n",
    "reason": "Two feeds disagreed.",
}
WRONG = {**FIRST, "name": "../../.ssh/authorized_keys"}
NOTHING = {"decision": "nothing", "reason": "Routine."}


def main(folder: Path) -> None:
    """Tell what becomes of three runs."""
    with Brain.init(folder, author="auditor") as brain:
        answers = [FIRST, WRONG, BETTER, NOTHING]

        def answer(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
            return ModelResponse(parts=[TextPart(json.dumps(answers.pop(0)))])

        learner = Learner(brain, FunctionModel(answer))

        with brain.task("Audit the vault", agent="auditor", on_success=learner) as task:
            task.record_tool_call("terminal", "forge test", error="exit 1: price is stale")
            task.record_tool_call("terminal", "forge test --fork", "ok")
        tell(learner)
        accept(brain)

        with brain.task("Audit the pool", agent="auditor", on_success=learner) as task:
            task.record_skill_load("stale-price-feeds")
            for feed in range(5):
                task.record_tool_call("read_feed", {"feed": feed}, "1.00")
        tell(learner)
        accept(brain)

        with brain.task("Look around", agent="auditor", on_success=learner) as task:
            task.record_tool_call("terminal", "ls", "vault.sol")
        tell(learner)

        print(brain.prompt.build_index().index)


def tell(learner: Learner) -> None:
    """Say what was learned."""
    done = learner.result
    if done is None:
        print(f"failed: {learner.error}")
    else:
        became = f" {done.slug} version {done.version}, {done.outcome.done}" if done.outcome else ""
        print(f"{done.decision}:{became}".rstrip(":"), f"({done.requests} asked)")


def accept(brain: Brain) -> None:
    """Accept what is proposed, as a person does after reading it."""
    for proposal in brain.proposals.list():
        brain.proposals.accept(proposal.snapshot)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary) / "auditor")
