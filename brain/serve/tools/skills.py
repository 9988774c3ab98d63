"""The tools skills_list, skill_view and skill_manage."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from ... import limits
from ...errors import NotFound, ToolFailure, printable_text
from ...gating.case_paths import is_in_cases
from ...ops.skills import missing_file_error
from ...skills import index_lines
from ...skills.skill_layout import category_from_path, digest_address, slug_of_digest_address
from ...skills.slug import is_slug
from ...skills.visible_text import ELLIPSIS, clean_text, truncate
from ...util.text import suggest_names
from .checks import NewSecretCheck, refuse_to_remove_cases
from .definitions import SKILL_ACTIONS, SKILL_FOLDERS, ToolResult, notice_line, pick_fields

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...results import Selected, Similar, Skill, SkillFile, Upserted


MAX_LIST_CHARS = 20_000
"""Characters of one list of skills; the rest follows on further pages."""
MIN_DESCRIPTION_CHARS = 160
"""Characters that a description keeps if a list does not fit on one page."""
MAX_TASK_SKILLS = 20
"""Skills listed for a task."""
_TASK_CANDIDATES = 200
"""Skills ranked for a task, of any category, before those of one category are picked."""
_MAX_CATEGORIES = 200
_NOTE_CHARS = 1200
"""Characters kept for the last line, which says how to go on."""
_MAX_CATEGORIES_CHARS = 800


def skills_list(brain: Brain, arguments: dict[str, Any]) -> ToolResult:
    """List skills: all, those of a category, or the best for a task."""
    category = arguments.get("category", "").strip("/ ").lower()
    cursor = arguments.get("cursor", "")
    if arguments.get("task"):
        return _list_for_task(brain, arguments["task"], category)
    every = [skill for skill in brain.skills.list() if not skill.user_only]
    matching = [skill for skill in every if _is_in_category(skill, category)]
    if category and not matching:
        raise ToolFailure(
            f"There is no category '{category}'.",
            code="no_category",
            hint=f"Categories: {_category_names(every)}.",
        )
    first = find_position(matching, cursor) if cursor else 0
    page = _fit_to_page(matching[first:])
    last = first + len(page)
    if last == len(matching):
        return _list_result(page, len(matching), "" if page else index_lines.NO_SKILLS)
    cursor = digest_address(page[-1].slug, page[-1].path)
    note = (
        f"(Skills {first + 1} to {last} of {len(matching)}. Say what your task is to find those"
        f' you need, or go on with cursor "{cursor}".'
    )
    if not category and (names := _category_names(every)) != "none":
        note += f" Categories: {truncate(names, _MAX_CATEGORIES_CHARS)}."
    return _list_result(page, len(matching), f"{note})", cursor)


def find_position(skills: Sequence[Skill], cursor: str) -> int:
    """Return the number of skills up to the one of a cursor, which is its digest address.

    `skills` are sorted by slug. If the skill is gone, all of its slug are counted out, so
    that none is left out. Raises `ToolFailure` (`bad_cursor`).
    """
    slug = slug_of_digest_address(cursor)
    if not slug:
        raise ToolFailure(
            "That is not a cursor of a list.", code="bad_cursor", hint="Begin without one."
        )
    start = bisect_left(skills, slug, key=lambda skill: skill.slug)
    for number, skill in enumerate(skills[start:], start):
        if skill.slug != slug:
            break
        if digest_address(slug, skill.path) == cursor:
            return number + 1
    return start


def _fit_to_page(skills: Sequence[Skill]) -> list[Skill]:
    """Return the first skills whose lines fit on a page, with descriptions cut alike."""
    most = MAX_LIST_CHARS - _NOTE_CHARS
    heads = sum(len(skill_line(skill._replace(description=""))) + 1 for skill in skills)
    share = max((most - heads) // max(len(skills), 1), MIN_DESCRIPTION_CHARS)
    page: list[Skill] = []
    for skill in skills:
        shown = skill._replace(description=_truncate_description(skill.description, share))
        most -= len(skill_line(shown)) + 1
        if most < 0 and page:
            break
        page.append(shown)
    return page


def _list_for_task(brain: Brain, task: str, category: str) -> ToolResult:
    """List the skills that fit a task, the best first."""
    ranking = brain.skills.rank(task, _TASK_CANDIDATES if category else MAX_TASK_SKILLS)
    skills = [skill for skill in ranking.skills if _is_in_category(skill, category)]
    share = MAX_LIST_CHARS // MAX_TASK_SKILLS // 2
    shown = [
        skill._replace(description=_truncate_description(skill.description, share))
        for skill in skills[:MAX_TASK_SKILLS]
    ]
    notes = []
    if not shown:
        has_skills = brain.prompt.build_index().skills
        notes.append(index_lines.NO_MATCH if has_skills else index_lines.NO_SKILLS)
    if ranking.fallback:
        notes.append("(Found by their words alone: the embedder fails.)")
    return _list_result(shown, len(shown), "\n".join(notes))


def _list_result(
    shown: Sequence[Skill | Selected], count: int, note: str, cursor: str = ""
) -> ToolResult:
    names = ("slug", "name", "description", "address")
    skills = [
        {**pick_fields(skill, *names), "category": category_from_path(skill.path)}
        for skill in shown
    ]
    lines = [skill_line(skill) for skill in shown] + ([note] if note else [])
    return ToolResult("\n".join(lines), {"count": count, "skills": skills, "cursor": cursor}, False)


def skill_line(skill: Skill | Selected | Similar) -> str:
    """Return the line of a skill in a list."""
    name = index_lines.differing_name(skill.slug, skill.name)
    return index_lines.format_line(skill.address, name, skill.description)


def _truncate_description(description: str, max_chars: int) -> str:
    """Return a description cut after a word."""
    if len(description) <= max_chars:
        return description
    words = description[: max_chars + 1].rpartition(" ")[0].rstrip()
    return (words or description[:max_chars]) + ELLIPSIS


def _is_in_category(skill: Skill | Selected, category: str) -> bool:
    """Tell whether a skill is in a category, given in lower case, or below it; "" matches all."""
    return not category or f"{category_from_path(skill.path)}/".lower().startswith(f"{category}/")


def _category_names(skills: list[Skill]) -> str:
    names = sorted({category_from_path(skill.path) for skill in skills} - {""})
    return ", ".join(map(printable_text, names[:_MAX_CATEGORIES])) or "none"


MAX_FILE_CHARS = 200_000
"""Characters of a result, with the file and the names of other files."""
MAX_NAMED_FILES = 200
"""Files of a skill listed by name."""
_CUT_NOTE_CHARS = 60
"""Characters reserved for the note that a file was cut."""


def skill_view(brain: Brain, arguments: dict[str, Any]) -> ToolResult:
    """Read a skill, or one of its files, now or at an earlier version."""
    name, version = arguments["name"], arguments.get("version", "")
    skill_file = read_shown_file(
        brain, f"{name}@{version}" if version != "" else name, file_argument(arguments)
    )
    files = _file_list(skill_file.files) if not skill_file.file else ""
    shown = text_for_model(skill_file.content, MAX_FILE_CHARS - len(files))
    names = ("slug", "name", "description", "version", "path", "snapshot", "file")
    data = {**pick_fields(skill_file, *names), "content": shown, "files": skill_file.files}
    return ToolResult(shown + files, data, False)


def read_shown_file(brain: Brain, skill: str, inner: str) -> SkillFile:
    """Return a file of a skill, as if its held-out cases did not exist.

    Raises as `brain.skills.read_file`.
    """
    text = brain.skills.read_file(skill)
    has_cases = any(map(is_in_cases, text.files))
    hidden = brain.gate.find_hidden_files(skill) if has_cases else set()
    shown = [file for file in text.files if file not in hidden]
    if not inner:
        return text._replace(files=shown)
    try:
        if inner in hidden:
            raise missing_file_error(text.slug, inner, shown)
        return brain.skills.read_file(skill, inner)._replace(files=shown)
    except NotFound as error:
        if error.code != "no_file":
            raise
        raise missing_file_error(text.slug, inner, shown) from error


def file_argument(arguments: dict[str, Any]) -> str:
    """Return the requested file of a skill, "" for SKILL.md."""
    path: str = arguments.get("file_path", "")
    return "" if path == "SKILL.md" else path


def text_for_model(content: bytes, max_chars: int = MAX_FILE_CHARS) -> str:
    """Return a file as text for a model: without invisible characters, and cut if too long."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return f"(not a text: {len(content)} bytes)"
    text = clean_text(text)
    if len(text) <= max_chars:
        return text
    shown_chars = max_chars - _CUT_NOTE_CHARS
    return f"{text[:shown_chars]}\n(cut: {shown_chars} of {len(text)} characters)"


def _file_list(files: Sequence[str]) -> str:
    """Return the line that names the files of a skill, at most `MAX_NAMED_FILES`."""
    if not files:
        return ""
    names = ", ".join(map(printable_text, files[:MAX_NAMED_FILES]))
    more = f" ({MAX_NAMED_FILES} of {len(files)} files)" if len(files) > MAX_NAMED_FILES else ""
    return f"\n\nFiles, to be read with file_path: {names}{more}"


_SUGGESTED_LINES = 3
_MAX_COMPARED_LINES = 5000
"""Lines compared with a string that was not found."""


def replace_in_text(content: bytes, old: str, new: str, replace_all: bool, name: str) -> bytes:
    """Return `content` with `old` replaced by `new`, once or everywhere.

    `old` with LF line ends also matches a text with CRLF. Raises `ToolFailure` (`not_text`,
    `no_match`, `ambiguous`, `too_large`).
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ToolFailure(
            f"{name} is not a text.", code="not_text", hint="Write it anew with write_file."
        ) from error
    if old not in text and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    count = text.count(old)
    if count == 0:
        raise _no_match_failure(text, old, name)
    if count > 1 and not replace_all:
        raise ToolFailure(
            f"old_string occurs {count} times in {name}, on the lines {_line_numbers(text, old)}.",
            code="ambiguous",
            hint="Give more of the text around it, so that it occurs once, or set replace_all.",
        )
    if len(content) + count * (len(new.encode()) - len(old.encode())) > limits.MAX_EDIT_BYTES:
        raise ToolFailure(
            f"{name} would become larger than {limits.MAX_EDIT_BYTES} bytes.",
            code="too_large",
            hint="Replace fewer occurrences, or by less.",
        )
    return text.replace(old, new).encode()


def _line_numbers(text: str, old: str) -> str:
    places: list[str] = []
    at = text.find(old)
    while at >= 0 and len(places) < 10:
        places.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + len(old))
    return ", ".join(places)


def _no_match_failure(text: str, old: str, name: str) -> ToolFailure:
    longest_line = max(old.splitlines() or [""], key=len).strip()
    lines = {line.strip(): number for number, line in reversed([*enumerate(text.splitlines(), 1)])}
    lines.pop("", None)
    nearest = suggest_names(longest_line, islice(lines, _MAX_COMPARED_LINES), _SUGGESTED_LINES, 0.5)
    nearest_text = "\n".join(f"{lines[line]}: {printable_text(line)}" for line in nearest)
    return ToolFailure(
        f"old_string is not in {name}.",
        code="no_match",
        hint=f"The nearest lines are:\n{nearest_text}"
        if nearest
        else "Read it again with skill_view.",
    )


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
        {**pick_fields(skill, "slug", "address", "description"), "likeness": skill.score}
        for skill in similar
    ]
    text = "\n".join([result.text, advice, *lines])
    return result._replace(text=text, data={**result.data, "similar": similar_data})


def _patch_file(brain: Brain, arguments: Arguments) -> ToolResult:
    old: str | None = arguments.get("old_string")
    new: str | None = arguments.get("new_string")
    if not old or new is None:
        raise _missing_argument("new_string" if old else "old_string")
    inner, everywhere = file_argument(arguments), arguments.get("replace_all", False)
    shown = printable_text("/".join(filter(None, (arguments["name"], inner))))

    def change(content: bytes) -> bytes:
        return replace_in_text(content, old, new, everywhere, shown)

    return _edit_file(brain, arguments, change, f"Patch {inner or 'the text'}", "Patched")


def _write_file(brain: Brain, arguments: Arguments) -> ToolResult:
    inner, text = file_argument(arguments), arguments.get("file_content")
    if not inner or text is None:
        raise _missing_argument("file_content" if inner else "file_path")
    new, verb = text.encode(), f"Wrote {printable_text(inner)} of"
    return _edit_file(brain, arguments, lambda _: new, f"Write {inner}", verb, new)


def _remove_file(brain: Brain, arguments: Arguments) -> ToolResult:
    inner = file_argument(arguments)
    if not inner:
        raise _missing_argument("file_path")
    verb = f"Removed {printable_text(inner)} of"
    return _edit_file(brain, arguments, lambda _: None, f"Remove {inner}", verb)


def _edit_file(
    brain: Brain,
    arguments: Arguments,
    change: Callable[[bytes], bytes | None],
    message: str,
    verb: str,
    new: bytes | None = None,
) -> ToolResult:
    """Change a file of a skill; `new` is what one becomes that does not exist."""
    name, inner = arguments["name"], file_argument(arguments)
    if is_in_cases(inner):  # an agent does not change what its skills are tried on
        raise ToolFailure(
            f"{inner} is not written: a skill is tried on its cases.",
            code="bad_path",
            hint="Put it elsewhere in the folder of the skill, or ask the user to add a case.",
        )

    def change_or_make(before: bytes | None) -> bytes | None:
        if before is not None:
            return change(before)
        if new is None:
            raise _FileMissing("no such file")
        if inner.partition("/")[0] not in SKILL_FOLDERS:
            raise ToolFailure(
                f"A new file cannot go to {inner}.",
                code="bad_path",
                hint=f"Put it below {', '.join(folder + '/' for folder in SKILL_FOLDERS)}.",
            )
        return new

    check = NewSecretCheck(brain)
    try:
        edited = brain.skills.edit(name, check.guard(change_or_make), file=inner, message=message)
    except _FileMissing:
        read_shown_file(brain, name, inner)  # raises an error that lists the existing files
        raise
    doubts = check.doubts if inner else ()  # the notices cover the text of the skill
    return _write_result(edited._replace(notices=[*edited.notices, *doubts]), verb)


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


_ACTION_FUNCTIONS: dict[str, Callable[[Brain, Arguments], ToolResult]] = {
    "create": partial(_save_skill, if_changed=True),  # the same text is no new version
    "edit": _save_skill,
    "patch": _patch_file,
    "delete": _delete_skill,
    "write_file": _write_file,
    "remove_file": _remove_file,
}
