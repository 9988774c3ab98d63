"""What the figures were measured on, in one line for the report."""

import os
import platform
from pathlib import Path

from tests.bench.timing import Failed, Runner


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def _version(runner: Runner, *command: str) -> str:
    try:
        return runner.output(*command).strip().splitlines()[0]
    except Failed:
        return f"no {command[0]}"


def _sqlite() -> str:
    import apsw

    return f"SQLite {apsw.sqlite_lib_version()}"


def describe(runner: Runner, work: Path) -> str:
    """Return processor, memory, system, file system of `work` and the programs' versions."""
    file_system = _version(runner, "findmnt", "-n", "-o", "FSTYPE", "-T", str(work))
    return ", ".join(
        [
            f"{len(os.sched_getaffinity(0))} cores of {_processor()}",
            f"{_memory()} GB",
            f"{platform.system()} {platform.release()}",
            file_system,
            f"Python {platform.python_version()} ({platform.python_compiler()})",
            _sqlite(),
            _version(runner, "git", "--version"),
            _version(runner, "b3sum", "--version"),
        ]
    )
