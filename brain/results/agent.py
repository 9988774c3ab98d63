"""What an agent reads."""

from __future__ import annotations

from typing import NamedTuple


class Index(NamedTuple):
    """The Level-0 index: how many `skills` it shows, how many are `left_out`, its tokens.

    `tokens` is an estimate, bytes / 4, unless another counter was given. Of a task,
    `selected_by` is what found its skills and `fallback` as in `Selection`.
    """

    index: str  # type: ignore[assignment]  # the name the JSON has
    skills: int
    left_out: int
    tokens: int
    selected_by: str | None = None
    fallback: str | None = None


class Prompt(NamedTuple):
    """The system prompt, the index in it as `Index` has it, and the memory files `cut`.

    `tokens` are those of the whole prompt.
    """

    prompt: str
    index: str  # type: ignore[assignment]  # the name the JSON has
    skills: int
    left_out: int
    tokens: int
    cut: list[str]
    selected_by: str | None = None
    fallback: str | None = None


class Selected(NamedTuple):
    """A skill that a task needs; scores compare within one answer only."""

    slug: str
    name: str
    description: str
    path: str
    score: float


class Selection(NamedTuple):
    """The skills that a task needs, the best first, as the selector `by` finds them.

    `fallback` says why it is not by meaning where that was wanted: what the embedder failed
    with, else None.
    """

    skills: list[Selected]
    by: str
    fallback: str | None


class Similar(NamedTuple):
    """A skill that is much like another: `score` is 1 where they are the same."""

    slug: str
    name: str
    description: str
    path: str
    score: float
