"""A brain, and clients of the SDK for it in this process."""

from pathlib import Path

import pytest

from brain import Brain
from brain.serve.mcp.brain_pool import PROPOSE_MODE, READ_MODE, WRITE_MODE, BrainPool
from tests.support.brain_templates import copy_brain


@pytest.fixture
def folder(tmp_path):
    """The folder of a brain with a skill of two versions, and a prompt."""
    return copy_brain(_make_agent, tmp_path / "agent")


def _make_agent(root: Path) -> None:
    with Brain.init(root, author="person") as brain:
        (root / "prompts").mkdir(exist_ok=True)
        (root / "prompts/system.md").write_text("You are an auditor.\n")
        brain.snapshot("First")
        brain.skills.upsert("Oracle", "One.\n", description="Check the oracle")
        brain.skills.upsert("Oracle", "Two.\n")


def desk_of(folder: Path, mode: str) -> BrainPool:
    """Return a desk as the command line makes it."""
    return BrainPool(lambda author: Brain.open(folder, author=author), mode)


@pytest.fixture
def desk(folder):
    """A desk whose clients may write."""
    made = desk_of(folder, WRITE_MODE)
    yield made
    made.close()


@pytest.fixture
def proposing(folder):
    """A desk whose clients propose."""
    made = desk_of(folder, PROPOSE_MODE)
    yield made
    made.close()


@pytest.fixture
def reading(folder):
    """A desk whose clients read."""
    made = desk_of(folder, READ_MODE)
    yield made
    made.close()
