"""skill_manage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import NotFound, ToolFailure, printable
from .definitions import ACTIONS, FOLDERS
from .patching import replaced
from .reading import no_file
from .tool import Answer

if TYPE_CHECKING:
    from ...brain import Brain
    from ...results import Upserted

Given = dict[str, Any]


def skill_manage(brain: Brain, given: Given) -> Answer:
    """Create, improve or remove a skill, or one of its files."""
    named = {given[key] for key in ("action", "op") if key in given}
    if len(named) != 1:
        raise ToolFailure(
            "Give one action." if named else "action is missing.",
            code="bad_arguments",
            hint=f"It is one of {', '.join(ACTIONS)}.",
        )
    return _ACTS[named.pop()](brain, given)


def _save(brain: Brain, given: Given) -> Answer:
    name, content = given["name"], given.get("content")
    description = given.get("description")
    if not (content or description):
        raise _missing("content")
    if "/" in name or "\\" in name:
        brain.view_skill(name)  # the path of one that is there; a name has no slash
    done = brain.upsert_skill(
        name, content, description=description, category=given.get("category", "")
    )
    return _answer(done, "Created" if done.previous_version is None else "Improved")


def _patch(brain: Brain, given: Given) -> Answer:
    old: str | None = given.get("old_string")
    new: str | None = given.get("new_string")
    if not old or new is None:
        raise _missing("new_string" if old else "old_string")
    name, inner = given["name"], _inner(given)
    everywhere = given.get("replace_all", False)
    shown = f"{name}/{inner}" if inner else name

    def change(content: bytes | None) -> bytes:
        if content is None:
            raise NotFound("", code="no_file")
        return replaced(content, old, new, everywhere, printable(shown))

    return _answer(_edited(brain, name, inner, change, f"Patch {inner or 'the text'}"), "Patched")


def _write_file(brain: Brain, given: Given) -> Answer:
    name, inner = given["name"], _inner(given)
    text: str | None = given.get("file_content")
    if not inner or text is None:
        raise _missing("file_content" if inner else "file_path")
    content = text.encode()

    def change(was: bytes | None) -> bytes:
        if was is None and inner.partition("/")[0] not in FOLDERS:
            raise ToolFailure(
                f"A new file cannot go to {printable(inner)}.",
                code="bad_path",
                hint=f"Put it below {', '.join(folder + '/' for folder in FOLDERS)}.",
            )
        return content

    done = _edited(brain, name, inner, change, f"Write {inner}")
    return _answer(done, f"Wrote {printable(inner)} of")


def _remove_file(brain: Brain, given: Given) -> Answer:
    name, inner = given["name"], _inner(given)
    if not inner:
        raise _missing("file_path")

    def change(was: bytes | None) -> None:
        if was is None:
            raise NotFound("", code="no_file")

    done = _edited(brain, name, inner, change, f"Remove {inner}")
    return _answer(done, f"Removed {printable(inner)} of")


def _delete(brain: Brain, given: Given) -> Answer:
    name, umbrella = given["name"], given.get("absorbed_into")
    message = ""
    if umbrella:
        target = brain.view_skill(umbrella)
        if target.path == brain.view_skill(name).path:
            raise ToolFailure("A skill cannot be absorbed into itself.", code="bad_arguments")
        message = f"Absorbed into {target.slug}"
    elif umbrella == "":
        message = "Pruned: nothing took its place"
    done = brain.delete_skill(name, message=message)
    answer = _answer(done, "Removed")
    return answer._replace(data={**answer.data, "absorbed_into": umbrella})


def _edited(
    brain: Brain, name: str, inner: str, change: Callable[[bytes | None], bytes | None], why: str
) -> Upserted:
    try:
        return brain.edit_skill(name, change, file=inner, message=why)
    except NotFound as error:
        if error.code != "no_file":
            raise
        view = brain.view_skill(name)
        home = view.path.rpartition("/")[0] + "/"
        there = [path.removeprefix(home) for path in view.files if path != view.path]
        raise no_file(view.slug, inner, there) from error


def _inner(given: Given) -> str:
    """Return which file of the skill is meant, "" for its own text."""
    path: str = given.get("file_path", "")
    return "" if path == "SKILL.md" else path


def _missing(name: str) -> ToolFailure:
    return ToolFailure(f"{name} is missing.", code="bad_arguments")


def _answer(done: Upserted, what: str) -> Answer:
    data = {
        "slug": done.slug,
        "name": done.name,
        "version": done.version,
        "previous_version": done.previous_version,
        "path": done.path,
        "snapshot": done.snapshot,
        "bundle": done.bundle,
    }
    text = f"{what} {done.slug}, version {done.version} (snapshot {done.snapshot[:12]})."
    return Answer(text, data, done.changed)


_ACTS = {
    "create": _save,
    "edit": _save,
    "patch": _patch,
    "delete": _delete,
    "write_file": _write_file,
    "remove_file": _remove_file,
}
