"""A scheduler in a process of its own that kills itself at a named step.

    python -m tests.support.killed_scheduler FOLDER URL STEP

It works off the queue of the brain in FOLDER with the model at URL. At
STEP (see `STEPS`) it sends itself SIGKILL; "" is for none.
"""

import json
import os
import signal
import sys
import urllib.request
from typing import Any

from brain import Brain, evolve
from brain.evolve.budget import Budget
from brain.experience.store import Item, Store
from brain.repo.learning.gate import Gate
from tests.support.scripted_model import Asked, FakeModel, ScriptedAnswer

STEPS = {
    "started": (Store, "next", 1),
    "counted": (Item, "count", 1),
    "first answer stored": (Budget, "_count", 2),
    "second answer stored": (Budget, "_count", 4),
    "change stored": (Item, "keep", 4),
    "cases half asked": (Budget, "_count", 80),
    "last case asked": (Budget, "_count", 124),
    "gate recorded": (Gate, "_record", 1),
    "finished": (Item, "finish", 1),
}
"""Step to the function after whose call of a number the process dies.

An answer is counted, as the most that it may cost, before it is asked for, and with it kept after.
"""


class LoopbackModel(FakeModel):
    """A model at a URL that takes no library of a provider, so that the process starts soon."""

    def __init__(self, url: str) -> None:
        super().__init__(name="openai:small")
        self._url = url

    def answer(self, request: Asked) -> ScriptedAnswer:
        """Return the answer."""
        messages = [{"role": "system", "content": request.system}]
        messages += [{"role": one.role, "content": one.text} for one in request.messages]
        body = json.dumps({"model": "small", "messages": messages}).encode()
        headers = {"content-type": "application/json"}
        asked = urllib.request.Request(f"{self._url}/chat/completions", body, headers)
        with urllib.request.urlopen(asked) as reply:
            text = json.load(reply)["choices"][0]["message"]["content"]
        return str(text)


def die_after(step: str) -> None:
    """Let this process kill itself after a step."""
    owner, name, number = STEPS[step]
    real = getattr(owner, name)
    calls = 0

    def called(*args: Any, **named: Any) -> Any:
        nonlocal calls
        result = real(*args, **named)
        calls += 1
        if calls == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, called)


def main(folder: str, url: str, step: str) -> None:
    """Work off the queue once, and print what was done."""
    if step:
        die_after(step)
    with Brain.open(folder, author="tester") as brain:
        for done in evolve.run_due(brain, LoopbackModel(url)):
            if done.evolver == "synthesis":
                sys.stdout.write(f"{done.result}: {done.reason}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
