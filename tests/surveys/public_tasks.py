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
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from brain.sandbox.find_sandbox import find_sandbox
from brain.solving.check import check_task
from brain.tasks.task import Task
from brain.tasks.task_folders import read_tasks


def main(arguments: list[str]) -> int:
    """Check the tasks of a folder; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=200, help="for each solver and verifier")
    parser.add_argument("--jobs", type=int, default=1, help="tasks that are checked at a time")
    parser.add_argument("--least", type=int, default=0, help="tasks that must be proven")
    parser.add_argument("--only", default="", help="a pattern of names")
    given = parser.parse_args(arguments)
    sandbox, counts = find_sandbox(), Counter[str]()

    def check(folder: str, task: Task) -> dict[str, Any]:
        seconds = min(given.seconds, task.limits.solver_seconds)
        limits = replace(task.limits, solver_seconds=seconds, verifier_seconds=seconds)
        started = time.monotonic()
        found = check_task(sandbox, replace(task, limits=limits))
        took = round(time.monotonic() - started, 1)
        return {"folder": folder, **found._asdict(), "seconds": took}

    folders = sorted(one for one in given.folder.iterdir() if one.is_dir())
    with ThreadPoolExecutor(given.jobs) as pool:
        waiting = []
        for folder in folders:
            found = read_tasks(folder)
            counts["broken"] += len(found.broken)
            chosen = [task for task in found.tasks if re.search(given.only, task.name)]
            waiting += [pool.submit(check, folder.name, task) for task in chosen]
        for row in as_completed(waiting):
            counts[row.result()["result"]] += 1
            print(json.dumps(row.result()), flush=True)
    print(json.dumps(dict(counts)))
    return 1 if counts["proven"] < given.least else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
