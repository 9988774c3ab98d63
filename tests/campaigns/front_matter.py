"""Reads and saves every SKILL.md below a folder, and prints how many came through unharmed.

    python -m tests.campaigns.front_matter FOLDER [SHOWN.json ...]

Each SHOWN.json is an object of path and description, as a client shows it; a file that the
client does not list is left out or null. Nothing in the folder is changed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from skills_ref.validator import validate

from brain.errors import InvalidInput
from brain.limits import MAX_DESCRIPTION_CHARS
from brain.skills.document_parts import split_document
from brain.skills.frontmatter import parse_if_any
from brain.skills.skill_document import upsert_document
from brain.skills.skill_metadata import SkillMetadata, read_skill_metadata
from brain.skills.visible_text import fold_to_line

ADDED = b"\nOne more line.\n"
WRITTEN = ("name", "description", "version", "metadata")
"""Fields that an upsert may add; the first two only where they are missing."""


def main(folder: str, *shown: str) -> None:
    """Print the counts, and the files that are not counted as unharmed."""
    counts: Counter[str] = Counter()
    found = Path(folder).rglob("*.md")
    files = sorted(p for p in found if p.name.lower() == "skill.md" and p.is_file())
    for path in files:
        for result in _outcomes(path):
            counts[result] += 1
            if result.isupper():
                print(f"{path}: {result.lower()}")
    for list_of_client in shown:
        descriptions = json.loads(Path(list_of_client).read_text("utf-8"))
        for path_text, wanted in descriptions.items():
            if wanted is None:
                continue
            card = read_skill_metadata(Path(path_text).read_bytes(), "")
            equal = card.description == fold_to_line(wanted)[:MAX_DESCRIPTION_CHARS]
            counts[f"{list_of_client}: {'equal' if equal else 'different'}"] += 1
            if not equal:
                print(f"{path_text}: {card.description[:60]!r}, not {wanted[:60]!r}")
    for result, count in sorted(counts.items()):
        print(f"{count:7}  {result}")


def _outcomes(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    card = read_skill_metadata(content, "fallback")
    yield "files"
    yield from (f"flag {flag}" for flag in card.flags.split())
    try:
        document = split_document(content)
        made = upsert_document(content, None, "x", "fallback", None, content + ADDED)
    except InvalidInput as error:
        yield f"UPSERT REFUSED: {error.code}"
        return
    yield "upserts"
    after = read_skill_metadata(made.content, "fallback")
    if (after.name, after.description) != (card.name, card.description):
        yield "SHOWN OTHERWISE AFTER AN UPSERT"
    if not _is_same_head(document.front_matter, made.content, card):
        yield "HEAD CHANGED BEYOND THE VERSION"
    if not _faults(path.parent.name, content):
        yield "valid before an upsert"
        yield "INVALID AFTER" if _faults(path.parent.name, made.content) else "valid after it, too"


def _is_same_head(before: str, content: bytes, card: SkillMetadata) -> bool:
    old, new = parse_if_any(before), parse_if_any(split_document(content).front_matter)
    missing = {"no_name": "name", "no_description": "description"}
    added = {missing[flag] for flag in card.flags.split() if flag in missing}
    return all(
        old.raw_value(field) == new.raw_value(new.fields[key])
        for key, field in old.fields.items()
        if key not in WRITTEN or (key in ("name", "description") and key not in added)
    ) and set(new.fields) - set(old.fields) <= {"version", "metadata", *added}


def _faults(name: str, content: bytes) -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, name)
        folder.mkdir()
        (folder / "SKILL.md").write_bytes(content)
        try:
            return list(validate(folder))
        except AttributeError as error:  # the validator fails so at a control character
            return [str(error)]


if __name__ == "__main__":
    main(*sys.argv[1:])
