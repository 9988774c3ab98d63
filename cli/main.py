"""The entry point. It imports as little as it can: most of a short command is start-up."""

from __future__ import annotations

import gc
import os
import sys

GC_THRESHOLD = 50_000
"""Objects made between two searches for cycles; start-up alone makes as many, to stay."""


def main(argv: list[str] | None = None) -> int:
    """Run `brain` with `argv` and return its exit status.

    Without `argv` this is all that the process does, with the arguments of the process:
    then it ends here. All is written and closed by now, and taking the interpreter apart
    piece by piece would cost a short command a tenth of its time.
    """
    if argv is None:
        os._exit(_start(sys.argv[1:]))
    return _start(argv)


def _start(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        return _print_version()
    gc.set_threshold(GC_THRESHOLD)
    try:
        from .invocation import run_cli
    except KeyboardInterrupt:
        return 130
    except (OSError, MemoryError) as problem:
        sys.stderr.write(f"Error: cannot start: {problem}\n")
        return 1
    return run_cli(arguments)


def _print_version() -> int:
    """Print the version without loading anything else."""
    from brain._version import __version__

    try:
        sys.stdout.write(f"brain {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):
        from .invocation import run_cli

        return run_cli(["--version"])
    return 0
