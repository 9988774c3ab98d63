"""A brain, and clients of the SDK for it in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from brain import Brain
from brain.serve.mcp.desk import PROPOSES, READS, WRITES, Desk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a brain with a skill of two versions, and a prompt."""
    root = tmp_path / "agent"
    with Brain.init(root, author="person") as brain:
        (root / "prompts").mkdir(exist_ok=True)
        (root / "prompts/system.md").write_text("You are an auditor.\n")
        brain.snapshot("First")
        brain.upsert_skill("Oracle", "One.\n", description="Check the oracle")
        brain.upsert_skill("Oracle", "Two.\n")
    return root


def desk_of(folder: Path, mode: str) -> Desk:
    """Return a desk as the command line makes it."""
    return Desk(lambda author: Brain.open(folder, author=author), mode)


@pytest.fixture
def desk(folder: Path) -> Iterator[Desk]:
    """A desk whose clients may write."""
    made = desk_of(folder, WRITES)
    yield made
    made.close()


@pytest.fixture
def proposing(folder: Path) -> Iterator[Desk]:
    """A desk whose clients propose."""
    made = desk_of(folder, PROPOSES)
    yield made
    made.close()


@pytest.fixture
def reading(folder: Path) -> Iterator[Desk]:
    """A desk whose clients read."""
    made = desk_of(folder, READS)
    yield made
    made.close()
