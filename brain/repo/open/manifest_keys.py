"""The keys that manifest.yaml may have, and suggestions for misspelt ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import printable_text

MANIFEST_KEYS: Mapping[str, tuple[str, ...]] = {
    "": (
        "name",
        "layout",
        "home",
        "prompt",
        "commit",
        "secrets",
        "synthesis",
        "pinned",
        "evolution",
    ),
    "prompt": ("system", "memory"),
    "prompt.memory": ("path", "limit"),
    "commit": ("ledger", "every", "after", "branch", "signed"),
    "secrets": ("accepted",),
    "synthesis": ("tools", "recovery"),
    "evolution": ("mode", "gaps", "provisional", "budget"),
    "evolution.budget": ("day",),
    "evolution.budget.day": ("tokens", "cost"),
    "evolution.gaps": ("periodic",),
}
"""Section to its keys; "" is the top, and the items of `prompt.memory` are maps."""


def find_unknown_keys(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each key that no version of the manifest knows."""
    for section, keys in MANIFEST_KEYS.items():
        for one in _maps_of_section(fields, section):
            for key in one:
                if key not in keys:
                    yield _unknown_key(section, str(key))


def _maps_of_section(fields: Mapping[str, Any], section: str) -> list[Mapping[str, Any]]:
    value: Any = fields
    for name in filter(None, section.split(".")):
        value = value.get(name) if isinstance(value, Mapping) else None
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, Mapping)]


def _unknown_key(section: str, key: str) -> str:
    from difflib import get_close_matches

    place = f" in {section}" if section else ""
    near = get_close_matches(key, MANIFEST_KEYS[section], 1)
    elsewhere = [name for name, keys in MANIFEST_KEYS.items() if key in keys and name != section]
    hint = ""
    if near:
        hint = f"; did you mean {near[0]}?"
    elif elsewhere:
        hint = f"; it belongs to {elsewhere[0] or 'the top'}"
    return f"unknown key{place}, ignored: {printable_text(key, 80)}{hint}"
