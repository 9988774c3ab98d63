"""Adopt a folder again and again in processes killed (SIGKILL) at a chosen call.

    python killed_adoption.py FOLDER '[["FOLDER", "POINT"], …]'

prints how each process ended. A point is a function, and which call of it is the last moment.
"""

import importlib
import json
import os
import signal
import sys
from pathlib import Path

from brain import Brain

NEW_BRAIN_KILL_POINTS = (
    "brain.api.brain:Brain.init 1",
    "brain.api.history:ImportsPart.record_state 1",
    "brain.repo.transaction:WriteTransaction.record_snapshot 1",
    "brain.api.branches:MergePart.start 1",
    "brain.folder.write:StagedWriter.publish 2",
)
KNOWN_SOURCE_KILL_POINTS = (
    "brain.adopting.sources:scan_home 1",
    "brain.repo.transaction:WriteTransaction.record_snapshot 1",
    "brain.ops.import_states:log_operation 1",
    "brain.repo.transaction:apply_pending_writes 1",
    "brain.folder.write:StagedWriter.write 2",
)
"""For a new brain, and one that knows the source, in the order in which adoption gets there."""


def main() -> None:
    """Run one child after the other."""
    repository, jobs = Path(sys.argv[1]), json.loads(sys.argv[2])
    ended = []
    for folder, point in jobs:
        child = os.fork()
        if not child:
            _arm_kill_point(point)
            Brain.adopt(repository, Path(folder))
            os._exit(0)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    sys.stdout.write(json.dumps(ended))


def _arm_kill_point(point: str) -> None:
    place, _, number = point.partition(" ")
    module, _, names = place.partition(":")
    *above, name = names.split(".")
    holder = importlib.import_module(module)
    for part in above:
        holder = getattr(holder, part)
    usual, left = getattr(holder, name), int(number)

    def counted(*args: object, **named: object) -> object:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(*args, **named)

    setattr(holder, name, counted)


if __name__ == "__main__":
    main()
