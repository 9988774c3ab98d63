"""Child processes of the tests, and how long a test waits for one."""

import os
from pathlib import Path


def child_process_ids() -> set[int]:
    """Return the ids of all children, those that other tests keep among them."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
        if int(parent) == os.getpid():
            found.add(int(stat.parent.name))
    return found


TIMEOUT_SECONDS = 300.0
"""Seconds until what does not end fails its test: a machine under load is slow, not wrong."""
