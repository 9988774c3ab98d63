"""One attempt to get out of a sandbox, as a row of a table."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from brain.sandbox.job import MIB, SandboxLimits, SandboxOutcome
from tests.sandbox.process_search import odd_memory_limit

Answer = Callable[[bytes], bytes]
Judge = Callable[[SandboxOutcome], bool]

MEMORY_BYTES = odd_memory_limit(128)
"""Of each process, by which the processes of attempts are found."""
LIMITS = SandboxLimits(
    wall_seconds=30.0,
    cpu_seconds=10,
    memory_bytes=MEMORY_BYTES,
    threads=8,
    file_bytes=8 * MIB,
    output_bytes=64 << 10,
    requests=8,
)
FAMILY = replace(LIMITS, memory_bytes=3 * MEMORY_BYTES, processes=3)
"""For what starts other processes."""
BRIEF = replace(FAMILY, wall_seconds=1.5, cpu_seconds=1)
"""For what does not end by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What is tried, and what shows that it was tried and failed.

    `code` runs inside, after `from inside import *`. It reports each refusal; a line `reached`
    says that it got out. `ends` holds the ways in which the job may end. `judge` tells whether
    the outcome is the one of a sandbox that held.
    """

    kind: str
    name: str
    code: str
    ends: tuple[str, ...] = ("exit",)
    limits: SandboxLimits = LIMITS
    with_folder: bool = False
    """Whether an approved folder of the host is readable at /folders/data."""
    answer: Answer | None = None
    judge: Judge = field(default=lambda _: True)


def table(kind: str, rows: dict[str, str], **same: Any) -> list[Attempt]:
    """Return attempts of a kind, by name and code, with other fields that they share."""
    return [Attempt(kind=kind, name=name, code=code, **same) for name, code in rows.items()]
