"""What clients are served from: the brain, opened for each of them under its own name.

Nothing here knows the protocol. All of it blocks; calls come one after the other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import Conflict, InvalidInput, NotFound, ToolFailure
from ...skills.slug import slugify
from ..tools import TOOLS, Answer, Tool, Toolbox
from ..tools.reading import shown_text
from .seat import Seat

if TYPE_CHECKING:
    from ...brain import Brain
    from ...results import Skill, SkillChange

Open = Callable[[str], "Brain"]
"""Opens the brain for an author."""

WRITES, PROPOSES, READS = "writes", "proposes", "reads"
"""What clients may do: write, propose what a person then accepts, or only read."""

MAX_CLIENTS = 16
"""Clients whose brains stay open; the one heard of longest ago is closed first."""
NOBODY = "agent"
"""What a client is called that gives no name."""
GUIDE = """\
These are your skills: procedures you wrote down, or were given, for kinds of tasks. Before \
a task, look whether a skill below is about it and read it with skill_view. After hard work, \
write down what you learned with skill_manage: improve the nearest skill first.
"""
_LISTED = """
Your skills, as name and description; skills_list shows all, also later ones:
"""
_PROPOSED = """
What you write is proposed: you read it back at once; others do once a person accepted it.
"""
_READ_ONLY = """
You may read these skills, not change them.
"""


class Served(NamedTuple):
    """What a resource holds."""

    text: str
    snapshot: str


class Desk:
    """The brains behind one server. `budget` bounds the index in the instructions, in tokens."""

    def __init__(self, opened: Open, mode: str = WRITES, budget: int = 2000) -> None:
        self.mode = mode
        self._open = opened
        self._budget = budget
        self._base = opened("")
        self._seats: OrderedDict[str, Seat] = OrderedDict()
        self._seen: dict[str, str] = {}

    @property
    def root(self) -> Path:
        """The folder of the brain."""
        return self._base.root

    @property
    def brain_id(self) -> str:
        """The id of the brain."""
        return self._base.id

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that clients are offered."""
        if self.mode == PROPOSES:  # there is no folder in which somebody could have changed files
            return tuple(tool for tool in TOOLS if tool.name != "brain_snapshot")
        return tuple(tool for tool in TOOLS if tool.reads or self.mode != READS)

    def call(self, client: str, name: str, given: Mapping[str, Any], session: str = "") -> Answer:
        """Carry out a call for a client, in one of its sessions if it says which.

        Raises `ToolFailure`, told as a model can act on it.
        """
        if self.mode == READS and any(tool.name == name and not tool.reads for tool in TOOLS):
            raise ToolFailure(
                "This brain is served for reading only.",
                code="read_only",
                hint="Go on without writing.",
            )
        if self.mode == READS:
            return Toolbox(self._base).call(name, given)
        return self._seat(client).call(session, name, given)

    def ended(self, session: str) -> None:
        """Close the record of a session, whoever's it was."""
        for seat in self._seats.values():
            seat.end(session)

    def brain(self, client: str) -> Brain:
        """Return the brain as a client sees it. Raises `BrainError`."""
        return self._base if self.mode == READS else self._seat(client).brain

    def _seat(self, client: str) -> Seat:
        name = named(client)
        if name not in self._seats:
            while len(self._seats) >= MAX_CLIENTS:
                self._seats.popitem(last=False)[1].close()
            proposing = self.mode == PROPOSES
            made = self._base.proposal(name, author=name) if proposing else self._open(name)
            self._seats[name] = Seat(made, name)
        self._seats.move_to_end(name)
        return self._seats[name]

    def instructions(self, client: str) -> str:
        """Return what a model should know from the start: the guide, and the Level-0 index."""
        index = self.brain(client).framed_index(budget=self._budget)
        note = {PROPOSES: _PROPOSED, READS: _READ_ONLY}.get(self.mode, "")
        return f"{GUIDE}{note}{_LISTED}{index}"

    def index(self, client: str) -> Served:
        """Return the whole Level-0 index, framed as in the prompt: clients show it to models."""
        brain = self.brain(client)
        head = brain.head
        return Served(brain.framed_index(head), head)

    def prompt(self, client: str) -> str:
        """Return the system prompt."""
        return self.brain(client).prompt().prompt

    def skills(self, client: str) -> list[Skill]:
        """Return all skills, by slug."""
        return self.brain(client).skills()

    def skill(self, client: str, slug: str, version: str = "") -> Served:
        """Return the text of a skill, now or at a version, as skill_view shows it.

        Raises `NotFound` or `InvalidInput`.
        """
        brain = self.brain(client)
        if version and not version.strip().isprintable():
            raise InvalidInput("not a version", code="bad_version")
        found = brain.read_skill(f"{slug}@{version}" if version else slug)
        return Served(shown_text(found.content), found.snapshot)

    def moved(self) -> Changed | None:
        """Return what changed since this was asked last, by whatever process; None if nothing.

        The first time there is nothing to compare with.
        """
        found: list[SkillChange] = []
        before, self._seen = self._seen, dict(self._heads())
        for name, head in self._seen.items():
            was = before.get(name, head)
            if was != head:
                try:
                    found += self._base.diff(was, head).skills
                except NotFound:  # what was there is collected by now
                    return Changed(frozenset(), True)
        if self._seen == before or not before:
            return None
        listed = any(change.change in ("added", "removed") for change in found)
        return Changed(frozenset(change.slug for change in found), listed)

    def _heads(self) -> Iterator[tuple[str, str]]:
        yield "", self._base.head
        if self.mode == PROPOSES:
            for name, seat in self._seats.items():
                with suppress(Conflict):  # somebody works on its branch
                    yield name, seat.brain.head

    def close(self) -> None:
        """End all sessions, and close all brains."""
        for seat in self._seats.values():
            seat.close()
        self._seats.clear()
        self._base.close()


class Changed(NamedTuple):
    """The slugs of skills that changed, and whether some came or went."""

    slugs: frozenset[str]
    listed: bool


def named(client: str) -> str:
    """Return the name under which a client writes: the slug of what it calls itself."""
    try:
        return slugify(client[:64])
    except InvalidInput:
        return NOBODY
