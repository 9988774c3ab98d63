"""Random texts, two edits of each, merged here and by `git merge-file`."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

from brain.merging import lines

LINE_CHOICES = ["alpha", "beta", "gamma", "", "- item", "# Head", "  indented"]


def random_text(rng: random.Random) -> list[bytes]:
    """Return some lines; every third text has lines that repeat."""
    count = rng.randrange(40)
    if rng.randrange(3) == 0:
        return [f"{rng.choice(LINE_CHOICES)}\n".encode() for _ in range(count)]
    return [f"{rng.choice(LINE_CHOICES)} {number}\n".encode() for number in range(count)]


def edit_text(rng: random.Random, base: list[bytes]) -> list[bytes]:
    """Return a text after a few edits of a few lines; sometimes without its last line feed."""
    out = list(base)
    for _ in range(rng.randrange(5)):
        start = rng.randrange(len(out) + 1)
        stop = min(len(out), start + rng.randrange(4))
        out[start:stop] = [f"new {rng.randrange(9)}\n".encode() for _ in range(rng.randrange(4))]
    if out and rng.randrange(20) == 0:
        out[-1] = out[-1].rstrip(b"\n")
    return [line for line in out if line]


def merge_with_git(folder: Path, *sides: bytes) -> bytes | None:
    """Return what git merges base, ours and theirs to; None if it sees a conflict."""
    for name, content in zip(("base", "ours", "theirs"), sides, strict=True):
        (folder / name).write_bytes(content)
    command = ["git", "merge-file", "-p", "ours", "base", "theirs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def find_disagreements(folder: Path, seed: int, count: int) -> Iterator[str]:
    """Yield where a clean merge here is not what git says, or depends on who merges.

    Where lines repeat, what belongs together is a matter of taste, and each may see a
    conflict that the other does not; then nothing that both merge cleanly is compared.
    """
    rng = random.Random(seed)
    for number in range(count):
        base = random_text(rng)
        plain = len(set(base)) == len(base)
        a, b = edit_text(rng, base), edit_text(rng, base)
        ours = lines.join_if_clean(lines.merge_lines(base, a, b))
        if ours != lines.join_if_clean(lines.merge_lines(base, b, a)):
            yield f"text {number} depends on who merges"
        if lines.join_if_clean(lines.merge_lines(base, a, a)) != b"".join(a):
            yield f"text {number} merged with itself is another"
        theirs = merge_with_git(folder, *(b"".join(side) for side in (base, a, b)))
        if plain and None not in (ours, theirs) and ours != theirs:
            yield f"text {number} is not what git makes of it"
        if plain and ours is not None and theirs is None:
            yield f"text {number} is clean where git sees a conflict"
