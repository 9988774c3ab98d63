"""Generated brains: as many skills as asked for, of text that compresses about as prose does.

Everything follows from the seed, so two machines measure the same files. A skill is about
5 KB of Markdown (zstd -3 makes 2.0 to 2.5 times less of it), the memory is one file of JSON
lines.
"""

import json
import random
import shutil
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

LAYOUTS = ("directory", "flat", "category")
SEED = 20_260
PER_CATEGORY = 100
"""Skills of one category: 1,000 categories at 100,000 skills."""

_SYLLABLES = """
    a al an ar be ca co de di e el en er fi ga he i in ka la le li lo ma me mi na ne no o on or
    pa pe po qua ra re ri ro sa se si so sta ta te ti to tra u un va ve vi wa we
""".split()
_HEADINGS = ("When to use", "Steps", "Checks", "Pitfalls", "Example", "References")
_LISTS = ("Steps", "Checks")
_WORDS = 6000
_SKEW = 0.9
"""Exponent of the words' frequencies; 1.0 would be Zipf's law."""


class Corpus(NamedTuple):
    """A brain to generate; `memory_bytes` is the size of memory/memories.jsonl."""

    layout: str
    skills: int
    memory_bytes: int

    def slug(self, number: int) -> str:
        """Return the slug of a skill; numbers are scattered, so neighbours are not."""
        scattered = number * 7_919 % 1_000_003
        return f"{_VOCABULARY[scattered % _WORDS]}-{_VOCABULARY[number % 97]}-{scattered:06d}"

    def path(self, number: int) -> str:
        """Return the path of a skill in this layout."""
        slug = self.slug(number)
        if self.layout == "directory":
            return f"skills/{slug}/SKILL.md"
        if self.layout == "flat":
            return f"skills/{slug}.md"
        categories = max(1, self.skills // PER_CATEGORY)
        return f"skills/category-{number % categories:04d}/{slug}.md"


def _vocabulary() -> list[str]:
    rng = random.Random(SEED)
    words: dict[str, None] = {}
    while len(words) < _WORDS:
        words["".join(rng.choices(_SYLLABLES, k=rng.choice((1, 2, 2, 3, 3, 4))))] = None
    return list(words)


_VOCABULARY = _vocabulary()
_FREQUENCIES = list(accumulate(1 / (rank + 2) ** _SKEW for rank in range(_WORDS)))


def words(rng: random.Random, count: int) -> str:
    """Return `count` words, frequent ones more often."""
    return " ".join(rng.choices(_VOCABULARY, cum_weights=_FREQUENCIES, k=count))


def body(rng: random.Random) -> str:
    """Return the Markdown of one skill, 5 KB give or take, without front matter."""
    parts = [f"# {words(rng, 3).title()}\n"]
    for heading in _HEADINGS:
        prose = words(rng, rng.randint(100, 140)).split(" ")
        bullet = "- " if heading in _LISTS else ""
        lines = [
            f"{bullet}{' '.join(prose[i : i + 12]).capitalize()}." for i in range(0, len(prose), 12)
        ]
        parts.append(f"## {heading}\n\n{(chr(10) if bullet else ' ').join(lines)}\n")
    return "\n".join(parts)


def skill(corpus: Corpus, number: int) -> str:
    """Return the whole text of one skill."""
    rng = random.Random(SEED * 1_000_003 + number)
    version = rng.randint(1, 9)
    return (
        f"---\nname: {corpus.slug(number)}\ndescription: {words(rng, 18).capitalize()}.\n"
        f"version: {version}\n---\n\n{body(rng)}"
    )


def memory_line(rng: random.Random, size: int = 0) -> str:
    """Return one memory as a JSON line, of exactly `size` bytes if a size is given."""
    memory = {
        "time": f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.random():.9f}",
        "kind": rng.choice(("fact", "preference", "event", "lesson")),
        "text": words(rng, max(30, size // 4)),
    }
    line = json.dumps(memory)
    if size:
        line = line[: size - 3] + '"}'
    return line + "\n"


def _write_memory(target: Path, size: int) -> None:
    rng = random.Random(SEED)
    written = 0
    with target.open("w", encoding="ascii") as out:
        while written < size:
            written += out.write(memory_line(rng))


def generate(corpus: Corpus, work: Path) -> Path:
    """Return the folder that holds the corpus, making it unless an earlier run has."""
    name = f"{corpus.layout}-{corpus.skills}-{corpus.memory_bytes >> 20}"
    folder, finished = work / "corpora" / name, work / "corpora" / f"{name}.finished"
    if finished.exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(corpus.skills):
        file = folder / corpus.path(number)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(skill(corpus, number), encoding="ascii")
    for section in ("memory", "prompts"):
        (folder / section).mkdir()
    _write_memory(folder / "memory" / "memories.jsonl", corpus.memory_bytes)
    prompt = words(random.Random(SEED), 400)
    (folder / "prompts" / "system.md").write_text(prompt + "\n", encoding="ascii")
    finished.touch()
    return folder
