"""The brains of one server: one for each client, opened under the name of the client.

Clients that propose have one for each session, whose writes go to a branch of its own:
`proposed/CLIENT-XXXXXX`, with six random hex digits. Independent of the protocol. Every
method blocks, and the caller makes one call at a time.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ...errors import BrainError, Conflict, InvalidInput, NotFound, printable_text
from ...skills.index_lines import format_omitted_count
from ...skills.slug import slugify
from ..tools import Tool, Toolbox, ToolResult
from ..tools.definitions import BRAIN_SNAPSHOT, MEMORY, SKILL_VIEW, SKILLS_LIST
from ..tools.memory_tool import describe_memory
from ..tools.programs import ToolVersions, find_tool_versions
from ..tools.skills import text_for_model

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...api.task import Task
    from ...results import Rejection, Skill, SkillChange


SESSION_IDLE_SECONDS = 1800.0
"""Seconds without a call after which a session is closed."""
MAX_UNRECORDED_CALLS = 10_000
"""Calls of one session that may wait in memory for a snapshot that records them."""

logger = logging.getLogger(__name__)


class ClientBrain:
    """One client's view of the brain, with a record of each of its sessions.

    A session is a run: its receipts are in the snapshots it causes, and a last snapshot
    closes it. A session that writes nothing records nothing, so reading never adds to the
    lineage.
    """

    def __init__(self, brain: Brain, name: str) -> None:
        self.brain = brain
        self._name = name
        self._sessions: dict[str, _RecordedSession] = {}
        self.open_calls = 0  # that `open_toolbox` began
        self._is_closing = False

    def call(self, session: str, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool as a step of the session with the id `session`."""
        current = self._open_session(session)
        result = current.tools.call(name, arguments)
        if result.changed:
            current.unrecorded_calls = 0
        return result

    def open_toolbox(self, session: str) -> Toolbox:
        """Return the tools of a session, for a call in a thread of its own.

        The brain stays open until `close_toolbox` was called as often.
        """
        tools = self._open_session(session).tools
        self.open_calls += 1
        return tools

    def close_toolbox(self) -> None:
        """End a call that `open_toolbox` began."""
        self.open_calls -= 1
        if self._is_closing and not self.open_calls:
            self.brain.close()

    def _open_session(self, session: str) -> _RecordedSession:
        """Return a session for one more call; close those that are idle or hold too many."""
        now = time.monotonic()
        for session_id, recorded in list(self._sessions.items()):
            is_idle = now - recorded.last_call > SESSION_IDLE_SECONDS and not self.open_calls
            if is_idle or recorded.unrecorded_calls >= MAX_UNRECORDED_CALLS:
                self.end_session(session_id)
        if session not in self._sessions:
            run = secrets.token_hex(16)
            task = self.brain.task(
                f"A session of {self._name}", agent=self._name, run=run, chat=run
            )
            self._sessions[session] = _RecordedSession(task, Toolbox(self.brain, task))
        current = self._sessions[session]
        current.last_call = now
        current.unrecorded_calls += 1
        return current

    def end_session(self, session: str) -> None:
        """Close the record of a session, if there is one."""
        recorded = self._sessions.pop(session, None)
        try:
            if recorded is not None:
                recorded.task.abandon("the session ended")
        except BrainError as error:  # such as a lock held elsewhere: the record stays open
            logger.info("the end of a session is not recorded: %s", error.message)

    def close(self) -> None:
        """Close the records of all sessions, and the brain once no call uses it."""
        for session in list(self._sessions):
            self.end_session(session)
        self._is_closing = True
        if not self.open_calls:
            self.brain.close()


@dataclass
class _RecordedSession:
    """An open session: the time of its last call, and its calls since it last wrote."""

    task: Task
    tools: Toolbox
    last_call: float = 0.0
    unrecorded_calls: int = 0


BrainOpener = Callable[[str], "Brain"]
"""Opens the brain for an author."""

WRITE_MODE, PROPOSE_MODE, READ_MODE = "writes", "proposes", "reads"
"""What clients may do: write, propose changes for a person to accept, or only read."""

MAX_CLIENTS = 16
"""Clients whose brains stay open; the least recently used one is closed first."""
DEFAULT_CLIENT_NAME = "agent"
"""The name of a client that gives none."""
MAX_INSTRUCTION_CHARS = 4096
"""Characters of the instructions, where clients cut them."""
MEMORY_SHARE = 4
"""One part in so many of the instructions is kept for memory, however many skills there are."""
_REJECTIONS_SHARE = 8
"""One part in so many may say why proposals were rejected."""
_REASON_CHARS = 300
MAX_INDEX_PAGE_CHARS = 16_000
"""Characters of a page of the index."""
MAX_PROMPT_PAGE_CHARS = 32_000
"""Characters of a page of the system prompt."""
_PROMPT_INDEX_TOKENS = 6_000
"""Tokens of the index in the system prompt, which fits on one page with its frame."""
_MAX_PROPOSALS = 1024
"""Sessions whose branches are remembered; a session beyond gets another branch."""
_SUFFIX_BYTES = 3
NO_SESSION = "-"
"""The session of all calls over HTTP that belong to none: nothing tells their clients apart."""
_CLIENT_NAME_CHARS = 48
"""Characters of the name of a client in the name of its branch."""
INSTRUCTIONS_GUIDE = """\
These are your skills: procedures you wrote down, or were given, for kinds of tasks. Before \
a task, look whether a skill below is about it and read it with skill_view. """
_WRITE_GUIDE = """\
After hard work, write down what you learned with skill_manage: improve the nearest skill first.
"""
_MODE_GUIDES = {
    WRITE_MODE: _WRITE_GUIDE,
    PROPOSE_MODE: f"""\
{_WRITE_GUIDE}
What you write is proposed: you read it back at once; others do once a person accepted it.
""",
    READ_MODE: "You may read these skills, not change them.\n",
}
_SKILLS_HEADING = """
Your skills; skills_list shows all, also later ones:
"""
_MORE_SKILLS = "{count} more skills are not shown: skills_list finds them by task or category."


class ResourceContent(NamedTuple):
    """The text of a resource, or the bytes of a file, and the snapshot it was read from."""

    text: str | bytes
    snapshot: str


class _Proposal(NamedTuple):
    """The proposal of a session, and the ids of the programs that it made, which it alone runs."""

    name: str
    own_programs: set[bytes] | frozenset[bytes]


class _ClientKey(NamedTuple):
    """Whose brain it is; `session` is "" where sessions of a client share one.

    Those that propose do not: what one of them proposed, only that one may run.
    """

    name: str
    session: str


class BrainPool:
    """The brains behind one server.

    With `proposal`, all sessions that propose write to that one branch.
    """

    def __init__(self, open_brain: BrainOpener, mode: str = WRITE_MODE, proposal: str = "") -> None:
        self.mode = mode
        self._open_brain = open_brain
        self._shared_proposal = proposal
        self._base_brain = open_brain("")
        if proposal:  # raises `InvalidInput` for a name that no branch can have
            self._base_brain.proposals.open(proposal).close()
        self._clients: OrderedDict[_ClientKey, ClientBrain] = OrderedDict()
        self._proposals: OrderedDict[_ClientKey, _Proposal] = OrderedDict()
        self._untold: set[_ClientKey] = set()
        """The sessions that proposed since they last heard of a rejection."""
        self._last_heads: dict[str, str] = {}
        self._last_tools: list[ToolVersions] | None = None
        self._tool_marks: list[tuple[str, int]] = []

    @property
    def root(self) -> Path:
        """The folder of the brain."""
        return self._base_brain.root

    @property
    def brain_id(self) -> str:
        """The id of the brain."""
        return self._base_brain.id

    def call(
        self, client: str, name: str, arguments: Mapping[str, Any], session: str = ""
    ) -> ToolResult:
        """Call a tool for a client, as a step of `session` if it is not "".

        Raises `ToolFailure`, whose text is for the model.
        """
        if self.mode == READ_MODE:
            return Toolbox(self._base_brain, read_only=True).call(name, arguments)
        skill = arguments.get("name") if name == SKILL_VIEW.name else ""
        warning = ""
        if isinstance(skill, str) and _shows_folder(name, arguments):
            warning = self._show_folder(skill)
        key = self._key(client, session)
        client_brain = self._client_brain(key)
        rejected = self._find_rejection(key)
        answer = client_brain.call(session, name, arguments)
        if answer.changed and self.mode == PROPOSE_MODE:
            self._untold.add(key)
        return answer._replace(text="\n".join(filter(None, (answer.text, warning, rejected))))

    def _find_rejection(self, key: _ClientKey) -> str:
        """Return, once, that what a session proposed was rejected, and why."""
        if key not in self._untold:
            return ""
        found = self._base_brain.proposals.list_rejections(self._proposals[key].name)
        if found:
            self._untold.discard(key)
        return "".join(map(_rejection_text, found))

    def _show_folder(self, skill: str = "") -> str:
        """Record what people edited in the folder, since an answer shows it, as their own edit.

        With `skill` only that one is. Returns the warning that goes with the answer if it was not
        possible, else "".
        """
        try:
            if self.mode != READ_MODE and (skill or not self._base_brain.is_recorded_by_watcher()):
                self._base_brain.record_edits(skill)
        except (NotFound, InvalidInput):
            return ""  # the tool itself says it
        except BrainError as error:
            return (
                f"Note: this was recorded before; edits since then are not shown: {error.message}"
            )
        return ""

    def list_tools(self, client: str, session: str = "") -> tuple[Tool, ...]:
        """Return the tools that a client may call, with those that it acquired."""
        if self.mode == READ_MODE:
            return Toolbox(self._base_brain, read_only=True).tools()
        tools = Toolbox(self.brain(client, session)).tools()
        proposes = self.mode == PROPOSE_MODE and not self._shared_proposal
        memory = describe_memory(self._base_brain, is_proposed=proposes)
        return tuple(
            memory if tool is MEMORY else tool
            for tool in tools
            # a proposal has no folder to take a snapshot of
            if tool is not BRAIN_SNAPSHOT or self.mode != PROPOSE_MODE
        )

    def open_toolbox(self, client: str, session: str = "") -> tuple[Toolbox, Callable[[], None]]:
        """Return the tools of a client, for a call that takes its time in a thread of its own.

        The function ends the call.
        """
        if self.mode == READ_MODE:
            return Toolbox(self._base_brain, read_only=True), lambda: None
        client_brain = self._client_brain(self._key(client, session))
        return client_brain.open_toolbox(session), client_brain.close_toolbox

    def end_session(self, session: str) -> None:
        """Close the record of a session, of whichever client."""
        for key, client_brain in list(self._clients.items()):
            client_brain.end_session(session)
            if session and key.session == session:
                self._clients.pop(key).close()
        for key in [key for key in self._proposals if session and key.session == session]:
            del self._proposals[key]
        self._untold.intersection_update(self._proposals)

    def brain(self, client: str, session: str = "") -> Brain:
        """Return the brain as a session of a client sees it. Raises `BrainError`."""
        key = self._key(client, session)
        if self.mode == READ_MODE or (self.mode == PROPOSE_MODE and key not in self._proposals):
            return self._base_brain  # it has proposed nothing yet
        return self._client_brain(key).brain

    def _key(self, client: str, session: str) -> _ClientKey:
        name = client_slug(client)
        if self.mode != PROPOSE_MODE:
            return _ClientKey(name, "")
        key = _ClientKey(name, session)
        if self._shared_proposal:
            self._find_proposal(key)
        return key

    def _client_brain(self, key: _ClientKey) -> ClientBrain:
        proposal = self._find_proposal(key) if self.mode == PROPOSE_MODE else None
        if key not in self._clients:
            while len(self._clients) >= MAX_CLIENTS:
                self._clients.popitem(last=False)[1].close()
            brain = (
                self._base_brain.proposals.open(
                    proposal.name, author=key.name, own_programs=proposal.own_programs
                )
                if proposal is not None
                else self._open_brain(key.name)
            )
            self._clients[key] = ClientBrain(brain, key.name)
        self._clients.move_to_end(key)
        return self._clients[key]

    def _find_proposal(self, key: _ClientKey) -> _Proposal:
        """Return the proposal of a session: one of its own, unless all share one."""
        if key not in self._proposals:
            while len(self._proposals) >= _MAX_PROPOSALS:
                self._untold.discard(self._proposals.popitem(last=False)[0])
            client = _name_in_branch(key.name)
            name = self._shared_proposal or f"{client}-{secrets.token_hex(_SUFFIX_BYTES)}"
            own: set[bytes] | frozenset[bytes] = set()
            self._proposals[key] = _Proposal(
                name, frozenset() if key.session == NO_SESSION else own
            )
        self._proposals.move_to_end(key)
        return self._proposals[key]

    def instructions(self, client: str, session: str = "") -> str:
        """Return the instructions for a model: the guide, the Level-0 index, memory, rejections.

        They have at most `MAX_INSTRUCTION_CHARS`, if that is enough for the guide. The
        part before memory does not depend on memory: clients cache prompts by their beginning.
        """
        self._show_folder()
        brain = self.brain(client, session)
        prompt, head, most = brain.prompt, brain.head, MAX_INSTRUCTION_CHARS
        text = f"{INSTRUCTIONS_GUIDE}{_MODE_GUIDES[self.mode]}{_SKILLS_HEADING}"
        frame = prompt.build_framed_index(head, budget=0)
        more = _MORE_SKILLS.format(count=prompt.build_index(head, budget=0).left_out)
        room = most - most // MEMORY_SHARE - _utf16_size(f"{text}{frame}\n{more}")
        index = prompt.build_framed_index(head, budget=max(room, 0), count=_utf16_size)
        left_out = prompt.build_index(head, budget=max(room, 0), count=_utf16_size).left_out
        index = index.removesuffix(f"\n{format_omitted_count(left_out)}")
        last = f"\n{_MORE_SKILLS.format(count=left_out)}" if left_out else ""
        rejections = self._list_rejections(client, most // _REJECTIONS_SHARE)
        memory = prompt.build_framed_memory(
            head,
            max_size=most - _utf16_size(f"{text}{index}{last}\n\n{rejections}\n\n"),
            measure=_utf16_size,
            how="the prompt system" if self.mode == READ_MODE else "the tool memory",
        )
        return "\n\n".join(filter(None, (f"{text}{index}{last}", memory, rejections)))

    def _list_rejections(self, client: str, most: int) -> str:
        """Return why proposals of earlier sessions of a client were rejected, the last ones."""
        if self.mode != PROPOSE_MODE:
            return ""
        name = self._shared_proposal or _name_in_branch(client_slug(client))
        text = ""
        for one in self._base_brain.proposals.list_rejections(name):
            longer = f"{text}{text and chr(10)}{_rejection_text(one)}"
            if one.message and _utf16_size(longer) <= most:
                text = longer
        return text

    def read_index(self, client: str, session: str = "", *, after: str = "") -> ResourceContent:
        """Return a page of the Level-0 index, framed as in the prompt: the skills behind one."""
        self._show_folder()
        brain = self.brain(client, session)
        head = brain.head
        page = brain.prompt.build_framed_page(head, after=after, page_chars=MAX_INDEX_PAGE_CHARS)
        text = page.text
        if page.next:
            place = f"Skills {page.first} to {page.last} of {page.skills}"
            text += f"\n{place}. The next are in {index_uri(page.next)}"
        return ResourceContent(text, head)

    def read_prompt(self, client: str, session: str = "", *, page: int = 1) -> str:
        """Return a page of the system prompt. Raises `NotFound` (`no_page`)."""
        self._show_folder()
        pages = self.brain(client, session).prompt.build_pages(
            page_chars=MAX_PROMPT_PAGE_CHARS, budget=_PROMPT_INDEX_TOKENS
        )
        if not 1 <= page <= len(pages):
            raise NotFound(
                f"there is no page {page}: the prompt has {len(pages)}",
                code="no_page",
                hint=f"ask for a page from 1 to {len(pages)}",
            )
        text = pages[page - 1]
        if page < len(pages):
            text += f"\n\n[Page {page} of {len(pages)}: ask for page {page + 1} of this prompt.]"
        return f"{text}\n"

    def list_skills(self, client: str, session: str = "") -> list[Skill]:
        """Return the skills that a model may start, by slug and path."""
        self._show_folder()
        return [one for one in self.brain(client, session).skills.list() if not one.user_only]

    def read_skill(
        self, client: str, session: str = "", *, skill: str, version: str = ""
    ) -> ResourceContent:
        """Return the text of a skill, now or at a version, as skill_view shows it.

        Raises `NotFound` or `InvalidInput`.
        """
        if not version:
            self._show_folder(skill)
        brain = self.brain(client, session)
        if version and not version.strip().isprintable():
            raise InvalidInput(
                "the version in this address has hidden or control characters",
                code="bad_version",
                hint="write it as in skill@3, with digits and dots",
            )
        skill_file = brain.skills.read_file(f"{skill}@{version}" if version else skill)
        return ResourceContent(text_for_model(skill_file.content), skill_file.snapshot)

    def poll_changes(self) -> SkillChanges | None:
        """Return the changes by any process since the last call, None if there are none.

        The first call returns None: it has nothing to compare with.
        """
        tools_changed = self._poll_tools()
        changed = self._poll_skills()
        if changed is None and not tools_changed:
            return None
        return (changed or SkillChanges(frozenset(), False))._replace(tools_changed=tools_changed)

    def _poll_tools(self) -> bool:
        """Tell whether the acquired tools changed since the last call."""
        brains = [self._base_brain]
        if self.mode == PROPOSE_MODE:
            brains += [client_brain.brain for client_brain in self._clients.values()]
        with suppress(Conflict):  # a person has switched to the branch of a client
            marks = [brain.programs.read_mark() for brain in brains]
            if marks != self._tool_marks:
                self._tool_marks = marks
                before, self._last_tools = self._last_tools, [*map(find_tool_versions, brains)]
                return before is not None and before != self._last_tools
        return False

    def _poll_skills(self) -> SkillChanges | None:
        """Return the changes of skills since the last call."""
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
        slugs = {change.slug for change in changes}
        shared = (self._base_brain.skills.find_addresses(slug) for slug in slugs)
        return SkillChanges(frozenset(slugs.union(*shared)), list_changed)

    def _current_heads(self) -> Iterator[tuple[str, str]]:
        yield "", self._base_brain.head
        if self.mode == PROPOSE_MODE:
            for key, client_brain in self._clients.items():
                with suppress(Conflict):  # a person has switched to its branch
                    yield self._proposals[key].name, client_brain.brain.head

    def close(self) -> None:
        """End all sessions, and close all brains."""
        for client_brain in self._clients.values():
            client_brain.close()
        self._clients.clear()
        self._base_brain.close()


class SkillChanges(NamedTuple):
    """The addresses of the changed skills; whether one was added or removed; whether tools were."""

    addresses: frozenset[str]
    list_changed: bool
    tools_changed: bool = False


def _shows_folder(name: str, arguments: Mapping[str, Any]) -> bool:
    """Tell whether the answer of a call shows the folder as it is."""
    if name == MEMORY.name:
        return arguments.get("action") == "read"
    is_view = name == SKILL_VIEW.name and arguments.get("version") is None
    return is_view or name == SKILLS_LIST.name


def client_slug(client: str) -> str:
    """Return the name under which a client writes: the slug of the name it gives."""
    try:
        return slugify(client[:64])
    except InvalidInput:
        return DEFAULT_CLIENT_NAME


INDEX_URI = "brain://index"


def index_uri(after: str) -> str:
    """Return the URI of the page of the index behind the skill with an address."""
    return f"{INDEX_URI}?after={quote(after, safe='')}"


def _name_in_branch(client: str) -> str:
    return client[:_CLIENT_NAME_CHARS].rstrip("-")


def _rejection_text(one: Rejection) -> str:
    reason = printable_text(" ".join(one.message.split()), _REASON_CHARS) or "no reason given"
    return f"A person rejected what you proposed as {one.name}: {reason}"


def _utf16_size(text: str) -> int:
    """Return the characters of a text as clients written in JavaScript count them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
