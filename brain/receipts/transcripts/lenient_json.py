"""Lenient reading of untrusted JSON: a value of an unexpected type counts as absent."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Self

from ... import limits
from ...objects.snapshot import MAX_TIME_MS
from ...objects.tree_node import MAX_SAFE_INTEGER
from ...util import strict_json


class JsonObject(dict[str, Any]):
    """An untrusted object. Each method reads the first of `keys` that exists."""

    @classmethod
    def of(cls, value: Any) -> Self:
        """Return an object; an empty one for any other value."""
        return cls(value) if isinstance(value, dict) else cls()

    def first(self, *keys: str) -> Any:
        """Return the value, None if no key exists."""
        return next((self[key] for key in keys if key in self), None)

    def text(self, *keys: str) -> str:
        """Return a text; "" for any other value."""
        value = self.first(*keys)
        return value if isinstance(value, str) else ""

    def count(self, *keys: str) -> int:
        """Return a count, which may be a text of digits; 0 for any other value."""
        value = self.first(*keys)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
            value = int(value)
        return value if type(value) is int and 0 <= value <= MAX_SAFE_INTEGER else 0

    def object(self, *keys: str) -> JsonObject:
        """Return an object; an empty one for any other value."""
        return JsonObject.of(self.first(*keys))

    def objects(self, *keys: str) -> list[JsonObject]:
        """Return the objects of a list; none for any other value."""
        return objects_in_list(self.first(*keys))

    def time(self, *keys: str) -> int:
        """Return a time, ISO 8601 text or seconds, as ms since 1970; 0 for any other value."""
        value = self.first(*keys)
        if isinstance(value, str):
            try:
                when = datetime.fromisoformat(value)
            except ValueError:
                return 0
            value = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        if type(value) not in (int, float) or not 0 <= value <= MAX_TIME_MS // 1000:
            return 0
        ms: int = round(value * 1000)
        return ms

    def ms(self, *keys: str) -> int:
        """Return a time in ms since 1970; 0 for any other value."""
        value = self.first(*keys)
        return round(value) if type(value) in (int, float) and 0 < value <= MAX_TIME_MS else 0


def objects_in_list(value: Any) -> list[JsonObject]:
    """Return the objects of a list; none for any other value."""
    items = value if isinstance(value, list) else ()
    return [JsonObject(item) for item in items if isinstance(item, dict)]


def parse_record(data: bytes) -> Any:
    """Return the value of one record, None if it is not JSON or exceeds the limits."""
    if (
        len(data) > limits.MAX_RECORD_BYTES
        or strict_json.nesting_depth(data, limits.MAX_RECORD_DEPTH) > limits.MAX_RECORD_DEPTH
        or strict_json.count_values(data, limits.MAX_RECORD_VALUES) > limits.MAX_RECORD_VALUES
    ):
        return None
    try:
        return json.loads(data)
    except ValueError:
        return None


def split_records(data: bytes) -> Iterator[bytes]:
    """Iterate over the non-empty lines of a text."""
    return filter(None, (line.strip() for line in io.BytesIO(data)))


def message_text(content: Any) -> str:
    """Return the text of a message: a string, or the text parts of a list, joined by lines."""
    if isinstance(content, str):
        return content
    texts = (part.text("text", "content") for part in objects_in_list(content))
    return "\n".join(filter(None, texts))


def canonical_argument(value: Any) -> str:
    """Return the arguments of a tool as text; objects and lists as canonical JSON."""
    parsed = value
    if isinstance(value, str):
        is_json = value[:1] in ("{", "[")
        parsed = parse_record(value.encode(errors="replace")) if is_json else None
    if parsed is None:
        return value or ""
    return json.dumps(parsed, ensure_ascii=False, sort_keys=True)
