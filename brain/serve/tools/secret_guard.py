"""Refuse tool calls that would write a certain secret into the brain, and report doubtful ones.

A doubtful finding can be wrong, so the call succeeds with a notice, as a snapshot does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure
from ...results import Notice
from ...secrets import CERTAIN

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...ops.files import ContentChange
    from ...secrets import SecretFinding

_MAX_NAMED = 20
"""Secrets of one text that a failure names."""
_TEXT_ARGUMENTS = (
    "content",
    "description",
    "new_string",
    "file_content",
    "message",
    "python_code",
    "check",
)


def refuse_secrets(brain: Brain, arguments: dict[str, Any]) -> None:
    """Raise `ToolFailure` (`secret`) if an argument holds a certain secret, not accepted."""
    for name, text in _written_texts(arguments):
        _refuse_certain(brain.secrets.scan_text(text.encode()), name)


class NewSecretCheck:
    """A check of changed texts: raises for a new certain secret, and collects doubtful ones.

    `doubts` has the notices about the last change. A secret composed of the old text and
    the new is found too.
    """

    def __init__(self, brain: Brain) -> None:
        self.doubts: list[Notice] = []
        self._brain = brain

    def __call__(self, before: bytes | None, after: bytes | None) -> None:
        """Raise `ToolFailure` (`secret`) if `after` holds a certain secret that `before` lacks."""
        scan = self._brain.secrets.scan_text
        findings = scan(after or b"")
        known_ids = {finding.id for finding in scan(before or b"")} if findings else set()
        new = [finding for finding in findings if finding.id not in known_ids]
        _refuse_certain(new, "the resulting text")
        self.doubts = [_doubt_notice(finding) for finding in new]

    def guard(self, change: ContentChange) -> ContentChange:
        """Return `change` with this check."""

        def checked(before: bytes | None) -> bytes | None:
            after = change(before)
            self(before, after)
            return after

        return checked


def _refuse_certain(findings: Sequence[SecretFinding], where: str) -> None:
    """Raise `ToolFailure` (`secret`) that names each certain secret among findings, if any."""
    certain = [finding for finding in findings if finding.grade == CERTAIN][:_MAX_NAMED]
    if not certain:
        return
    looks = (f"Line {one.line} of {where} looks like a secret ({one.rule})." for one in certain)
    ids = ", ".join(dict.fromkeys(one.id for one in certain))
    raise ToolFailure(
        " ".join(looks),
        code="secret",
        hint="Write where it is kept instead, such as the name of an environment "
        "variable. If it is no secret, a person can accept it: "
        f"{ids} in secrets.accepted of manifest.yaml.",
    )


def _doubt_notice(finding: SecretFinding) -> Notice:
    message = (
        f"line {finding.line} may hold a secret ({finding.rule}): {finding.excerpt}; "
        "if it does, write where the secret is kept instead"
    )
    return Notice("doubtful_secret", "", message)


def _written_texts(arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in _TEXT_ARGUMENTS:
        if name in arguments:
            yield name, arguments[name]
    for step in arguments.get("operations", ()):
        yield from _written_texts(step)
