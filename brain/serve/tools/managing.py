"""skill_manage."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import NotFound, ToolFailure, printable
from ...skills import index
from ...skills.slug import is_slug
from .definitions import ACTIONS, FOLDERS
from .guarding import refuse_new_secrets, vetted
from .patching import replaced
from .reading import file_of
from .tool import Answer, note

if TYPE_CHECKING:
    from ...actions.editing import Change
    from ...brain import Brain
    from ...results import Similar, Upserted

Given = dict[str, Any]


class _NoFile(NotFound):
    """The file to be changed is not there."""

    code = "no_file"


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
    of = name if is_slug(name) or "/" in name else ""
    alike: list[Similar] = []
    if "/" in name:
        name = brain.read_skill(name).slug  # the path of one that is there: a name has no slash
    else:
        alike = brain.similar_skills(name, description, content)
    done = brain.upsert_skill(
        name,
        content,
        description=description,
        category=given.get("category", ""),
        of=of,
        check=partial(refuse_new_secrets, brain),
    )
    new = done.previous_version is None
    return _naming(_answer(done, "Created" if new else "Improved"), alike)


def _naming(answer: Answer, alike: list[Similar]) -> Answer:
    """Name the skills that a new one nearly duplicates."""
    if not alike:
        return answer
    lines = [index.line(one.slug, one.description) for one in alike]
    advice = (
        "This is much like what you have. If one of these covers it, improve that one, and "
        f"delete {answer.data['slug']} with absorbed_into:"
    )
    rows = [
        {"slug": one.slug, "description": one.description, "likeness": one.score} for one in alike
    ]
    text = "\n".join([answer.text, advice, *lines])
    return answer._replace(text=text, data={**answer.data, "similar": rows})


def _patch(brain: Brain, given: Given) -> Answer:
    old: str | None = given.get("old_string")
    new: str | None = given.get("new_string")
    if not old or new is None:
        raise _missing("new_string" if old else "old_string")
    name, inner = given["name"], file_of(given)
    everywhere = given.get("replace_all", False)
    shown = f"{name}/{inner}" if inner else name

    def change(content: bytes | None) -> bytes:
        if content is None:
            raise _NoFile("no such file")
        return replaced(content, old, new, everywhere, printable(shown))

    return _answer(_edited(brain, name, inner, change, f"Patch {inner or 'the text'}"), "Patched")


def _write_file(brain: Brain, given: Given) -> Answer:
    name, inner = given["name"], file_of(given)
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
    name, inner = given["name"], file_of(given)
    if not inner:
        raise _missing("file_path")

    def change(was: bytes | None) -> None:
        if was is None:
            raise _NoFile("no such file")

    done = _edited(brain, name, inner, change, f"Remove {inner}")
    return _answer(done, f"Removed {printable(inner)} of")


def _delete(brain: Brain, given: Given) -> Answer:
    name, umbrella = given["name"], given.get("absorbed_into")
    message = ""
    if umbrella:
        target = brain.read_skill(umbrella)
        if target.path == brain.read_skill(name).path:
            raise ToolFailure("A skill cannot be absorbed into itself.", code="bad_arguments")
        message = f"Absorbed into {target.slug}"
    elif umbrella == "":
        message = "Pruned: nothing took its place"
    done = brain.delete_skill(name, message=message)
    answer = _answer(done, "Removed")
    return answer._replace(data={**answer.data, "absorbed_into": umbrella})


def _edited(brain: Brain, name: str, inner: str, change: Change, why: str) -> Upserted:
    try:
        return brain.edit_skill(name, vetted(brain, change), file=inner, message=why)
    except _NoFile:
        brain.read_skill(name, inner)  # tells what there is
        raise


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
    return Answer("\n".join([text, *map(note, done.notices)]), data, done.changed)


_ACTS = {
    "create": _save,
    "edit": _save,
    "patch": _patch,
    "delete": _delete,
    "write_file": _write_file,
    "remove_file": _remove_file,
}
