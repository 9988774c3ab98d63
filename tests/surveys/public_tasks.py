"""Prove public tasks with their own verifiers: `python -m tests.surveys.public_tasks FOLDER`.

FOLDER holds folders of tasks, such as a checkout of github `yujianll/skill-usage` (SkillsBench in
`tasks/`, Terminal-Bench 2 in `terminal-bench-2/`). Each task is checked in the sandbox, its oracle
and an empty solution; wheels are installed beforehand. Prints a line of JSON a task, and last a
count of each result. With `--least N`, status 1 if fewer than N are proven.
"""

import argparse
import json
import re
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from brain.sandbox.find_sandbox import find_sandbox
from brain.solving.check import check_task
from brain.tasks.task_folders import read_tasks


def main(arguments: list[str]) -> int:
    """Check the tasks of a folder; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=200, help="for each solver and verifier")
    parser.add_argument("--least", type=int, default=0, help="tasks that must be proven")
    parser.add_argument("--only", default="", help="a pattern of names")
    given = parser.parse_args(arguments)
    sandbox, counts = find_sandbox(), Counter[str]()
    for folder in sorted(one for one in given.folder.iterdir() if one.is_dir()):
        found = read_tasks(folder)
        counts["broken"] += len(found.broken)
        for task in found.tasks:
            if not re.search(given.only, task.name):
                continue
            seconds = min(given.seconds, task.limits.solver_seconds)
            limits = replace(task.limits, solver_seconds=seconds, verifier_seconds=seconds)
            started = time.monotonic()
            check = check_task(sandbox, replace(task, limits=limits))
            counts[check.result] += 1
            row = {"folder": folder.name, **check._asdict()}
            print(json.dumps({**row, "seconds": round(time.monotonic() - started, 1)}), flush=True)
    print(json.dumps(dict(counts)))
    return 1 if counts["proven"] < given.least else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
