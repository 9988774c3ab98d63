"""The tool skill_manage: create, edit, patch and delete skills and their files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import NotFound, ToolFailure, printable_text
from ...gating.case_paths import is_in_cases
from ...skills.slug import is_slug
from .case_guard import refuse_to_remove_cases
from .secret_guard import NewSecretCheck
from .skill_read import file_argument, read_shown_file, skill_line
from .text_replacement import replace_in_text
from .tool import ToolResult, notice_line, pick_fields
from .tool_definitions import SKILL_ACTIONS, SKILL_FOLDERS

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...ops.files import ContentChange
    from ...results import Similar, Upserted

Arguments = dict[str, Any]


class _FileMissing(NotFound):
    """The file to change does not exist."""

    code = "no_file"


def skill_manage(brain: Brain, arguments: Arguments) -> ToolResult:
    """Create, improve or remove a skill, or one of its files."""
    named = {arguments[key] for key in ("action", "op") if key in arguments}
    if len(named) != 1:
        raise ToolFailure(
            "Give one action." if named else "action is missing.",
            code="bad_arguments",
            hint=f"It is one of {', '.join(SKILL_ACTIONS)}.",
        )
    return _ACTION_FUNCTIONS[named.pop()](brain, arguments)


def _create_skill(brain: Brain, arguments: Arguments) -> ToolResult:
    """Save a skill; the text that it has already is not recorded as a new version."""
    return _save_skill(brain, arguments, if_changed=True)


def _save_skill(brain: Brain, arguments: Arguments, if_changed: bool = False) -> ToolResult:
    name, content = arguments["name"], arguments.get("content")
    description = arguments.get("description")
    if not (content or description):
        raise _missing_argument("content")
    similar = brain.skills.find_duplicates(name, description, content)
    upserted = brain.skills.upsert(
        name,
        content,
        description=description,
        category=arguments.get("category", ""),
        target=name if is_slug(name) else "",
        if_changed=if_changed,
        check=NewSecretCheck(brain),
    )
    new = upserted.previous_version is None
    return add_similar(_write_result(upserted, "Created" if new else "Improved"), similar)


def add_similar(result: ToolResult, similar: list[Similar]) -> ToolResult:
    """Add the skills that a new one nearly duplicates."""
    if not similar:
        return result
    lines = [skill_line(skill) for skill in similar]
    advice = (
        "This is much like what you have. If one of these covers it, improve that one, and "
        f"delete {result.data['slug']} with absorbed_into:"
    )
    similar_data = [
        {
            "slug": skill.slug,
            "address": skill.address,
            "description": skill.description,
            "likeness": skill.score,
        }
        for skill in similar
    ]
    text = "\n".join([result.text, advice, *lines])
    return result._replace(text=text, data={**result.data, "similar": similar_data})


def _patch_file(brain: Brain, arguments: Arguments) -> ToolResult:
    old: str | None = arguments.get("old_string")
    new: str | None = arguments.get("new_string")
    if not old or new is None:
        raise _missing_argument("new_string" if old else "old_string")
    name, inner = arguments["name"], file_argument(arguments)
    replace_all = arguments.get("replace_all", False)
    shown_path = f"{name}/{inner}" if inner else name

    def change(content: bytes | None) -> bytes:
        if content is None:
            raise _FileMissing("no such file")
        return replace_in_text(content, old, new, replace_all, printable_text(shown_path))

    return _write_result(
        _edit_skill_file(brain, name, inner, change, f"Patch {inner or 'the text'}"), "Patched"
    )


def _write_file(brain: Brain, arguments: Arguments) -> ToolResult:
    name, inner = arguments["name"], file_argument(arguments)
    text: str | None = arguments.get("file_content")
    if not inner or text is None:
        raise _missing_argument("file_content" if inner else "file_path")
    content = text.encode()

    def change(before: bytes | None) -> bytes:
        if before is None and inner.partition("/")[0] not in SKILL_FOLDERS:
            raise ToolFailure(
                f"A new file cannot go to {inner}.",
                code="bad_path",
                hint=f"Put it below {', '.join(folder + '/' for folder in SKILL_FOLDERS)}.",
            )
        return content

    edited = _edit_skill_file(brain, name, inner, change, f"Write {inner}")
    return _write_result(edited, f"Wrote {printable_text(inner)} of")


def _remove_file(brain: Brain, arguments: Arguments) -> ToolResult:
    name, inner = arguments["name"], file_argument(arguments)
    if not inner:
        raise _missing_argument("file_path")

    def change(before: bytes | None) -> None:
        if before is None:
            raise _FileMissing("no such file")

    edited = _edit_skill_file(brain, name, inner, change, f"Remove {inner}")
    return _write_result(edited, f"Removed {printable_text(inner)} of")


def _delete_skill(brain: Brain, arguments: Arguments) -> ToolResult:
    name, umbrella = arguments["name"], arguments.get("absorbed_into")
    refuse_to_remove_cases(brain, name)
    message = ""
    if umbrella:
        target = brain.skills.read_file(umbrella)
        if target.path == brain.skills.read_file(name).path:
            raise ToolFailure(
                "A skill cannot be absorbed into itself.",
                code="bad_arguments",
                hint="Give another skill as absorbed_into, or leave it out.",
            )
        message = f"Absorbed into {target.slug}"
    elif umbrella == "":
        message = "Pruned: nothing took its place"
    answer = _write_result(brain.skills.delete(name, message=message), "Removed")
    return answer._replace(data={**answer.data, "absorbed_into": umbrella})


def _edit_skill_file(
    brain: Brain, name: str, inner: str, change: ContentChange, message: str
) -> Upserted:
    _refuse_cases(inner)
    check = NewSecretCheck(brain)
    try:
        edited = brain.skills.edit(name, check.guard(change), file=inner, message=message)
    except _FileMissing:
        read_shown_file(brain, name, inner)  # raises an error that lists the existing files
        raise
    doubts = check.doubts if inner else ()  # the notices cover the text of the skill
    return edited._replace(notices=[*edited.notices, *doubts])


def _refuse_cases(inner: str) -> None:
    """Refuse files below cases/: an agent does not change what its skills are tried on."""
    if is_in_cases(inner):
        raise ToolFailure(
            f"{inner} is not written: a skill is tried on its cases.",
            code="bad_path",
            hint="Put it elsewhere in the folder of the skill, or ask the user to add a case.",
        )


def _missing_argument(name: str) -> ToolFailure:
    return ToolFailure(
        f"{name} is missing.", code="bad_arguments", hint="Call skill_manage again with it."
    )


def _write_result(written: Upserted, verb: str) -> ToolResult:
    names = ("slug", "name", "version", "previous_version", "path", "snapshot", "bundle")
    data = pick_fields(written, *names)
    text = f"{verb} {written.slug}, version {written.version} (snapshot {written.snapshot[:12]})."
    if not written.changed:
        text = f"{written.slug} has this text already, at version {written.version}."
    return ToolResult("\n".join([text, *map(notice_line, written.notices)]), data, written.changed)


_ACTION_FUNCTIONS = {
    "create": _create_skill,
    "edit": _save_skill,
    "patch": _patch_file,
    "delete": _delete_skill,
    "write_file": _write_file,
    "remove_file": _remove_file,
}
