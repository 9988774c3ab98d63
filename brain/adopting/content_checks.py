"""Skip files that are databases or hold secrets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ..objects.tree_entry import LINK
from ..secrets import SecretFinding, find_secrets
from .home_layout import REASON_DATABASE
from .scan_home import HomeFile
from .skipped import SkippedFiles

SECRET_CODE = "secret"
_SQLITE_MAGIC = b"SQLite format 3\0"


def filter_unsafe(
    files: Iterable[HomeFile], skipped: SkippedFiles, allow: Collection[str]
) -> Iterator[HomeFile]:
    """Yield the files except databases and those with secrets whose ids are not in `allow`."""
    for taken in files:
        why = refusal_reason(taken.file.content, allow) if taken.file.kind != LINK else None
        if why is None:
            yield taken
        else:
            skipped.add(why[0], taken.home_path, why[1], taken.brain_path)


def refusal_reason(content: bytes, allow: Collection[str]) -> tuple[str, str] | None:
    """Return code and reason to skip a content, None to take it."""
    if content.startswith(_SQLITE_MAGIC):
        return "database", REASON_DATABASE
    found = find_first_secret(content, allow)
    return (SECRET_CODE, describe_secret(found)) if found else None


def find_first_secret(content: bytes, allow: Collection[str]) -> SecretFinding | None:
    """Return the first secret in a content whose id is not in `allow`."""
    return next((found for found in find_secrets(content) if found.id not in allow), None)


def describe_secret(found: SecretFinding) -> str:
    """Return the description of a finding, without the secret itself."""
    return f"{found.rule} in line {found.line}; if it is a false positive, allow {found.id}"
