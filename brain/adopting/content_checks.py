"""Skip files that are databases or hold secrets, and report files that may hold one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..objects.tree_node import LINK
from ..secrets import CERTAIN, SecretFinding, find_secrets
from .home_layout import REASON_DATABASE
from .skipped import SkippedFiles
from .source_protocol import HomeFile

SECRET_CODE = "secret"
_MAX_DESCRIBED = 20
"""Findings of one file that are named; once they are allowed, the next ones are."""
_SQLITE_MAGIC = b"SQLite format 3\0"


class ContentCheck(NamedTuple):
    """The decision on whether a content is adopted.

    `refusal` has code and reason to skip it. `doubt` describes what may be a secret in a
    content to take, and is "" if nothing is.
    """

    refusal: tuple[str, str] | None
    doubt: str


def filter_unsafe(
    files: Iterable[HomeFile], skipped: SkippedFiles, allow: Collection[str]
) -> Iterator[HomeFile]:
    """Yield the files except databases and those with secrets whose ids are not in `allow`.

    A file with only doubtful findings is yielded, and reported in `skipped.doubts`.
    """
    for home_file in files:
        if home_file.file.kind == LINK:
            yield home_file
            continue
        refusal, doubt = check_home_content(home_file.file.content, allow)
        if refusal is not None:
            skipped.add(refusal[0], home_file.home_path, refusal[1], home_file.brain_path)
            continue
        if doubt:
            skipped.add_doubt(home_file.home_path, doubt)
        yield home_file


def check_home_content(content: bytes, allow: Collection[str]) -> ContentCheck:
    """Tell whether to take a content, given the ids of findings that are allowed."""
    if content.startswith(_SQLITE_MAGIC):
        return ContentCheck(("database", REASON_DATABASE), "")
    secrets = find_new_secrets(content, allow)
    if not secrets:
        return ContentCheck(None, "")
    if secrets[0].grade == CERTAIN:
        return ContentCheck((SECRET_CODE, describe_secrets(secrets)), "")
    return ContentCheck(None, f"may hold a secret: {describe_secrets(secrets)}")


def find_new_secrets(content: bytes, allow: Collection[str]) -> list[SecretFinding]:
    """Return the secrets whose ids are not in `allow`: the certain ones, then the doubtful ones."""
    found = [secret for secret in find_secrets(content) if secret.id not in allow]
    return sorted(found, key=lambda secret: secret.grade != CERTAIN)


def describe_secrets(secrets: Sequence[SecretFinding]) -> str:
    """Return the description of findings in one file, without the secrets themselves."""
    shown = secrets[:_MAX_DESCRIBED]
    found = [f"{one.rule} in line {one.line} ({one.grade}): {one.excerpt}" for one in shown]
    if more := len(secrets) - len(shown):
        found.append(f"{more} more")
    what = "it is a false positive" if len(shown) == 1 else "they are false positives"
    options = " ".join(dict.fromkeys(f"--allow {one.id}" for one in shown))
    return f"{'; '.join(found)}; if {what}: {options}"
