"""Run a small task by Harbor in our sandbox: `python -m tests.real.harbor`, on Python 3.12.

Needs `pip install -e '.[harbor]'`. Prints the reward of the oracle and of doing nothing; status 1
unless they are 1 and 0.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.task_folders import HARBOR, make_task

ENVIRONMENT = "brain.solving.harbor_environment:Sandbox"
SETTINGS = '[task]\nname = "own/hello"\n[verifier]\ntimeout_sec = 60.0\n[environment]\n'


def main() -> int:
    """Run the task with both agents; return the exit status."""
    harbor = str(Path(sys.executable).with_name("harbor"))
    rewards = {}
    with tempfile.TemporaryDirectory() as folder:
        task = make_task(Path(folder, "hello"), {**HARBOR, "task.toml": SETTINGS})
        for agent in ("oracle", "nop"):
            jobs = Path(folder, agent)
            call = [harbor, "run", "-p", str(task), "-a", agent, "-e", ENVIRONMENT, "-o", str(jobs)]
            subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
            (result,) = jobs.glob("*/*/result.json")
            rewards[agent] = json.loads(result.read_text())["verifier_result"]["rewards"]["reward"]
    print(rewards)
    return 0 if rewards == {"oracle": 1, "nop": 0} else 1


if __name__ == "__main__":
    sys.exit(main())
