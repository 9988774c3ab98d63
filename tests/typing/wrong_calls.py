"""Calls of parts that mypy must refuse; `make lint` reads this file, and nothing runs it.

An error that mypy no longer sees leaves its `type: ignore` unused, which is an error itself.
"""

from __future__ import annotations

from typing import assert_type

from brain import Brain, results


def call_wrongly(brain: Brain) -> None:
    """Call operations with what they do not take, and expect what they do not return."""
    brain.history.show(1)  # type: ignore[arg-type]
    brain.history.show(revision="@")  # type: ignore[call-arg]
    brain.history.show("@", "@")  # type: ignore[call-arg]
    brain.history.has()  # type: ignore[call-arg]
    brain.history.patch("@")  # type: ignore[arg-type]
    brain.skills.upsert(5)  # type: ignore[arg-type]
    brain.skills.upsert("oracle", bdy="Text.")  # type: ignore[call-arg]
    brain.snapshot("Edit", 3)  # type: ignore[arg-type]
    brain.programs.retire("oracle", because="old")  # type: ignore[call-arg]
    brain.programs.retire("oracle", decider=None)  # type: ignore[call-arg]
    brain.programs.reinstate("oracle", source={})  # type: ignore[call-arg]
    brain.signatures.sign_missing(key=b"", excluded=None)  # type: ignore[call-arg]
    text: str = brain.history.show("@")  # type: ignore[assignment]
    assert text


def call_rightly(brain: Brain) -> None:
    """Call operations as they are, and get what they return."""
    assert_type(brain.history.show(rev="@"), results.SnapshotDetails)
    assert_type(brain.history.has("ab"), bool)
    assert_type(brain.skills.upsert("oracle", "Text.", base=1), results.Upserted)
    assert_type(brain.undo(), results.Undone)
    assert_type(brain.gate.read_mode(), str)
    assert_type(brain.history.blame("oracle"), list[results.BlameLine])
