"""Scans every file of a folder, such as a collection of skills, and prints each finding.

    python -m tests.campaigns.secrets FOLDER [--labels FILE] [--plant SEED]

The last lines count files, findings and speed. Whether a finding is a real secret only a person
can tell: FILE has lines `ID plausible` or `ID false`, and false findings are then counted too.
With --plant a fake secret is put between two lines of each text, in memory, and those that are
found are counted.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from brain.secrets import SecretFinding, find_secrets_in_each
from tests.support.planted_secrets import text_with_secret

MAX_FILE_BYTES = 16 << 20
BATCH_FILES = 256


def regular_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that adoption would read, in order."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(base, name)
            if not path.is_symlink() and path.is_file() and path.stat().st_size <= MAX_FILE_BYTES:
                yield path


def scan(folder: Path) -> tuple[dict[Path, list[SecretFinding]], int, float]:
    """Return the findings of each file, the bytes of all, and the seconds that scanning took."""
    found: dict[Path, list[SecretFinding]] = {}
    paths = list(regular_files(folder))
    size, seconds = 0, 0.0
    for start in range(0, len(paths), BATCH_FILES):
        batch = paths[start : start + BATCH_FILES]
        contents = [path.read_bytes() for path in batch]
        size += sum(map(len, contents))
        begin = time.process_time()
        found.update(zip(batch, find_secrets_in_each(contents), strict=True))
        seconds += time.process_time() - begin
    return found, size, seconds


def count_planted(paths: Iterable[Path], seed: int) -> tuple[int, int]:
    """Plant a secret in each text; return the numbers of texts and of secrets found in them."""
    rng = random.Random(seed)
    planted = recalled = 0
    for path in paths:
        content = path.read_bytes()
        if b"\0" in content:
            continue
        lines = content.splitlines(keepends=True)
        place = rng.randrange(len(lines) + 1)
        secret = text_with_secret(rng)
        with_secret = b"".join((*lines[:place], f"\n{secret}\n".encode(), *lines[place:]))
        before, after = find_secrets_in_each([content, with_secret])
        planted += 1
        if {one.id for one in after} - {one.id for one in before}:
            recalled += 1
        else:
            print(f"{path}: not found: {secret!r}")
    return planted, recalled


def read_labels(path: Path | None) -> dict[str, str]:
    """Return the label of each finding by its id."""
    lines = path.read_text().splitlines() if path else []
    return {name: label for name, label, *_ in map(str.split, filter(None, lines))}


def main() -> None:
    """Scan the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--plant", type=int, metavar="SEED")
    options = parser.parse_args()
    labels = read_labels(options.labels)
    found, size, seconds = scan(options.folder)
    counts: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    false_files = 0
    for path, findings in found.items():
        for one in findings:
            label = labels.get(one.id, "unlabelled")
            counts[f"{one.rule} ({one.grade})"] += 1
            judged[label] += 1
            where = f"{path.relative_to(options.folder)}:{one.line}:{one.column}"
            print(f"{where}: {one.rule} ({one.grade}) {one.id} {label}\n    {one.excerpt}")
        false_files += any(labels.get(one.id) == "false" for one in findings)
    for name, count in counts.most_common():
        print(f"{count:6} {name}")
    files = len(found)
    with_findings = sum(map(bool, found.values()))
    print(f"{files} files, {size / 1e6:.1f} MB, {size / 1e6 / max(seconds, 1e-9):.1f} MB/s")
    print(f"{sum(counts.values())} findings in {with_findings} files: {dict(judged)}")
    print(f"{1000 * false_files / max(files, 1):.2f} files of 1,000 with a false finding")
    if options.plant is not None:
        planted, recalled = count_planted(found, options.plant)
        print(f"{recalled} of {planted} planted secrets found")


if __name__ == "__main__":
    main()
