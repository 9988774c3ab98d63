"""Start a program with no environment, and with certain descriptors."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Mapping
from contextlib import ExitStack


def start_program(arguments: list[str], descriptors: Mapping[int, int]) -> int:
    """Start a program, and return its process id.

    `descriptors` maps each number that the program gets to a descriptor of this process. It has
    a session of its own, so that Ctrl-C spares it, and no signal is ignored or blocked.
    """
    with ExitStack() as stack:
        above = max(descriptors) + 1
        raised: list[tuple[int, int]] = []
        for number, descriptor in descriptors.items():
            raised.append((fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above), number))
            stack.callback(os.close, raised[-1][0])
        return os.posix_spawn(
            arguments[0],
            arguments,
            {},
            file_actions=[(os.POSIX_SPAWN_DUP2, *pair) for pair in raised],
            setsid=True,
            setsigmask=(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )
