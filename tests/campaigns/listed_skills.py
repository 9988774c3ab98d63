"""Counts the skills of a folder that a brain finds, and opens every line that shows them.

    python -m tests.campaigns.listed_skills FOLDER ...

A copy of each FOLDER becomes a brain by `init`, and a brain in another folder adopts FOLDER.
Every SKILL.md must be a skill of both, or be left out with a reason. Every line of the index, of
the instructions of the MCP server and of `brain://index` must open the skill that the line
describes, and no other; the tools and the instructions are counted in characters. The exit
status is 1 if a line opens another skill, a skill has no line, or a size is exceeded.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from brain import Brain
from brain.errors import BrainError
from brain.objects.portability import find_case_collisions
from brain.serve.mcp import resources
from brain.serve.mcp.brain_pool import INDEX_URI, READ_MODE, BrainPool, index_uri
from brain.serve.tools import tool_formats
from brain.skills import index_lines, skill_layout
from brain.skills.index_lines import IndexEntry
from brain.skills.skill_metadata import read_skill_metadata
from brain.skills.visible_text import ELLIPSIS, strip_hidden

MAX_TOOLS_CHARS, MAX_INSTRUCTION_CHARS = 8_450, 4_096
COMPARED_CHARS = 100_000
"""Characters of a skill that the tool and the resource both show; both cut longer ones."""
CLIENT = "campaign"


@dataclass(slots=True, kw_only=True)
class Counts:
    """Numbers by what they count, and what went wrong, by what it is about."""

    numbers: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    instruction_chars: int = 0

    def add_line(self, kind: str, problem: str) -> None:
        """Count a line of an index, and its problem if it is not ""."""
        self.numbers[f"{kind}: lines"] += 1
        self.numbers[f"{kind}: lines that open their skill"] += not problem
        if problem:
            self.problems.append(f"{kind}: {problem}")


def main(*folders: str) -> int:
    """Print the counts of each folder and their sums; return the exit status."""
    total: Counter[str] = Counter()
    failed, longest = False, 0
    for name in folders:
        counts = Counts()
        with tempfile.TemporaryDirectory() as scratch:
            count_folder(Path(name).resolve(), Path(scratch), counts)
        failed = failed or bool(counts.problems)
        total += counts.numbers
        longest = max(longest, counts.instruction_chars)
        print_counts(name, counts.numbers)
        print(f"{counts.instruction_chars:8}  instructions: characters")
        print(*(f"  {problem}" for problem in counts.problems[:20]), sep="\n", end="")
    print_counts("all", total)
    tools = len(json.dumps(tool_formats.anthropic(), separators=(",", ":")))
    print(f"tools: {tools} of at most {MAX_TOOLS_CHARS} characters")
    print(f"instructions: {longest} of at most {MAX_INSTRUCTION_CHARS} characters")
    return int(failed or tools > MAX_TOOLS_CHARS)


def print_counts(title: str, numbers: Counter[str]) -> None:
    """Print numbers below a title."""
    print(f"\n{title}")
    for name, number in sorted(numbers.items()):
        print(f"{number:8}  {name}")


def count_folder(folder: Path, scratch: Path, counts: Counts) -> None:
    """Count what `init` and `adopt` make of a folder."""
    there = set(skill_files(folder))
    counts.numbers["SKILL.md files"] += len(there)
    copy = scratch / folder.name
    shutil.copytree(folder, copy, symlinks=True)
    counts.numbers["init: names that must be excluded first"] += exclude_collisions(copy)
    with Brain.init(copy) as brain:
        left_out = {row.path: row.reason for row in brain.skills.survey().left_out_skills}
        brain.snapshot()
        found = {skill.path for skill in brain.skills.list()}
        count_found("init", there, found, left_out, counts)
        check_index("init", brain, counts)
    shutil.rmtree(copy)
    adopted = Brain.adopt(folder, scratch / "adopted")
    with Brain.open(scratch / "adopted") as brain:
        skills = {skill.path for skill in brain.skills.list()}
        found = {place.source for place in adopted.taken if place.path in skills}
        left_out = {row.path: row.code for row in adopted.left_out}
        count_found("adopt", there, found, left_out, counts)
        check_index("adopt", brain, counts)
    check_mcp(scratch / "adopted", counts)


def exclude_collisions(root: Path) -> int:
    """Exclude what has the name of another file but for case, as a snapshot asks for."""
    excluded = [
        Path(base, name).relative_to(root).as_posix()
        for base, folders, names in os.walk(root)
        for _, name in find_case_collisions(sorted(folders + names))
    ]
    if excluded:
        (root / ".brainignore").write_text("".join(f"/{path}\n" for path in excluded))
    return len(excluded)


def skill_files(folder: Path) -> Iterator[str]:
    """Yield the path of every regular file that is called SKILL.md, in any spelling."""
    for path in folder.rglob("*.[mM][dD]"):
        if path.name.lower() == "skill.md" and path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix()


def count_found(
    kind: str, there: set[str], found: set[str], left_out: dict[str, str], counts: Counts
) -> None:
    """Count the files that are skills, and the others by the reason that is given for them."""
    counts.numbers[f"{kind}: SKILL.md files that are skills"] += len(there & found)
    counts.numbers[f"{kind}: other skills"] += len(found - there)
    for path in sorted(there - found):
        reason = next((left_out[place] for place in places_above(path) if place in left_out), "")
        counts.numbers[f"{kind}: SKILL.md files left out: {reason or 'NO REASON'}"] += 1
        print(f"{kind}: {path}: {reason or 'no reason'}")
        if not reason:
            counts.problems.append(f"{kind}: is neither a skill nor named: {path}")


def places_above(path: str) -> Iterator[str]:
    """Yield a path and each folder above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def check_index(kind: str, brain: Brain, counts: Counts) -> None:
    """Open every line of `brain index`."""
    entries = index_lines.parse_index(brain.prompt.build_index().index)
    opened = []
    for entry in entries:
        problem, path = "", ""
        try:
            path = brain.skills.view(entry.address).path
            problem = compare_with_file(entry, path, brain.files.read(path))
        except BrainError as error:
            problem = f"{entry.address}: {error}"
        opened.append(path)
        counts.add_line(f"{kind}, index", problem)
    check_all_shown(f"{kind}, index", brain, opened, counts)


def check_mcp(root: Path, counts: Counts) -> None:
    """Open every line of the instructions and of `brain://index` with the tool and by its URI."""
    pool = BrainPool(lambda author: Brain.open(root, author=author), READ_MODE)
    with closing(pool):
        text = pool.instructions(CLIENT)
        for entry in index_lines.parse_index(text[text.index("[skills ") :]):
            counts.add_line("instructions", open_by_mcp(pool, entry)[0])
        size = len(text.encode("utf-16-le")) // 2
        counts.instruction_chars = size
        if size > MAX_INSTRUCTION_CHARS:
            counts.problems.append(f"instructions: {size} characters")
        opened, uri = [], INDEX_URI
        while uri:
            page = resources.resource_reader(pool, uri)(CLIENT, "").text
            for entry in index_lines.parse_index(page):
                problem, path = open_by_mcp(pool, entry)
                opened.append(path)
                counts.add_line("brain://index", problem)
            following = page.rpartition(f" {index_uri('')}")
            uri = f"{index_uri('')}{following[2]}" if following[1] else ""
        check_all_shown("brain://index", pool.brain(CLIENT), opened, counts)


def open_by_mcp(pool: BrainPool, entry: IndexEntry) -> tuple[str, str]:
    """Return the problem of a line, "" if it opens its skill, and the path of what it opens."""
    try:
        answer = pool.call(CLIENT, "skill_view", {"name": entry.address})
        resource = resources.resource_reader(pool, resources.skill_uri(entry.address))
        text = resource(CLIENT, "").text
    except BrainError as error:
        return f"{entry.address}: {error}", ""
    path = str(answer.data["path"])
    if not answer.text.startswith(text[:COMPARED_CHARS]):
        return f"{entry.address}: the tool and the resource read different skills", path
    return compare_with_file(entry, path, pool.brain(CLIENT).files.read(path)), path


def compare_with_file(entry: IndexEntry, path: str, content: bytes) -> str:
    """Return how a line differs from the text of the file that it opens, "" if in nothing."""
    slug = skill_layout.slug_from_path(path)
    card = read_skill_metadata(content, slug)
    name = index_lines.differing_name(slug, card.name)
    (line,) = index_lines.format_lines([(entry.address, name, card.description)])
    (wanted,) = index_lines.parse_index(strip_hidden(line))
    shown = (entry.description or "").removesuffix(ELLIPSIS)
    is_described = entry.description is None or (wanted.description or "").startswith(shown)
    if not is_described or (entry.name not in ("", wanted.name)):
        return f"{entry.address}: opens {path}, not what the line says: {entry.description}"
    return ""


def check_all_shown(kind: str, brain: Brain, opened: list[str], counts: Counts) -> None:
    """Check that the lines of a whole index open each skill once."""
    skills = Counter(skill.path for skill in brain.skills.list())
    lines = Counter(opened)
    wrong = sorted(path for path in skills | lines if skills[path] != lines[path])
    counts.problems += [f"{kind}: is not opened by exactly one line: {path}" for path in wrong]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
