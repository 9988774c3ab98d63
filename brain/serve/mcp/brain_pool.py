"""The brains of one server: one for each client, opened under the name of the client.

Independent of the protocol. Every method blocks, and the caller makes one call at a time.
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
from ..tools.memory_tool import describe_home_targets
from ..tools.skill_read import text_for_model
from ..tools.tool_definitions import MEMORY
from .client_session import ClientBrain

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import Skill, SkillChange

BrainOpener = Callable[[str], "Brain"]
"""Opens the brain for an author."""

WRITE_MODE, PROPOSE_MODE, READ_MODE = "writes", "proposes", "reads"
"""What clients may do: write, propose changes for a person to accept, or only read."""

MAX_CLIENTS = 16
"""Clients whose brains stay open; the least recently used one is closed first."""
DEFAULT_CLIENT_NAME = "agent"
"""The name of a client that gives none."""
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
    """The text of a resource and the snapshot it was read from."""

    text: str
    snapshot: str


class BrainPool:
    """The brains behind one server. `budget` limits the index in the instructions, in tokens."""

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
        """The tools that clients may call in this mode."""
        if self.mode == READ_MODE:
            return tuple(tool for tool in TOOLS if tool.read_only)
        tools = (
            describe_home_targets(self._base_brain, tool) if tool is MEMORY else tool
            for tool in TOOLS
        )
        if self.mode == PROPOSE_MODE:  # a proposal has no folder to take a snapshot of
            return tuple(tool for tool in tools if tool.name != "brain_snapshot")
        return tuple(tools)

    def call(
        self, client: str, name: str, arguments: Mapping[str, Any], session: str = ""
    ) -> ToolResult:
        """Call a tool for a client, as a step of `session` if it is not "".

        Raises `ToolFailure`, whose text is for the model.
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
        """Close the record of a session, of whichever client."""
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
            brain = (
                self._base_brain.proposals.open(name, author=name)
                if self.mode == PROPOSE_MODE
                else self._open_brain(name)
            )
            self._clients[name] = ClientBrain(brain, name)
        self._clients.move_to_end(name)
        return self._clients[name]

    def instructions(self, client: str) -> str:
        """Return the instructions for a model: the guide and the Level-0 index."""
        index = self.brain(client).prompt.build_framed_index(budget=self._budget)
        note = {PROPOSE_MODE: _PROPOSE_NOTE, READ_MODE: _READ_ONLY_NOTE}.get(self.mode, "")
        return f"{INSTRUCTIONS_GUIDE}{note}{_SKILLS_HEADING}{index}"

    def read_index(self, client: str) -> ResourceContent:
        """Return the whole Level-0 index, framed as in the prompt."""
        brain = self.brain(client)
        head = brain.head
        return ResourceContent(brain.prompt.build_framed_index(head), head)

    def read_prompt(self, client: str) -> str:
        """Return the system prompt."""
        return self.brain(client).prompt.build().prompt

    def list_skills(self, client: str) -> list[Skill]:
        """Return all skills, by slug."""
        return self.brain(client).skills.list()

    def read_skill(self, client: str, slug: str, version: str = "") -> ResourceContent:
        """Return the text of a skill, now or at a version, as skill_view shows it.

        Raises `NotFound` or `InvalidInput`.
        """
        brain = self.brain(client)
        if version and not version.strip().isprintable():
            raise InvalidInput("not a version", code="bad_version")
        skill_file = brain.skills.read_file(f"{slug}@{version}" if version else slug)
        return ResourceContent(text_for_model(skill_file.content), skill_file.snapshot)

    def poll_changes(self) -> SkillChanges | None:
        """Return the changes by any process since the last call, None if there are none.

        The first call returns None: it has nothing to compare with.
        """
        changes: list[SkillChange] = []
        before, self._last_heads = self._last_heads, dict(self._current_heads())
        for name, head in self._last_heads.items():
            previous = before.get(name, head)
            if previous != head:
                try:
                    changes += self._base_brain.history.diff(previous, head).skills
                except NotFound:  # the garbage collection removed the previous snapshot
                    return SkillChanges(frozenset(), True)
        if self._last_heads == before or not before:
            return None
        list_changed = any(change.change in ("added", "removed") for change in changes)
        return SkillChanges(frozenset(change.slug for change in changes), list_changed)

    def _current_heads(self) -> Iterator[tuple[str, str]]:
        yield "", self._base_brain.head
        if self.mode == PROPOSE_MODE:
            for name, client_brain in self._clients.items():
                with suppress(Conflict):  # a person has switched to its branch
                    yield name, client_brain.brain.head

    def close(self) -> None:
        """End all sessions, and close all brains."""
        for client_brain in self._clients.values():
            client_brain.close()
        self._clients.clear()
        self._base_brain.close()


class SkillChanges(NamedTuple):
    """The slugs of the changed skills, and whether a skill was added or removed."""

    slugs: frozenset[str]
    list_changed: bool


def client_slug(client: str) -> str:
    """Return the name under which a client writes: the slug of the name it gives."""
    try:
        return slugify(client[:64])
    except InvalidInput:
        return DEFAULT_CLIENT_NAME
