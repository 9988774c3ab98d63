"""What a call must pass before it changes a brain, and the words of a refusal for a model."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import limits
from ...errors import BrainError, ToolFailure, printable_text
from ...results import Notice
from ...secrets import CERTAIN
from ...skills.skill_layout import SKILL_FILES
from ...skills.visible_text import strip_hidden
from ...util import strict_json
from ...util.json_schema import find_schema_faults
from .definitions import Schema

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...ops.files import ContentChange
    from ...secrets import SecretFinding


_MAX_FAULTS = 8
_MAX_DEPTH = 32


def parse_arguments(text: str | bytes) -> dict[str, Any]:
    """Return the arguments in a JSON text. Raises `ToolFailure` (`bad_arguments`)."""
    if len(text) > limits.MAX_CALL_BYTES:
        raise _bad_arguments(f"they are longer than {limits.MAX_CALL_BYTES} bytes")
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if strict_json.nesting_depth(data, _MAX_DEPTH) > _MAX_DEPTH:
        raise _bad_arguments("they are nested too deeply")
    try:
        arguments = strict_json.parse_unbounded_json(text)
    except ValueError as error:  # also for invalid UTF-8 and numbers of thousands of digits
        raise _bad_arguments(f"they are not JSON: {printable_text(error)}") from error
    if not isinstance(arguments, dict):
        raise _bad_arguments("they are not a JSON object")
    return arguments


def check_arguments(schema: Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without nulls, which count as missing.

    Raises `ToolFailure` (`bad_arguments`) that names every fault.
    """
    if not isinstance(arguments, Mapping):
        raise _bad_arguments("they are not an object")
    values = {name: _drop_nulls(value) for name, value in arguments.items() if value is not None}
    if faults := list(find_schema_faults(schema, values, "")):
        raise _bad_arguments("; ".join(faults[:_MAX_FAULTS]))
    return values


def _drop_nulls(value: Any) -> Any:
    """Return a value; if it is a list, without the nulls in its objects."""
    if not isinstance(value, list):
        return value
    return [
        {name: inner for name, inner in item.items() if inner is not None}
        if isinstance(item, Mapping)
        else item
        for item in value
    ]


def _bad_arguments(fault: str) -> ToolFailure:
    return ToolFailure(
        f"These arguments are refused: {fault}.",
        code="bad_arguments",
        hint="Call again with arguments that fit the schema of the tool.",
    )


_MODEL_HINTS = {
    "no_skill": "See skills_list.",
    "stale_base": "Read it again with skill_view, and write to its new text.",
    "ambiguous_skill": "Name one of these.",
}
"""By code: the hint for a model, where the hint of the error is a shell command."""
_COMMAND_PREFIX = "`brain "
_ABSOLUTE_PATH = re.compile(
    r"(?<![\w./])(?:/|[A-Za-z]:\\|\\\\)[^\s'\"]*[/\\][^\s'\":,]+(?: [^\s'\":,]*[/\\][^\s'\":,]*)*"
)
"""A path of this machine; a word with a slash after a space belongs to it."""
MAX_FAILURE_CHARS = 6000
"""Characters of a message and of a hint, each."""


def to_tool_failure(error: BrainError, root: Path) -> ToolFailure:
    """Return an error as the failure of a tool."""
    if isinstance(error, ToolFailure):
        return error
    hint = _MODEL_HINTS.get(error.code, "") if _COMMAND_PREFIX in error.hint else error.hint
    failure = ToolFailure(
        _as_sentence(hide_paths(error.message, root)),
        code=error.code,
        hint=_as_sentence(hide_paths(hint, root)),
    )
    failure.exit_status = error.exit_status
    return failure


def sanitize_failure(failure: ToolFailure) -> ToolFailure:
    """Return a failure for a model: bounded, and without hidden characters."""
    sanitized = ToolFailure(
        _sanitize_text(failure.message), code=failure.code, hint=_sanitize_text(failure.hint)
    )
    sanitized.exit_status = failure.exit_status
    return sanitized


def hide_paths(text: str, root: Path) -> str:
    """Return `text` without absolute paths of this machine; paths inside the brain stay."""
    for folder in dict.fromkeys(map(str, (root, root.absolute(), root.resolve()))):
        for name in (folder, printable_text(folder, len(folder))):
            text = text.replace(f"{name}/", "").replace(name, "the brain")
    home = os.path.expanduser("~")
    if len(home) > 1:
        text = re.sub(rf"(?<![\w./]){re.escape(home)}(?![\w.-])", "…", text)
    return _ABSOLUTE_PATH.sub("…", text)


def _sanitize_text(text: str) -> str:
    plain = strip_hidden(text)
    return plain if len(plain) <= MAX_FAILURE_CHARS else f"{plain[:MAX_FAILURE_CHARS]} …"


def _as_sentence(text: str) -> str:
    if not text:
        return ""
    first, _, _ = text.partition(" ")
    start = text[0].upper() if first.isalpha() else text[0]
    return start + text[1:] + ("" if text[-1] in ".?!" else ".")


_MAX_NAMED = 20
"""Secrets of one text that a failure names."""
_TEXT_ARGUMENTS = (
    *("content", "description", "new_string", "file_content", "message"),
    *("python_code", "check"),
)


def refuse_secrets(brain: Brain, arguments: dict[str, Any]) -> None:
    """Raise `ToolFailure` (`secret`) if an argument holds a certain secret, not accepted."""
    for name, text in _written_texts(arguments):
        _refuse_certain(brain.secrets.scan_text(text.encode()), name)


class NewSecretCheck:
    """A check of changed texts: raises for a new certain secret, and collects doubtful ones.

    `doubts` has the notices about the last change. A secret composed of the old text and
    the new is found too.
    """

    def __init__(self, brain: Brain) -> None:
        self.doubts: list[Notice] = []
        self._brain = brain

    def __call__(self, before: bytes | None, after: bytes | None) -> None:
        """Raise `ToolFailure` (`secret`) if `after` holds a certain secret that `before` lacks."""
        scan = self._brain.secrets.scan_text
        findings = scan(after or b"")
        known_ids = {finding.id for finding in scan(before or b"")} if findings else set()
        new = [finding for finding in findings if finding.id not in known_ids]
        _refuse_certain(new, "the resulting text")
        self.doubts = [
            Notice(
                "doubtful_secret",
                "",
                f"line {one.line} may hold a secret ({one.rule}): {one.excerpt}; if it does, "
                "write where the secret is kept instead",
            )
            for one in new
        ]

    def guard(self, change: ContentChange) -> ContentChange:
        """Return `change` with this check."""

        def checked(before: bytes | None) -> bytes | None:
            after = change(before)
            self(before, after)
            return after

        return checked


def _refuse_certain(findings: Sequence[SecretFinding], where: str) -> None:
    """Raise `ToolFailure` (`secret`) that names each certain secret among findings, if any."""
    certain = [finding for finding in findings if finding.grade == CERTAIN][:_MAX_NAMED]
    if not certain:
        return
    looks = (f"Line {one.line} of {where} looks like a secret ({one.rule})." for one in certain)
    ids = ", ".join(dict.fromkeys(one.id for one in certain))
    raise ToolFailure(
        " ".join(looks),
        code="secret",
        hint="Write where it is kept instead, such as the name of an environment "
        "variable. If it is no secret, a person can accept it: "
        f"{ids} in secrets.accepted of manifest.yaml.",
    )


def _written_texts(arguments: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in _TEXT_ARGUMENTS:
        if name in arguments:
            yield name, arguments[name]
    for step in arguments.get("operations", ()):
        yield from _written_texts(step)


def refuse_to_remove_cases(brain: Brain, name: str) -> None:
    """Refuse to remove a skill whose folder has cases, of it or of skills below it.

    Raises `ToolFailure` (`has_cases`), or as `brain.skills.read_file`.
    """
    path = brain.skills.read_file(name).path
    if not path.endswith(SKILL_FILES):
        return  # a single file; its cases stay
    folder = path.rpartition("/")[0]
    cases = [case for case in brain.gate.list_cases() if not case.problem]
    if any(case.path.startswith(f"{folder}/") for case in cases):
        raise ToolFailure(
            f"'{name}' cannot be removed: its changes are tried on cases.",
            code="has_cases",
            hint="Improve it instead, or ask the user to remove it.",
        )


_JSON_ARGUMENTS = ("parameters_schema", "test_payload", "expected", "needs", "fixtures")


def write_json_as_text(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments whose JSON values are texts or objects, as the schema of the tool has them.

    Models give a list, a number or a text of JSON, all of which are meant.
    """
    return {
        name: json.dumps(value)
        if name in _JSON_ARGUMENTS and value is not None and not isinstance(value, str | Mapping)
        else value
        for name, value in arguments.items()
    }
