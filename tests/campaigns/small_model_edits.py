"""A skill that sorts tickets, and edits of it: useless ones, and ones with better examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from brain.gating.case_split import is_held_out

TICKETS = Path(__file__).with_name("small_model_tickets.txt")
CLASSES = ("billing", "bug", "account", "feature")
POOL = 10
"""Tickets of each class that are for examples; no case has them."""
CASES_A_CLASS = 6
NULL_EDITS_A_KIND = 6
EXAMPLES_A_CLASS = (4, 6, 8, 10)
"""How many examples of each class the useful edits have; the skill itself has two."""
FIRST_EXAMPLES_A_CLASS = (2, 8)
"""How many of each class those edits have that begin with a skill without examples."""
TRUE_EDITS_A_SIZE = 4

SENTENCE = "Sort each support ticket into one class: billing, bug, account or feature."
OTHER_SENTENCES = (
    "Put every support ticket into one class: billing, bug, account or feature.",
    "Each support ticket gets one class: billing, bug, account or feature.",
    "Choose one class for each support ticket: billing, bug, account or feature.",
    "Sort all support tickets. The classes are billing, bug, account and feature.",
    "One class for each ticket of the support: billing, bug, account or feature.",
    "Decide for each support ticket whether it is billing, bug, account or feature.",
)
IDLE_SENTENCES = (
    "Our office is closed on Sundays.",
    "The help desk was founded in Lisbon.",
    "Most tickets are written before noon.",
    "There is coffee on the second floor.",
    "The team has a dog that is called Pixel.",
    "Tickets are stored for seven years.",
)
EMPTY_ADVICE = (
    "Be careful.",
    "Take a deep breath and think about it.",
    "This is very important.",
    "You are an expert of support tickets.",
    "Always give your best.",
    "Please work with great care.",
)
HEADINGS = ("# Tickets", "# Sort tickets", "## Task", "**Task**", "---", "> Support")
SYNONYMS = {
    "Please": "Kindly",
    "although": "though",
    "black": "dark",
    "change": "alter",
    "declined": "refused",
    "drag": "move",
    "email": "mail",
    "forgot": "lost",
    "freezes": "hangs",
    "home": "start",
    "like": "love",
    "program": "software",
    "screen": "display",
    "stays": "remains",
    "user": "login",
    "widget": "tile",
    "wish": "hope",
}


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket and its class."""

    text: str
    label: str

    @property
    def input(self) -> str:
        """The input of a case."""
        return f"Ticket: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A new text of the skill. `kind` says how it was made, `is_useful` which group it is of.

    `base` is the text of the skill before.
    """

    kind: str
    number: int
    is_useful: bool
    body: str
    base: str

    @property
    def name(self) -> str:
        """The name, unique among the edits of one seed."""
        return f"{self.kind} {self.number}"


@cache
def read_tickets() -> dict[str, list[Ticket]]:
    """Return the tickets of each class, in the order of the file."""
    tickets: dict[str, list[Ticket]] = {label: [] for label in CLASSES}
    label = ""
    for line in TICKETS.read_text().splitlines():
        if line.startswith("["):
            label = line.strip("[]")
        elif line and not line.startswith("#"):
            tickets[label].append(Ticket(line, label))
    return tickets


def list_test_tickets() -> list[Ticket]:
    """Return all tickets that are no examples."""
    return [ticket for label in CLASSES for ticket in read_tickets()[label][POOL:]]


def list_case_tickets() -> list[Ticket]:
    """Return the tickets that become held-out cases, equally many of each class."""
    chosen = []
    for label in CLASSES:
        held_out = [one for one in read_tickets()[label][POOL:] if is_held_out(one.input)]
        chosen += held_out[:CASES_A_CLASS]
    return chosen


def draw_examples(rng: Random, each: int) -> list[Ticket]:
    """Draw so many examples of each class; the classes take turns."""
    drawn = [rng.sample(read_tickets()[label][:POOL], each) for label in CLASSES]
    return [ticket for row in zip(*drawn, strict=True) for ticket in row]


def write_body(examples: Sequence[Ticket], sentence: str = SENTENCE) -> str:
    """Return the text of the skill with these examples."""
    shown = [f"{ticket.input} -> {ticket.label}" for ticket in examples]
    return "\n".join([sentence, "", *shown]) + "\n"


BASE_EXAMPLES = draw_examples(Random("skill 1"), 2)
BASE = write_body(BASE_EXAMPLES)
"""The skill: of seven draws the one in the middle, so that chance does not favour edits of it."""
BARE = f"{SENTENCE}\n"
"""The skill without examples."""


def _reword(rng: Random, number: int) -> str:
    return write_body(BASE_EXAMPLES, OTHER_SENTENCES[number])


def _reorder(rng: Random, number: int) -> str:
    return write_body(rng.sample(BASE_EXAMPLES, len(BASE_EXAMPLES)))


def _add_idle_sentence(rng: Random, number: int) -> str:
    return write_body(BASE_EXAMPLES, f"{SENTENCE} {IDLE_SENTENCES[number]}")


def _add_advice(rng: Random, number: int) -> str:
    return write_body(BASE_EXAMPLES, f"{EMPTY_ADVICE[number]} {SENTENCE}")


def _add_heading(rng: Random, number: int) -> str:
    return f"{HEADINGS[number]}\n\n{BASE}"


def _misspell(rng: Random, number: int) -> str:
    """Exchange two letters in some words of the tickets shown."""
    return write_body([Ticket(_swap_letters(rng, one.text), one.label) for one in BASE_EXAMPLES])


def _swap_letters(rng: Random, text: str) -> str:
    words = text.split(" ")
    at = rng.choice([i for i, word in enumerate(words) if len(word) > 3])
    word, place = words[at], rng.randrange(1, len(words[at]) - 2)
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return " ".join([*words[:at], swapped, *words[at + 1 :]])


def _replace_words(rng: Random, number: int) -> str:
    """Replace about half of the words that have a synonym."""
    return write_body([Ticket(_use_synonyms(rng, one.text), one.label) for one in BASE_EXAMPLES])


def _use_synonyms(rng: Random, text: str) -> str:
    words = text.split(" ")
    return " ".join(SYNONYMS.get(word, word) if rng.random() < 0.5 else word for word in words)


def _add_blanks(rng: Random, number: int) -> str:
    """Add blanks at the ends of some lines."""
    return "".join(f"{line}{' ' * rng.randrange(3)}\n" for line in BASE.splitlines())


def _add_empty_lines(rng: Random, number: int) -> str:
    """Add empty lines at the end: another text, and the same prompt."""
    return BASE + "\n" * (number + 1)


NULL_KINDS: dict[str, Callable[[Random, int], str]] = {
    "reworded sentence": _reword,
    "examples in another order": _reorder,
    "idle sentence": _add_idle_sentence,
    "empty advice": _add_advice,
    "heading": _add_heading,
    "typing errors": _misspell,
    "synonyms": _replace_words,
    "blanks in lines": _add_blanks,
    "empty lines at the end": _add_empty_lines,
}


def make_edits(seed: int) -> Iterator[Edit]:
    """Yield the edits of a seed, each another text; useful ones are spread among the others."""
    nulls = [
        Edit(kind=kind, number=number, is_useful=False, body=body, base=BASE)
        for number in range(NULL_EDITS_A_KIND)
        for kind, make in NULL_KINDS.items()
        for body in [make(Random(f"{seed} {kind} {number}"), number)]
    ]
    sizes = {f"{len(CLASSES) * each} examples": (each, BASE) for each in EXAMPLES_A_CLASS}
    sizes |= {
        f"{len(CLASSES) * each} examples, none before": (each, BARE)
        for each in FIRST_EXAMPLES_A_CLASS
    }
    useful = [
        Edit(kind=kind, number=number, is_useful=True, body=body, base=base)
        for number in range(TRUE_EDITS_A_SIZE)
        for kind, (each, base) in sizes.items()
        for body in [write_body(draw_examples(Random(f"{seed} {kind} {number}"), each))]
    ]
    step = len(nulls) // len(useful)
    for place, edit in enumerate(useful):
        yield edit
        yield from nulls[place * step : (place + 1) * step]
    yield from nulls[len(useful) * step :]
