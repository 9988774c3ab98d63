"""What a refusal is: an error of a kind with a code."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def raises_code(
    code: str, kind: Any, match: str | None = None
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error of a kind with a code; yields what is known of it afterwards."""
    with pytest.raises(kind, match=match) as error:
        yield error
    assert error.value.code == code
