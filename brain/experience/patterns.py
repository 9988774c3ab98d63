"""Sequences of skills that recur, and what became of each.

A pattern is frequent, contiguous, and in no longer one that counts as often. A message follows the
one before it in its chat, in the order of recording, if at most `gap_ms` lie between them. A
pattern counts once for each message in which it ends; it may begin in an earlier one. The mere
repetition of a shorter one that counts more often is left out, too. Sequences of more steps than
`PatternRules.max_steps` are left out with all that they contain as often: a skill that calls so
many others is of no use.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..digest import domain_hash
from ..encoding import pack
from ..errors import InvalidInput, printable_text
from ..results import SkillPattern, SkillProgram
from .store import Store, Work

# Settings of the environment

ENABLED_VARIABLE = "SKILL_EVOLUTION_ENABLED"
THRESHOLD_VARIABLE = "SKILL_PATTERN_THRESHOLD"
DEFAULT_THRESHOLD = 5
_MAX_THRESHOLD = 1_000_000
_FALSE_WORDS = ("false", "0", "no", "off")


def is_enabled() -> bool:
    """Tell whether patterns are recorded and made into skills: unless the user says no."""
    return os.environ.get(ENABLED_VARIABLE, "").strip().lower() not in _FALSE_WORDS


def read_threshold() -> int:
    """Return how many messages make a pattern. Raises `InvalidInput` (`bad_setting`)."""
    text = os.environ.get(THRESHOLD_VARIABLE, "").strip()
    if not text:
        return DEFAULT_THRESHOLD
    if text.isascii() and text.isdecimal() and 1 <= int(text[:12]) <= _MAX_THRESHOLD:
        return int(text)
    raise InvalidInput(
        f"{THRESHOLD_VARIABLE} is '{printable_text(text, 40)}'",
        code="bad_setting",
        hint=f"set it to a number from 1 to {_MAX_THRESHOLD}, or leave it out",
    )


# The miner

MAX_PATTERNS = 1_000
"""Patterns that are returned, the most frequent ones."""
LATE_MS = 300_000
"""A message later than now by more is not counted yet: a clock was wrong."""

Message = tuple[str, int, Sequence[str]]
"""Chat, time in ms since 1970, and skills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternRules:
    """What counts as a pattern; times in ms.

    At least `min_count` messages of the last `window_ms` end with it, and it has two to `max_steps`
    steps.
    """

    min_count: int = 5
    max_steps: int = 16
    gap_ms: int = 300_000
    window_ms: int = 7 * 86_400_000


DEFAULT_PATTERN_RULES = PatternRules()


class FrequentPattern(NamedTuple):
    """A sequence of skills, and how many messages end with it."""

    skills: tuple[str, ...]
    support: int


class MinedPatterns(NamedTuple):
    """Patterns, most frequent first, then the longest, then by name.

    `messages` is how many were counted. `has_longer`: some sequences recur that have more steps
    than the rules allow.
    """

    patterns: list[FrequentPattern]
    messages: int
    has_longer: bool


def find_in_store(store: Store, now: int, chat: str = "") -> MinedPatterns:
    """Return the patterns of all chats, or of one, at a time in ms.

    Raises `StoreError`, `InvalidInput` (`bad_setting`).
    """
    rules = read_rules()
    reach = rules.max_steps * rules.gap_ms  # how long before a message its pattern may begin
    messages = store.sequences(max(now - rules.window_ms - reach, 0))
    shown = ((one.chat, one.at, one.skills) for one in messages if chat in ("", one.chat))
    return find_patterns(shown, now, rules)


def read_rules() -> PatternRules:
    """Return the rules, with the threshold that the user set."""
    return replace(DEFAULT_PATTERN_RULES, min_count=read_threshold())


def find_patterns(
    messages: Iterable[Message], now: int, rules: PatternRules = DEFAULT_PATTERN_RULES
) -> MinedPatterns:
    """Return the patterns of messages, which come in the order of recording, at a time in ms."""
    found, counted = _count_frequent(messages, now, rules)
    most = rules.max_steps
    covered = {
        part
        for longer, count in found.items()
        for part in (longer[1:], longer[:-1])
        if found.get(part, 0) <= count
    }
    patterns = [
        FrequentPattern(steps, count)
        for steps, count in found.items()
        if 1 < len(steps) <= most
        and steps not in covered
        # not a shorter one, or one step, again and again, that is in more messages
        and (len(steps) % (period := _find_period(steps)) or found[steps[:period]] <= count)
    ]
    patterns.sort(key=lambda pattern: (-pattern.support, -len(pattern.skills), pattern.skills))
    too_long = (steps for steps in found if len(steps) > most)
    return MinedPatterns(
        patterns=patterns[:MAX_PATTERNS],
        messages=counted,
        has_longer=any(_find_period(steps) == len(steps) for steps in too_long),
    )


def _count_frequent(
    messages: Iterable[Message], now: int, rules: PatternRules
) -> tuple[dict[tuple[str, ...], int], int]:
    """Count the frequent sequences, up to one step more than the rules allow, and the messages.

    Places that end with the same steps are grouped, and only a frequent group is extended to the
    front. `steps` has for each message None, the steps that it continues, and its own.
    """
    steps: list[str | None] = []
    owners: list[int] = []  # the message of each step
    places: list[int] = []  # the steps of the messages that count
    chats: dict[str, tuple[int, list[str]]] = {}
    counted = 0
    for number, (chat, at, skills) in enumerate(messages):
        if not skills:
            continue
        last, before = chats.get(chat, (at, []))
        if abs(at - last) > rules.gap_ms:
            before = []
        steps += (None, *before, *skills)
        owners += [number] * (len(steps) - len(owners))
        chats[chat] = at, [*before, *skills][-rules.max_steps :]
        if now - rules.window_ms <= at <= now + LATE_MS:
            counted += 1
            places += range(len(steps) - len(skills), len(steps))
    groups: dict[tuple[str, ...], list[int]] = {(): places}
    found: dict[tuple[str, ...], int] = {}
    for length in range(rules.max_steps + 1):
        longer: dict[tuple[str, ...], list[int]] = {}
        for sequence, ends in groups.items():
            by_step: defaultdict[str | None, list[int]] = defaultdict(list)
            for end in ends:
                by_step[steps[end - length]].append(end)
            for step, extended in by_step.items():
                if step is not None and len(extended) >= rules.min_count:
                    count = len({owners[end] for end in extended})
                    if count >= rules.min_count:
                        longer[step, *sequence] = extended
                        found[step, *sequence] = count
        groups = longer
    return found, counted


def _find_period(steps: Sequence[str]) -> int:
    """Return after how many steps a sequence repeats itself, at least once; else its length."""
    for period in range(1, len(steps) // 2 + 1):
        if steps[period] == steps[0] and steps[period:] == steps[:-period]:
            return period
    return len(steps)


# What became of a pattern

PATTERNS = "patterns"
"""The evolver, and the kind of its work items."""
NEW, WAITING, UNFIT, FAILED, NO_MODEL = "new", "waiting", "unfit", "failed", "no_model"
"""States besides those of the gate."""
_RUNNABLE = "runnable"
_hash_pattern = domain_hash("brain v1 skill pattern")


class MadeSkill(NamedTuple):
    """What was made of a pattern, `skills`: `status`, `reason`, the skill and its version."""

    status: str
    reason: str
    slug: str = ""
    version: str = ""
    skills: Sequence[str] = ()


def find_open_key(
    skills: Sequence[str],
    programs: Mapping[str, SkillProgram],
    made: Mapping[str, MadeSkill | None],
) -> str:
    """Return the key of a pattern; another program of one of its skills gives another key.

    It is the next one where one of the skills could not run when the pattern had this one.
    """
    key = _hash_pattern(pack(tuple((slug, programs[slug].program) for slug in skills))).hex()
    while (state := made.get(key)) is not None and state.status == UNFIT:
        key = _hash_pattern(bytes.fromhex(key)).hex()
    return key


def describe_pattern(
    pattern: FrequentPattern,
    programs: Mapping[str, SkillProgram],
    made: Mapping[str, MadeSkill | None],
) -> SkillPattern:
    """Return a pattern with what became of it; `made` has the results so far by key."""
    status, reason, slug = UNFIT, find_obstacle(pattern.skills, programs), ""
    if not reason:
        key = find_open_key(pattern.skills, programs, made)
        status, ended = WAITING if key in made else NEW, made.get(key)
        if ended is not None:
            status, reason, slug = ended.status, ended.reason, ended.slug
    return SkillPattern(pattern.skills, pattern.support, status, reason, slug)


def read_made(items: Iterable[Work]) -> dict[str, MadeSkill | None]:
    """Return the results of items by key, None for those not done."""
    return {item.key: MadeSkill(**item.result) if item.result else None for item in items}


def find_obstacle(skills: Sequence[str], programs: Mapping[str, SkillProgram]) -> str:
    """Return why no program can call the skills of a pattern, "" if one can."""
    for slug in skills:
        program = programs.get(slug)
        if program is None:
            return f"{slug} is not a skill with a program, which another one can call"
        if program.status != _RUNNABLE:
            return f"{slug} may not run: {program.status}"
    return ""
