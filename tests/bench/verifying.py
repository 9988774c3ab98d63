"""Rows of verification: of all content, and of long lineages, with signatures and without."""

from collections.abc import Callable
from functools import partial

from tests.bench.arena import Arena
from tests.bench.contestants import BrainCli
from tests.bench.lineage import long_lineage
from tests.bench.timing import Sample, Series, interleave

Row = Callable[[Arena], dict[str, Series]]


def verify(arena: Arena) -> dict[str, Series]:
    """Every byte read again and checked, from the state of the first snapshot."""
    return interleave(
        arena.repeats,
        {
            "brain": lambda _: arena.stored_brain.run("verify", "--deep"),
            "git after gc": lambda _: arena.packed_git.run("fsck", "--full", "--no-progress"),
        },
    )


def verify_lineage(kind: str, arena: Arena) -> dict[str, Series]:
    """As many snapshots as there are skills, verified from the last one back to the first."""

    def by_brain(_: int) -> Sample:
        return BrainCli(arena.runner, long_lineage(arena, kind)).run("verify")

    return interleave(arena.repeats, {"brain": by_brain})


ROWS: dict[str, Row] = {
    "verify": verify,
    "verify-lineage": partial(verify_lineage, "plain"),
    "verify-signed-lineage": partial(verify_lineage, "signed"),
}
