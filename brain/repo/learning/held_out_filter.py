"""Keep the inputs of held-out cases out of what evolvers are shown of runs, skills and attempts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import BrainError
from ...gating.case_files import MAX_CASE_BYTES, read_case_origin
from ...gating.held_out import HeldOutInputs, is_held_out
from ...objects import bundle as bundles
from ...objects.tree_entry import LINK
from ..open.session import Session
from ..read.case_paths import is_case_path
from .cases import source_of_run

if TYPE_CHECKING:
    from ...receipts import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutFilter:
    """The inputs of the held-out cases of a brain, and the runs that they were made of."""

    inputs: HeldOutInputs
    sources: frozenset[str]

    def hides(self, text: str) -> bool:
        """Tell whether a text holds the input of a held-out case."""
        return self.inputs.is_in(text)

    def hide_in(self, text: str) -> str:
        """Return a text without the lines that the input of a held-out case stands in."""
        return self.inputs.hide_in(text)

    def hides_run(self, run: Receipt) -> bool:
        """Tell whether a held-out case was made of a run, or the run repeats the input of one."""
        return source_of_run(run) in self.sources or any(map(self.hides, _iter_texts(run)))


def read_held_out_filter(session: Session) -> HeldOutFilter:
    """Read the held-out cases at the head, also of retired skills.

    A document that is no case counts too, if it has an input that would be held out.
    """
    inputs, practice, sources = [], [], set()
    for entry in bundles.walk_entries(session.nodes, session.bundle_of(session.head())):
        if not is_case_path(entry.path) or entry.kind == LINK or entry.size > MAX_CASE_BYTES:
            continue
        try:
            origin = read_case_origin(session.reader.read_blob(entry.blob, entry.size))
        except BrainError:  # redacted
            continue
        if origin is None:
            continue
        if is_held_out(origin.input):
            inputs.append(origin.input)
            sources.add(origin.source)
        else:
            practice.append(origin.input)
    return HeldOutFilter(inputs=HeldOutInputs(inputs, practice), sources=frozenset(sources - {""}))


def _iter_texts(run: Receipt) -> Iterator[str]:
    """Yield all texts of a run that a transcript shows."""
    yield run.task
    yield run.reason
    for step in run.steps:
        yield step.name
        yield step.error
        for text in (step.input, step.output):
            if text is not None:
                yield text.excerpt
