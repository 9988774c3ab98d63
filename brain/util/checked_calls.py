"""Calls of the library that check their arguments, where the annotations are simple.

A wrong one raises `InvalidInput` (`bad_argument_type`, `bad_number`), in words of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from os import PathLike
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from ..errors import InvalidInput
from ..named_tuple import NamedTuple

P = ParamSpec("P")
T = TypeVar("T")
Class = TypeVar("Class", bound=type)


class _HasRead(type):
    def __instancecheck__(cls, value: object) -> bool:
        return hasattr(value, "read")


class _Stream(metaclass=_HasRead):
    """Whatever can be read: what wraps a temporary file is no `IOBase`."""


_SIMPLE_TYPES: dict[str, tuple[type, ...]] = {
    "Mapping[str, Any]": (Mapping,),
    "None": (type(None),),
    "Path": (PathLike,),
    "RawIOBase": (_Stream,),
    "bool": (bool,),
    "bytes": (bytes,),
    "float": (float, int),
    "int": (int,),
    "str": (str,),
    **{f"{kind}[str]": (Iterable,) for kind in ("Collection", "Iterable", "Sequence")},
}
"""What may be given for an annotation, or a part of it between bars."""

_MAY_BE_NONE = ("None", "Any", "object")
_COUNTS = {"limit", "last"}
"""Arguments that say how many, so that less than 0 means nothing."""


class _Wanted(NamedTuple):
    annotation: str
    types: tuple[type, ...] | None
    """None: anything but None."""
    is_list: bool


def check_types(
    function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any], first: int = 1
) -> None:
    """Check the arguments of `function` from its parameter `first` on, where types are simple."""
    names, wanted = _read_simple_types(function)
    for name, value in (*zip(names[first:], args, strict=False), *kwargs.items()):
        if name not in wanted:
            continue
        annotation, types, is_list = wanted[name]
        fits = value is not None if types is None else isinstance(value, types)
        if not fits or (is_list and isinstance(value, (str, bytes))):
            raise InvalidInput(
                f"the argument {name} has the wrong type",
                code="bad_argument_type",
                hint=f"{name}: {annotation}, not {type(value).__name__}",
            )
        if name in _COUNTS and isinstance(value, int) and value < 0:
            raise InvalidInput(
                f"the argument {name} is {value}, and it says how many",
                code="bad_number",
                hint=f"{name}: {annotation}, 0 or more",
            )


@cache
def _read_simple_types(
    function: Callable[..., Any],
) -> tuple[tuple[str, ...], dict[str, _Wanted]]:
    """Return the names of positional arguments, and what may be given for those to check."""
    code = function.__code__
    wanted = {}
    for name, annotation in function.__annotations__.items():
        words = str(annotation).split(" | ")
        if name == "return":
            continue
        if all(word in _SIMPLE_TYPES for word in words):
            types = tuple(kind for word in words for kind in _SIMPLE_TYPES[word])
            is_list = Iterable in types and str not in types
            wanted[name] = _Wanted(annotation, types, is_list)
        elif not any(word in annotation for word in _MAY_BE_NONE):
            wanted[name] = _Wanted(annotation, None, is_list=False)
    return code.co_varnames[: code.co_argcount], wanted


def checked(function: Callable[P, T], first: int = 0) -> Callable[P, T]:
    """Return a function that checks its arguments, from its parameter `first` on."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        check_types(function, args[first:], kwargs, first)
        return function(*args, **kwargs)

    return call


def check_calls(cls: Class) -> Class:
    """Let the public methods of a class, and what makes one of it, check their arguments."""
    for name, method in list(vars(cls).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(method, FunctionType):
            setattr(cls, name, checked(method, 1))
        elif isinstance(method, (classmethod, staticmethod)):
            inner = checked(method.__func__, isinstance(method, classmethod))
            setattr(cls, name, type(method)(inner))
    return cls
