"""What an agent reads."""

from __future__ import annotations

from typing import NamedTuple


class Index(NamedTuple):
    """The Level-0 index: how many `skills` it shows, how many are `left_out`, its tokens.

    `tokens` is an estimate, bytes / 4, unless another counter was given.
    """

    index: str  # type: ignore[assignment]  # the name the JSON has
    skills: int
    left_out: int
    tokens: int


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


class Selected(NamedTuple):
    """A skill that a task needs; scores compare within one answer only."""

    slug: str
    name: str
    description: str
    path: str
    score: float


class Similar(NamedTuple):
    """A skill that is much like another: `score` is 1 where they are the same."""

    slug: str
    name: str
    description: str
    path: str
    score: float
