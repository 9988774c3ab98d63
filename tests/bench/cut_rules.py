"""Compares rules for cutting a level into nodes: `python -m tests.bench.cut_rules`.

On 100,000 made-up paths: how large leaves become, what changing one entry
rewrites on all levels, what adding one rewrites among the leaves, and how many
cuts an added entry moves. Bytes are those of encoded entries.
"""

from __future__ import annotations

import random
import statistics
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from brain.digest import domain_hash
from brain.objects.node_boundary import is_node_boundary

Rule = Callable[[int, str, int], bool]
"""Gets level, name and the count since the last cut."""

TOTAL = 100_000
UPDATES = 3000
INSERTS = 1500
WORDS = (
    "access audit bridge delegate flash fuzz gas inflation loan math memory oracle price proxy "
    "reentrancy replay report role scope severity share signature spot storage test token twap "
    "upgrade vault"
).split()

_hash = domain_hash("brain v1 tree cut")


def geometric(mean: int, fewest: int = 1, most: int = TOTAL) -> Rule:
    """Return the rule that looks at the name alone, with optional bounds."""
    limit = (1 << 24) // mean

    def rule(level: int, name: str, count: int) -> bool:
        if not fewest <= count < most:
            return count >= most
        return int.from_bytes(_hash(bytes((level,)) + name.encode())[:3], "big") < limit

    return rule


RULES: dict[str, Rule] = {
    "Weibull, 24 to 162": is_node_boundary,
    "geometric, mean 58": geometric(58),
    "geometric, mean 32": geometric(32),
    "geometric, 24 to 162, mean 59": geometric(37, 24, 162),
}


def make_paths(chooser: random.Random) -> list[str]:
    """Return sorted paths as skills have them."""
    paths: set[str] = set()
    while len(paths) < TOTAL:
        words = "-".join(chooser.choice(WORDS) for _ in range(chooser.randint(2, 4)))
        paths.add(f"{words}-{chooser.randrange(10**6)}/SKILL.md")
    return sorted(paths)


def entry_bytes(level: int, name: str) -> int:
    """Return the encoded size of an entry of a file of 5 KB, or of a node of 58 such."""
    head = 2 if len(name) > 31 else 1
    return 1 + head + len(name) + 34 + (4 if level == 0 else 6)


def cut(names: Sequence[str], rule: Rule, level: int) -> list[int]:
    """Return the places after which a level is cut, its end included."""
    cuts, count = [], 0
    for place, name in enumerate(names):
        count += 1
        if rule(level, name, count):
            cuts.append(place)
            count = 0
    return [*cuts, len(names) - 1] if count else cuts


class Levels(NamedTuple):
    """The names of every level and where they are cut, leaves first."""

    names: list[Sequence[str]]
    cuts: list[list[int]]


def raise_levels(paths: Sequence[str], rule: Rule) -> Levels:
    """Cut level after level up to the root."""
    names, cuts = [paths], [cut(paths, rule, 0)]
    while len(cuts[-1]) > 1:
        names.append([names[-1][place] for place in cuts[-1]])
        cuts.append(cut(names[-1], rule, len(names) - 1))
    return Levels(names, cuts)


def update_bytes(tree: Levels, place: int) -> int:
    """Return the bytes of all nodes that a new content at `place` rewrites."""
    total = 0
    for level, (names, cuts) in enumerate(zip(*tree, strict=True)):
        node = bisect_left(cuts, place)
        start = cuts[node - 1] + 1 if node else 0
        total += sum(entry_bytes(level, name) for name in names[start : cuts[node] + 1])
        place = node
    return total


def insert(tree: Levels, rule: Rule, path: str) -> tuple[int, int]:
    """Return the bytes of leaves that a new `path` rewrites, and the cuts it moves."""
    paths, cuts = tree.names[0], tree.cuts[0]
    place = bisect_left(paths, path)
    node = min(bisect_left(cuts, place), len(cuts) - 1)
    start = cuts[node - 1] + 1 if node else 0
    known = {paths[at] for at in cuts}
    names = [*paths[start:place], path, *paths[place : place + 3000]]
    after, count, size = set(), 0, 0
    for name in names:
        count += 1
        size += entry_bytes(0, name)
        if rule(0, name, count):
            after.add(name)
            count = 0
            if name > path and name in known:
                break
    before = {name for name in names[: names.index(name) + 1] if name in known}
    return size, len(before ^ after)


def measure(title: str, paths: Sequence[str], rule: Rule) -> str:
    """Return the row of one rule."""
    chooser = random.Random(title)
    tree = raise_levels(paths, rule)
    ends = tree.cuts[0]
    sizes = sorted(b - a for a, b in zip([-1, *ends], ends, strict=False))
    mean = statistics.mean(sizes)
    touched = sum(size * size for size in sizes) / len(paths)
    update = statistics.mean(update_bytes(tree, chooser.randrange(TOTAL)) for _ in range(UPDATES))
    added = (
        insert(tree, rule, f"{chooser.choice(paths)[:-9]}-{chooser.randrange(10**6)}/SKILL.md")
        for _ in range(INSERTS)
    )
    grown, moved = map(statistics.mean, zip(*added, strict=True))
    low, high = sizes[len(sizes) // 20], sizes[-len(sizes) // 20]
    return (
        f"| {title} | {len(tree.names)} | {mean:.0f} ± {statistics.pstdev(sizes):.0f} "
        f"| {low}–{high} | {sizes[0]}–{sizes[-1]} | {touched:.0f} "
        f"| {update / 1000:.1f} kB | {grown / 1000:.1f} kB | {moved:.2f} |"
    )


def main() -> None:
    """Print the table."""
    paths = make_paths(random.Random(7))
    print("| rule | levels | mean | 90 % | all | touched | change | add | cuts moved |")
    print("|---|---|---|---|---|---|---|---|---|")
    for title, rule in RULES.items():
        print(measure(title, paths, rule))


if __name__ == "__main__":
    main()
