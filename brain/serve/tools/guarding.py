"""What a model may not write down: secrets, which would go wherever the brain goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure

if TYPE_CHECKING:
    from ...actions.editing import Change
    from ...brain import Brain
    from ...secrets import Finding

_WRITTEN = ("content", "description", "new_string", "file_content", "message")


def refuse_secrets(brain: Brain, given: dict[str, Any]) -> None:
    """Raise `ToolFailure` (`secret`) if what is to be written looks like one, unless accepted."""
    for name, text in _texts(given):
        for found in brain.secrets_in(text.encode())[:1]:
            raise _refused(found, name)


def refuse_new_secrets(brain: Brain, before: bytes | None, after: bytes | None) -> None:
    """Raise `ToolFailure` (`secret`) for a text with one that it did not hold before.

    So it may be put together from what was there and what is given.
    """
    found = brain.secrets_in(after or b"")
    known = {one.id for one in brain.secrets_in(before or b"")} if found else set()
    for one in found:
        if one.id not in known:
            raise _refused(one, "what comes out")


def vetted(brain: Brain, change: Change) -> Change:
    """Return a change of a file that brings no secret into it."""

    def checked(before: bytes | None) -> bytes | None:
        after = change(before)
        refuse_new_secrets(brain, before, after)
        return after

    return checked


def _refused(found: Finding, where: str) -> ToolFailure:
    return ToolFailure(
        f"Line {found.line} of {where} looks like a secret ({found.rule}).",
        code="secret",
        hint="Write where it is kept instead, such as the name of an environment "
        "variable. If it is no secret, a person can accept it: "
        f"{found.id} in secrets.accepted of manifest.yaml.",
    )


def _texts(given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in _WRITTEN:
        if name in given:
            yield name, given[name]
    for step in given.get("operations", ()):
        yield from _texts(step)
