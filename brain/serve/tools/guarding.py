"""What a model may not write down: secrets, which would go wherever the brain goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...errors import ToolFailure

if TYPE_CHECKING:
    from ...brain import Brain

_WRITTEN = ("content", "description", "new_string", "file_content", "message")


def refuse_secrets(brain: Brain, given: dict[str, Any]) -> None:
    """Raise `ToolFailure` (`secret`) if what is to be written looks like one, unless accepted."""
    for name, text in _texts(given):
        for found in brain.secrets_in(text.encode())[:1]:
            raise ToolFailure(
                f"Line {found.line} of {name} looks like a secret ({found.rule}).",
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
