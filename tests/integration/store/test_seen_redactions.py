"""A redaction is seen at once by every process that has the brain open."""

import subprocess
import sys

import pytest

from brain import Brain, NotFound
from tests.support.processes import TIMEOUT_SECONDS
from tests.support.refusals import raises_code

REDACT = """
import sys
from brain import Brain
with Brain.open(sys.argv[1], author="other") as brain:
    brain.files.redact(sys.argv[2], reason="a name")
"""


def in_this_session(brain: Brain, path: str) -> None:
    brain.files.redact(path, reason="a name")


def in_another_session(brain: Brain, path: str) -> None:
    with Brain.open(brain.root, author="other") as other:
        other.files.redact(path, reason="a name")


def in_another_process(brain: Brain, path: str) -> None:
    command = [sys.executable, "-c", REDACT, str(brain.root), path]
    subprocess.run(command, check=True, timeout=TIMEOUT_SECONDS)


@pytest.mark.parametrize("redact", [in_this_session, in_another_session, in_another_process])
def test_a_redaction_is_seen_at_once(tmp_path, redact):
    """Also the second one, after which the facts of the first were read."""
    with Brain.init(tmp_path, author="tester") as brain:
        for slug in ("alpha", "beta"):
            path = brain.skills.upsert(slug, "Ask Ada.\n", description=f"About {slug}").path
            before = brain.head
            assert f"About {slug}" in brain.prompt.build_index().index
            assert b"Ada" in brain.files.read(path, before)
            cache = brain._session.cache
            redact(brain, path)
            assert f"About {slug}" not in brain.prompt.build_index().index
            with raises_code("redacted", NotFound):
                brain.files.read(path, before)
            assert brain._session.cache is not cache
