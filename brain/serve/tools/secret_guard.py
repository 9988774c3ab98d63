"""Refuse tool calls that would write a secret into the brain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...repo.skills.edit_files import ContentChange
    from ...secrets import SecretFinding

_TEXT_ARGUMENTS = ("content", "description", "new_string", "file_content", "message")


def refuse_secrets(brain: Brain, arguments: dict[str, Any]) -> None:
    """Raise `ToolFailure` (`secret`) if an argument holds a secret that is not accepted."""
    for name, text in _written_texts(arguments):
        for finding in brain.secrets.scan_text(text.encode())[:1]:
            raise _secret_failure(finding, name)


def refuse_new_secrets(brain: Brain, before: bytes | None, after: bytes | None) -> None:
    """Raise `ToolFailure` (`secret`) if a changed text holds a secret that it did not before.

    This also finds a secret composed of the old text and the new.
    """
    findings = brain.secrets.scan_text(after or b"")
    known_ids = (
        {finding.id for finding in brain.secrets.scan_text(before or b"")} if findings else set()
    )
    for finding in findings:
        if finding.id not in known_ids:
            raise _secret_failure(finding, "the resulting text")


def guard_change(brain: Brain, change: ContentChange) -> ContentChange:
    """Return `change` with a check that it adds no secret."""

    def checked(before: bytes | None) -> bytes | None:
        after = change(before)
        refuse_new_secrets(brain, before, after)
        return after

    return checked


def _secret_failure(finding: SecretFinding, where: str) -> ToolFailure:
    return ToolFailure(
        f"Line {finding.line} of {where} looks like a secret ({finding.rule}).",
        code="secret",
        hint="Write where it is kept instead, such as the name of an environment "
        "variable. If it is no secret, a person can accept it: "
        f"{finding.id} in secrets.accepted of manifest.yaml.",
    )


def _written_texts(arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in _TEXT_ARGUMENTS:
        if name in arguments:
            yield name, arguments[name]
    for step in arguments.get("operations", ()):
        yield from _written_texts(step)
