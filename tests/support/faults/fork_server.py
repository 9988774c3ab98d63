"""A process with everything imported that forks a child for each command under fault.

A child starts in a hundredth of the time that a fresh interpreter takes, and none of
its system calls are those of imports. It waits for SIGUSR1, so that a tracer can attach
before the command begins.

Requests come as lines of JSON, `[scenario, folder, out, err, {limit: value}]`. Each is
answered by two lines: the child's process id, and its wait status when it has ended.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

from brain import BrainError
from tests.support.faults.write_scenarios import SCENARIOS

EXIT_DONE, EXIT_REFUSED, EXIT_UNTYPED = 0, 1, 70
"""Exit statuses of a child: acknowledged, ended by a `BrainError`, by anything else."""
CHILD_TIMEOUT_SECONDS = 300
"""After so long SIGALRM ends a child that hangs."""


def main() -> None:
    """Warm up, then serve requests until the input ends."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    _warm_up()
    _send_word("ready")
    for line in sys.stdin:
        request = json.loads(line)
        here, there = os.pipe()
        child = os.fork()
        if not child:
            _run_child(there, *request)
        os.close(there)
        os.read(here, 1)  # until it waits, what it does is not to be counted
        os.close(here)
        _send_word(child)
        _send_word(os.waitpid(child, 0)[1])


def _warm_up() -> None:
    """Load what the commands load."""
    for scenario in SCENARIOS.values():
        with tempfile.TemporaryDirectory() as folder:
            scenario.prepare(Path(folder))
            scenario.run(Path(folder))


def _send_word(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def _run_child(
    ready: int, scenario: str, folder: str, out: str, err: str, limits: dict[str, int]
) -> None:
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.write(ready, b".")
    os.closerange(3, 64)
    signal.sigwait([signal.SIGUSR1])
    signal.alarm(CHILD_TIMEOUT_SECONDS)
    for name, value in limits.items():
        which = getattr(resource, name)
        resource.setrlimit(which, (value, resource.getrlimit(which)[1]))
    try:
        said, status = {"head": SCENARIOS[scenario].run(Path(folder))}, EXIT_DONE
    except BrainError as error:
        said, status = {"code": error.code, "message": str(error)}, EXIT_REFUSED
    except BaseException:  # noqa: BLE001  told to the parent
        traceback.print_exc()
        os._exit(EXIT_UNTYPED)
    with suppress(OSError):  # the fault may strike here too: then it is unheard
        os.write(1, json.dumps(said).encode())
    os._exit(status)


if __name__ == "__main__":
    main()
