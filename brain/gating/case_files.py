"""Cases of a skill, and their documents: `cases/NAME.yaml` in its folder.

input: {"text": "one two"}     # the payload of a program, or a text for a model
expect:                        # at least one of the four
  equals: {"words": 2}
  contains: [two]
  excludes: [error]
  check: |
    def check(input, output):
        assert output["words"] == len(input["text"].split())
split: held-out                # held-out or practice: what the hash of the input says
source: receipt 1a2b           # optional: where the case comes from
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import InvalidInput, printable_text
from .held_out import is_held_out

MAX_CASES = 256
"""Cases of one skill."""
MAX_CASE_BYTES = 64 << 10
HELD_OUT, PRACTICE = "held-out", "practice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What an output must be like; at least one part is given.

    `equals` is a JSON value if `has_equals`. `contains` and `excludes` are texts that the output
    holds and does not hold. `check` is Python with a function `check(input, output)` that raises
    for a wrong output.
    """

    has_equals: bool = False
    equals: Any = None
    contains: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    check: str = ""

    @property
    def parts(self) -> dict[str, Any]:
        """The parts that are given, by their names in a document."""
        texts = {"contains": list(self.contains), "excludes": list(self.excludes)}
        others = {name: value for name, value in {**texts, "check": self.check}.items() if value}
        return {**({"equals": self.equals} if self.has_equals else {}), **others}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case: `path` of its document in the brain, and the `blob` id of that.

    `input` is the payload of a program, or the text that a model is given. Evolvers may see a
    case only if it is not `is_held_out`, which follows from the input alone.
    """

    skill: str
    name: str
    path: str
    blob: bytes
    input: Mapping[str, Any] | str
    expect: Expectation
    is_held_out: bool
    source: str = ""


def case_text(case: Case) -> str:
    """Return the input of a case as a message; an object as JSON."""
    if isinstance(case.input, str):
        return case.input
    return json.dumps(dict(case.input), ensure_ascii=False, sort_keys=True)


MAX_TEXTS = 64
"""Texts in `contains`, and in `excludes`."""
MAX_SOURCE_CHARS = 200
MAX_SAFE_NUMBER = (1 << 53) - 1
"""The largest integer in an input that every reader of JSON reads alike."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SUFFIX = ".yaml"
_REQUIRED = ("input", "expect", "split")
_EXPECTED = {"equals", "contains", "excludes", "check"}
_HINT = "write `input`, `expect` and `split`; docs/evolution.md shows a case"


def is_case_name(name: str) -> bool:
    """Tell whether a case may have this name: the name of its file without .yaml."""
    return _NAME.fullmatch(name) is not None


def parse_case(skill: str, path: str, blob: bytes, data: bytes) -> Case:
    """Return the case that a document holds.

    Raises `InvalidInput`: `bad_case`, or `wrong_split` if the document names the other half.
    """
    name = path.rpartition("/")[2].removesuffix(_SUFFIX)
    if not path.endswith(_SUFFIX) or not is_case_name(name):
        raise _case_error(
            path,
            "its file name is not lower-case letters, digits, '.', '_' and '-' with .yaml",
            hint="rename it, for example to empty-text.yaml",
        )
    fields = _load_fields(path, data)
    case_input = _check_input(path, fields["input"])
    held_out = is_held_out(case_input)
    right, split = HELD_OUT if held_out else PRACTICE, fields["split"]
    if split not in (HELD_OUT, PRACTICE):
        raise _case_error(path, f"`split` is neither {HELD_OUT} nor {PRACTICE}")
    if split != right:
        raise InvalidInput(
            f"the case {path} says {split}, but the hash of its input says {right}",
            code="wrong_split",
            hint=f"write `split: {right}`; only another input can be in the other half",
        )
    source = fields.get("source", "")
    if not isinstance(source, str) or len(source) > MAX_SOURCE_CHARS:
        raise _case_error(path, f"`source` is not a text of at most {MAX_SOURCE_CHARS} characters")
    return Case(
        skill=skill,
        name=name,
        path=path,
        blob=blob,
        input=case_input,
        expect=_parse_expectation(path, fields["expect"]),
        is_held_out=held_out,
        source=source,
    )


class CaseOrigin(NamedTuple):
    """What a document says of its input and of where that comes from."""

    input: Mapping[str, Any] | str
    source: str


def read_case_origin(data: bytes) -> CaseOrigin | None:
    """Return input and source of a document, even of one that is no case; None without an input."""
    from ..skills.strict_yaml import load_yaml_data

    try:
        fields = load_yaml_data(data.decode())
        case_input = _check_input("", fields.get("input"))
    except (InvalidInput, UnicodeDecodeError):
        return None
    source = fields.get("source")
    return CaseOrigin(case_input, source if isinstance(source, str) else "")


def encode_case(
    case_input: Mapping[str, Any] | str, expect: Expectation, source: str = ""
) -> bytes:
    """Return the document of a case, with its half. Raises `InvalidInput` (`bad_case`)."""
    from ..skills.strict_yaml import write_yaml_data

    path = f"cases/new{_SUFFIX}"
    fields = {
        "input": _check_input(path, case_input),
        "expect": expect.parts,
        "split": HELD_OUT if is_held_out(case_input) else PRACTICE,
        **({"source": source} if source else {}),
    }
    try:
        data = write_yaml_data(fields).encode()
    except (TypeError, ValueError) as error:
        raise _case_error(path, printable_text(error)) from error
    parsed = parse_case("", path, b"", data)
    if (parsed.input, parsed.expect, parsed.source) != (case_input, expect, source):
        raise _case_error(path, "it holds values that YAML does not give back as they are")
    return data


def _load_fields(path: str, data: bytes) -> dict[str, Any]:
    from ..skills.strict_yaml import load_yaml_data

    if len(data) > MAX_CASE_BYTES:
        raise _case_error(path, f"it has {len(data)} bytes, more than {MAX_CASE_BYTES}")
    try:
        fields = load_yaml_data(data.decode())
    except InvalidInput as error:
        raise _case_error(path, error.message, hint=error.hint) from error
    except UnicodeDecodeError as error:
        raise _case_error(path, "its text is not UTF-8") from error
    _refuse_unknown(path, fields, {*_REQUIRED, "source"}, "")
    for name in _REQUIRED:
        if name not in fields:
            raise _case_error(path, f"the field `{name}` is missing")
    return fields


def _check_input(path: str, value: Any) -> Mapping[str, Any] | str:
    if isinstance(value, str):
        if not value.strip():
            raise _case_error(path, "`input` is an empty text")
        return value
    if not isinstance(value, Mapping):
        raise _case_error(path, "`input` is neither an object nor a text")
    try:
        _check_numbers(value)
        is_held_out(value)
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise _case_error(path, f"`input` is not JSON: {printable_text(error)}") from error
    return value


def _check_numbers(value: Any) -> None:
    """Raise `ValueError` for an integer that some readers of JSON round."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _check_numbers(item)
    elif isinstance(value, int) and abs(value) > MAX_SAFE_NUMBER:
        raise ValueError(f"{value} is beyond {MAX_SAFE_NUMBER}: give it as text")


def _parse_expectation(path: str, value: Any) -> Expectation:
    if not isinstance(value, dict) or not value:
        raise _case_error(path, "`expect` has none of equals, contains, excludes, check")
    _refuse_unknown(path, value, _EXPECTED, "expect.")
    check = value.get("check", "")
    if not isinstance(check, str) or ("check" in value and not check.strip()):
        raise _case_error(path, "`expect.check` is not Python code")
    texts = {name: value[name] for name in ("contains", "excludes") if name in value}
    for name, found in texts.items():
        are_texts = isinstance(found, list) and all(isinstance(one, str) and one for one in found)
        if not are_texts or not 1 <= len(found) <= MAX_TEXTS:
            raise _case_error(path, f"`expect.{name}` is not a list of 1 to {MAX_TEXTS} texts")
    return Expectation(
        has_equals="equals" in value,
        equals=value.get("equals"),
        check=check,
        **{name: tuple(found) for name, found in texts.items()},
    )


def _refuse_unknown(path: str, fields: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := fields.keys() - known:
        name = printable_text(min(unknown), 40)
        raise _case_error(path, f"the field `{where}{name}` is unknown")


def _case_error(path: str, problem: str, *, hint: str = _HINT) -> InvalidInput:
    return InvalidInput(f"the case {path} cannot be read: {problem}", code="bad_case", hint=hint)
