"""Death of a process, played inside this one, at a call that it was about to make."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest


class ProcessDied(BaseException):
    """Ends everything up to the test; no code of the product catches it."""


@contextmanager
def dies_before_call(
    owner: Any, name: str, when: Callable[..., bool] = lambda *args, **named: True
) -> Generator[None]:
    """Die before the function `name` of `owner` is called with arguments for which `when` holds."""
    called = getattr(owner, name)

    def die(*args: Any, **named: Any) -> Any:
        if when(*args, **named):
            raise ProcessDied(name)
        return called(*args, **named)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(ProcessDied):
        patch.setattr(owner, name, die)
        yield
