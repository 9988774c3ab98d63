"""Settings of the user, set and read by `brain config`."""

from collections.abc import Callable
from typing import Any

PINS = ("chain-id", "genesis")
"""What a node is asked for unless it stands before its URL."""


def configure(call: Callable[..., Any], table: str, *words: str) -> Any:
    """Set fields of a table, each by its own `brain config`; return what the last one did.

    `words` are the value of the main field, if any, then `--FIELD VALUE`, some several times.
    """
    outcome, values = None, dict[str, list[str]]()
    if len(words) % 2:
        outcome, words = _succeed(call, table, words[0]), words[1:]
    for option, value in zip(words[::2], words[1::2], strict=True):
        values.setdefault(option.removeprefix("--"), []).append(value)
    for field in sorted(values, key=lambda field: field not in PINS):
        outcome = _succeed(call, f"{table}.{field}", *values[field])
    return outcome


def _succeed(call: Callable[..., Any], key: str, *values: str) -> Any:
    outcome = call("config", key, *values)
    assert outcome.status == 0, outcome.err
    return outcome


def settings_of(call: Callable[..., Any], table: str) -> dict[str, Any]:
    """Return the fields of a table that have a value, as `brain config` shows them."""
    rows = call("config", table, "--json").document["settings"]
    return {
        row["key"].removeprefix(f"{table}."): row["value"]
        for row in rows
        if row["value"] is not None
    }
