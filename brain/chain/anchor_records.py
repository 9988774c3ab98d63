"""The file that notes which size of a log had the root that is anchored on a chain.

A contract stores a root and no size, so the size is noted here: one JSON object per line in
`anchors.jsonl`, in the folder that all ledgers on chains share.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from ..errors import BrainError
from ..util import settings
from .evm import durable_files

ANCHORS_FILE = "anchors.jsonl"


class AnchorRecord(NamedTuple):
    """A root of the log `log`, over `size` entries, that `sender` anchored in `identity`."""

    identity: str
    log: str
    sender: str
    root: str
    size: int


def append_anchor_record(folder: Path, record: AnchorRecord) -> None:
    """Append a record to the file in `folder`, unless it is there; durable on return.

    The file is replaced as a whole, so a last line that was not written to its end is
    dropped. Raises as `read_anchor_records` does, and `StoreError`.
    """
    path = folder / ANCHORS_FILE
    with settings.exclusive_lock(path):
        records = read_anchor_records(folder)
        if record in records:
            return
        lines = [json.dumps(each._asdict()) + "\n" for each in (*records, record)]
        durable_files.write_durably(path, "".join(lines).encode())


def read_anchor_records(folder: Path) -> list[AnchorRecord]:
    """Return the records in `folder`, oldest first.

    A last line without a line feed was not written to its end, and is left out. Raises
    `BrainError` (`bad_ledger`) for any other line that is not a record.
    """
    try:
        lines = (folder / ANCHORS_FILE).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    try:
        return [AnchorRecord(**json.loads(line)) for line in lines[:-1]]
    except (ValueError, TypeError) as error:
        raise BrainError(
            f"a line of {folder / ANCHORS_FILE} is not the record of an anchor",
            code="bad_ledger",
            hint="move it away, and run `brain chain batch` again",
        ) from error
