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
    for home_file in files:
        refusal = (
            refusal_reason(home_file.file.content, allow) if home_file.file.kind != LINK else None
        )
        if refusal is None:
            yield home_file
        else:
            skipped.add(refusal[0], home_file.home_path, refusal[1], home_file.brain_path)


def refusal_reason(content: bytes, allow: Collection[str]) -> tuple[str, str] | None:
    """Return code and reason to skip a content, None to take it."""
    if content.startswith(_SQLITE_MAGIC):
        return "database", REASON_DATABASE
    secret = find_first_secret(content, allow)
    return (SECRET_CODE, describe_secret(secret)) if secret else None


def find_first_secret(content: bytes, allow: Collection[str]) -> SecretFinding | None:
    """Return the first secret in a content whose id is not in `allow`."""
    return next((secret for secret in find_secrets(content) if secret.id not in allow), None)


def describe_secret(secret: SecretFinding) -> str:
    """Return the description of a finding, without the secret itself."""
    return f"{secret.rule} in line {secret.line}; if it is a false positive, allow {secret.id}"
