"""The code of the error that a call raises."""

from typing import Any

import pytest

from brain.errors import BrainError


def error_code(
    call: Any,
    *args: Any,
    kind: type[BrainError] | tuple[type[BrainError], ...] = BrainError,
    **named: Any,
) -> str:
    """Return the code of the error of a kind that a call raises."""
    with pytest.raises(kind) as raised:
        call(*args, **named)
    return raised.value.code
