"""The system prompt of an agent, from its brain: `python examples/system_prompt.py FOLDER`.

The Level-0 index gives one line per skill; the agent asks for a body when it needs one.
"""

import sys
from pathlib import Path

from brain import Brain


def system_prompt(folder: Path, budget: int) -> str:
    """Return the prompt, its index cut to about `budget` tokens."""
    with Brain.open(folder) as brain:
        return brain.prompt.build(budget=budget).prompt


def body_of(folder: Path, slug: str) -> str:
    """Return the body of one skill, as a tool of the agent would."""
    with Brain.open(folder) as brain:
        return brain.skills.view(slug).body


if __name__ == "__main__":
    print(system_prompt(Path(sys.argv[1]), budget=2000))
