"""The entry point. It imports little, because start-up is most of a short command."""

from __future__ import annotations

import gc
import os
import sys

GC_THRESHOLD = 50_000
"""Allocations between two garbage collections; start-up alone makes about as many."""


def main(argv: list[str] | None = None) -> int:
    """Run `brain` with `argv` and return its exit status.

    Without `argv` it runs the arguments of the process and ends the process with
    `os._exit`: all files are closed by then, and finalizing the interpreter would take a
    tenth of the time of a short command.
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
    """Print the version without importing click."""
    from brain._version import __version__

    try:
        sys.stdout.write(f"brain {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):
        from .invocation import run_cli

        return run_cli(["--version"])
    return 0
