"""Limits on what is stored of experience, checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..errors import Conflict, InvalidInput, printable_text
from .experience_protocol import AuditEvent, ClaimedWork, RateLimit, SkillSequence, WorkItem

MAX_SEQUENCES = 4_000_000
"""Sequences that are kept; the oldest are forgotten first."""
MAX_SEQUENCE_SKILLS = 10_000
"""Skills in one sequence."""
MAX_SEQUENCE_BYTES = 256 << 10
"""UTF-8 bytes of the chat and the skills of one sequence."""
MAX_NAME_BYTES = 512
"""UTF-8 bytes in a kind, a key, the name of a limit, a note, a chat, a skill or an evolver."""
MAX_RUN_BYTES = 128
"""UTF-8 bytes in the id of a run."""
MAX_WORK = 10_000
"""Items that are kept; those that are done are forgotten first, oldest first."""
MAX_WORK_BYTES = 256 << 10
"""UTF-8 bytes in the data of an item."""
MAX_PROGRESS_BYTES = 1 << 20
"""UTF-8 bytes in the progress or the result of an item."""
MAX_ANSWER_BYTES = 4 << 20
"""UTF-8 bytes in one answer of an item."""
MAX_EVENTS = 100_000
"""Events that are kept; the oldest are forgotten first."""
MAX_EVENT_TEXT_BYTES = 16 << 10
"""UTF-8 bytes in each text of an event."""
MAX_NOTE_BYTES = 16 << 20
"""UTF-8 bytes in a note; a state of the mining is the largest one."""
MAX_NOTES = 1000
"""Notes by different names."""
MAX_RATE_ROWS = 100_000
"""Counts of periods that are kept; the oldest are forgotten first."""
MAX_TIME = 1 << 53
"""The latest time in ms."""
MAX_PERIOD_SECONDS = 366 * 86_400
"""The longest period of a limit."""

CONNECT_TIMEOUT_SECONDS = 5
"""How long to wait for a connection to a server."""
SERVER_TIMEOUT_SECONDS = 20
"""How long to wait for an answer of a server."""

_HEX_DIGEST = re.compile(r"(?:[0-9a-f]{2}){0,64}", re.ASCII)


def bad_experience_error(problem: str) -> InvalidInput:
    """Return the error for a value beyond the limits."""
    return InvalidInput(
        problem, code="bad_experience", hint="nothing was stored; correct the program that sent it"
    )


def check_text(name: str, text: str, max_bytes: int = MAX_NAME_BYTES) -> int:
    """Check that a text can be stored; return its size in UTF-8 bytes."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise bad_experience_error(f"{name} is not valid Unicode") from None
    if size > max_bytes:
        raise bad_experience_error(f"{name} has {size} bytes, more than {max_bytes}")
    if "\0" in text:
        raise bad_experience_error(f"{name} has a zero byte")
    return size


def check_time(name: str, at: int) -> None:
    """Check that a time or a duration in ms is within range."""
    if not 0 <= at <= MAX_TIME:
        raise bad_experience_error(f"{name} must be from 0 to {MAX_TIME}, and is {at}")


def check_sequences(sequences: Sequence[SkillSequence]) -> None:
    """Check sequences; each name once, since a million sequences share few."""
    sizes: dict[str, int] = {}
    for sequence in sequences:
        check_time("the time of a sequence", sequence.at)
        if not 0 < len(sequence.skills) <= MAX_SEQUENCE_SKILLS:
            raise bad_experience_error(
                f"a sequence has {len(sequence.skills)} skills, not 1 to {MAX_SEQUENCE_SKILLS}"
            )
        total = 0
        for name in (sequence.chat, *sequence.skills):
            size = sizes.get(name)
            if size is None:
                size = sizes[name] = check_text("the name of a chat or skill", name)
            total += size
        if total > MAX_SEQUENCE_BYTES:
            raise bad_experience_error(
                f"the names of a sequence have {total} bytes, more than {MAX_SEQUENCE_BYTES}"
            )
        if not _HEX_DIGEST.fullmatch(sequence.context_hash):
            raise bad_experience_error("the context_hash of a sequence is not a hex digest")
        if sequence.run:
            check_text("the run of a sequence", sequence.run, MAX_RUN_BYTES)


def check_work_item(item: WorkItem) -> None:
    """Check an item before it is added."""
    check_text("the kind of an item", item.kind)
    check_text("the key of an item", item.key)
    check_text("the data of an item", item.data, MAX_WORK_BYTES)
    check_time("the time of an item", item.at)


def check_claim(kind: str, now: int, lease: int) -> None:
    """Check a claim before it is made."""
    check_text("the kind of an item", kind)
    check_time("the time of a claim", now)
    check_time("a lease", lease)


def check_progress(progress: str) -> None:
    """Check the progress of an item."""
    check_text("the progress of an item", progress, MAX_PROGRESS_BYTES)


def check_stored_answer(answer: str) -> None:
    """Check an answer before it is added to an item."""
    check_text("an answer of an item", answer, MAX_ANSWER_BYTES)


def check_result(result: str, data: str | None) -> None:
    """Check the result of an item, and the data that replaces its own, if some does."""
    if not result:
        raise bad_experience_error("the result of an item is empty")
    check_text("the result of an item", result, MAX_PROGRESS_BYTES)
    check_text("the data of an item", data or "", MAX_WORK_BYTES)


def check_event(event: AuditEvent) -> None:
    """Check an event before it is appended."""
    check_time("the time of an event", event.at)
    check_text("the evolver of an event", event.evolver)
    for text in (event.name, event.trigger_reason, event.phase, event.result):
        check_text("a text of an event", text, MAX_EVENT_TEXT_BYTES)


def check_note(name: str, text: str) -> None:
    """Check a note before it is written."""
    check_text("the name of a note", name)
    check_text(f"the note {printable_text(name, 40)}", text, MAX_NOTE_BYTES)


def check_limits(key: str, limits: Sequence[RateLimit], now: int) -> None:
    """Check an attempt before it is counted."""
    check_text("the key of a rate", key)
    check_time("the time of an attempt", now)
    if len({limit.name for limit in limits}) != len(limits):
        raise bad_experience_error("two limits have the same name")
    for limit in limits:
        check_text("the name of a limit", limit.name)
        if not limit.name or not 0 < limit.seconds <= MAX_PERIOD_SECONDS or limit.most < 0:
            raise bad_experience_error(f"the limit {printable_text(limit.name, 40)} is impossible")


def number_of_period(limit: RateLimit, now: int) -> int:
    """Return the number of the period that a time in ms lies in, counted from 1970."""
    return now // 1000 // limit.seconds


def work_lost_error(work: ClaimedWork) -> Conflict:
    """Return the error for an item that another process took over."""
    return Conflict(
        f"the lease of {printable_text(work.item.kind, 40)} {printable_text(work.item.key, 80)}"
        " ended, and another process took it over",
        code="work_lost",
        hint="drop this attempt: the other process finishes it",
    )


def too_much_work_error() -> InvalidInput:
    """Return the error for an item too many."""
    return bad_experience_error(f"{MAX_WORK} items wait already, and none of them is done")


def too_many_notes_error() -> InvalidInput:
    """Return the error for a note too many."""
    return bad_experience_error(f"there are {MAX_NOTES} notes already")
