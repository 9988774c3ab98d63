"""The brains of one server, opened for each client under its own name.

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
from ..tools import TOOLS, Tool, Toolbox, ToolResult
from ..tools.skill_read import text_for_model
from .client_session import ClientBrain

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import Skill, SkillChange

BrainOpener = Callable[[str], "Brain"]
"""Opens the brain for an author."""

WRITE_MODE, PROPOSE_MODE, READ_MODE = "writes", "proposes", "reads"
"""What clients may do: write, propose what a person then accepts, or only read."""

MAX_CLIENTS = 16
"""Clients whose brains stay open; the one heard of longest ago is closed first."""
DEFAULT_CLIENT_NAME = "agent"
"""What a client is called that gives no name."""
INSTRUCTIONS_GUIDE = """\
These are your skills: procedures you wrote down, or were given, for kinds of tasks. Before \
a task, look whether a skill below is about it and read it with skill_view. After hard work, \
write down what you learned with skill_manage: improve the nearest skill first.
"""
_SKILLS_HEADING = """
Your skills, as name and description; skills_list shows all, also later ones:
"""
_PROPOSE_NOTE = """
What you write is proposed: you read it back at once; others do once a person accepted it.
"""
_READ_ONLY_NOTE = """
You may read these skills, not change them.
"""


class ResourceContent(NamedTuple):
    """What a resource holds."""

    text: str
    snapshot: str


class BrainPool:
    """The brains behind one server. `budget` bounds the index in the instructions, in tokens."""

    def __init__(self, open_brain: BrainOpener, mode: str = WRITE_MODE, budget: int = 2000) -> None:
        self.mode = mode
        self._open_brain = open_brain
        self._budget = budget
        self._base_brain = open_brain("")
        self._clients: OrderedDict[str, ClientBrain] = OrderedDict()
        self._last_heads: dict[str, str] = {}

    @property
    def root(self) -> Path:
        """The folder of the brain."""
        return self._base_brain.root

    @property
    def brain_id(self) -> str:
        """The id of the brain."""
        return self._base_brain.id

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that clients are offered."""
        if (
            self.mode == PROPOSE_MODE
        ):  # there is no folder in which somebody could have changed files
            return tuple(tool for tool in TOOLS if tool.name != "brain_snapshot")
        return tuple(tool for tool in TOOLS if tool.read_only or self.mode != READ_MODE)

    def call(
        self, client: str, name: str, arguments: Mapping[str, Any], session: str = ""
    ) -> ToolResult:
        """Carry out a call for a client, in one of its sessions if it says which.

        Raises `ToolFailure`, told as a model can act on it.
        """
        if self.mode == READ_MODE and any(
            tool.name == name and not tool.read_only for tool in TOOLS
        ):
            raise ToolFailure(
                "This brain is served for reading only.",
                code="read_only",
                hint="Go on without writing.",
            )
        if self.mode == READ_MODE:
            return Toolbox(self._base_brain).call(name, arguments)
        return self._client_brain(client).call(session, name, arguments)

    def end_session(self, session: str) -> None:
        """Close the record of a session, whoever's it was."""
        for client_brain in self._clients.values():
            client_brain.end_session(session)

    def brain(self, client: str) -> Brain:
        """Return the brain as a client sees it. Raises `BrainError`."""
        return self._base_brain if self.mode == READ_MODE else self._client_brain(client).brain

    def _client_brain(self, client: str) -> ClientBrain:
        name = client_slug(client)
        if name not in self._clients:
            while len(self._clients) >= MAX_CLIENTS:
                self._clients.popitem(last=False)[1].close()
            proposing = self.mode == PROPOSE_MODE
            made = (
                self._base_brain.proposals.open(name, author=name)
                if proposing
                else self._open_brain(name)
            )
            self._clients[name] = ClientBrain(made, name)
        self._clients.move_to_end(name)
        return self._clients[name]

    def instructions(self, client: str) -> str:
        """Return what a model should know from the start: the guide, and the Level-0 index."""
        index = self.brain(client).framed_index(budget=self._budget)
        note = {PROPOSE_MODE: _PROPOSE_NOTE, READ_MODE: _READ_ONLY_NOTE}.get(self.mode, "")
        return f"{INSTRUCTIONS_GUIDE}{note}{_SKILLS_HEADING}{index}"

    def read_index(self, client: str) -> ResourceContent:
        """Return the whole Level-0 index, framed as in the prompt: clients show it to models."""
        brain = self.brain(client)
        head = brain.head
        return ResourceContent(brain.framed_index(head), head)

    def read_prompt(self, client: str) -> str:
        """Return the system prompt."""
        return self.brain(client).prompt().prompt

    def list_skills(self, client: str) -> list[Skill]:
        """Return all skills, by slug."""
        return self.brain(client).skills()

    def read_skill(self, client: str, slug: str, version: str = "") -> ResourceContent:
        """Return the text of a skill, now or at a version, as skill_view shows it.

        Raises `NotFound` or `InvalidInput`.
        """
        brain = self.brain(client)
        if version and not version.strip().isprintable():
            raise InvalidInput("not a version", code="bad_version")
        found = brain.read_skill(f"{slug}@{version}" if version else slug)
        return ResourceContent(text_for_model(found.content), found.snapshot)

    def poll_changes(self) -> SkillChanges | None:
        """Return what changed since this was asked last, by whatever process; None if nothing.

        The first time there is nothing to compare with.
        """
        found: list[SkillChange] = []
        before, self._last_heads = self._last_heads, dict(self._current_heads())
        for name, head in self._last_heads.items():
            was = before.get(name, head)
            if was != head:
                try:
                    found += self._base_brain.diff(was, head).skills
                except NotFound:  # what was there is collected by now
                    return SkillChanges(frozenset(), True)
        if self._last_heads == before or not before:
            return None
        listed = any(change.change in ("added", "removed") for change in found)
        return SkillChanges(frozenset(change.slug for change in found), listed)

    def _current_heads(self) -> Iterator[tuple[str, str]]:
        yield "", self._base_brain.head
        if self.mode == PROPOSE_MODE:
            for name, client_brain in self._clients.items():
                with suppress(Conflict):  # somebody works on its branch
                    yield name, client_brain.brain.head

    def close(self) -> None:
        """End all sessions, and close all brains."""
        for client_brain in self._clients.values():
            client_brain.close()
        self._clients.clear()
        self._base_brain.close()


class SkillChanges(NamedTuple):
    """The slugs of skills that changed, and whether some came or went."""

    slugs: frozenset[str]
    list_changed: bool


def client_slug(client: str) -> str:
    """Return the name under which a client writes: the slug of what it calls itself."""
    try:
        return slugify(client[:64])
    except InvalidInput:
        return DEFAULT_CLIENT_NAME
