"""Results of the API: named tuples, ready to be printed as JSON.

Ids are hex text, times are `datetime` in UTC, paths are relative to
the brain. A version is an integer where the skill writes an integer, else text.

Defining all of them takes 7 ms, and a short command returns one or two, so each module is
loaded at its first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers see it; importing typing costs more than all of this
if TYPE_CHECKING:
    from typing import Any

    from .changes import *  # noqa: F403
    from .learning import *  # noqa: F403
    from .runs import *  # noqa: F403
    from .skills import *  # noqa: F403
    from .trust import *  # noqa: F403
_MODULES = ("skills", "changes", "trust", "runs", "learning")
"""Those that short commands need come first."""


def __getattr__(name: str) -> Any:
    """Load a result with its module and keep it (PEP 562)."""
    from importlib import import_module

    for module in _MODULES if name[0].isupper() else ():  # else a submodule is asked for
        if (value := vars(import_module(f".{module}", __name__)).get(name)) is not None:
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
