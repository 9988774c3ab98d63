"""What is recorded, but could not be written into the folder."""

import os
import subprocess
import sys

from tests.support.processes import TIMEOUT_SECONDS

SCRIPT = """
import shutil, tempfile
from pathlib import Path

from brain import Brain
from brain.errors import BrainError

root = Path(tempfile.mkdtemp())
with Brain.init(root, name="agent", author="tester") as brain:
    made = brain.skills.upsert("a", "one\\n", description="d")
    file = brain.root / made.path
    file.parent.chmod(0o555)
    try:
        brain.skills.upsert("a", "two\\n")
    except BrainError as error:
        print(f"{error.code}: {error.hint}")
    print(brain.skills.list()[0].version)
    found = brain.status()
    print(found.clean, *(f"{one.code} {one.path}: {one.message}" for one in found.notices))
    print(*(one.check for one in brain.doctor() if not one.ok and one.check != "disk"))
    file.write_text("mine")
    print(brain.status().modified, *(one.code for one in brain.status().notices))
    file.parent.chmod(0o755)
shutil.rmtree(root)
"""


def test_it_is_said_to_be_recorded_and_what_somebody_wrote_since_is_no_part_of_it():
    command = [sys.executable, "-c", SCRIPT]
    if os.geteuid() == 0:  # root may write everything
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=True
    )
    path = "skills/a/SKILL.md"
    assert done.stdout.splitlines() == [
        "unwritable: check who may read and write it, and the folder it is in; this "
        "change is recorded; the next command that writes tries again",
        "2",
        f"True unwritten {path}: recorded, but not yet written; the next writing command writes it",
        "unfinished writes",
        f"['{path}'] version_not_raised",
    ]
