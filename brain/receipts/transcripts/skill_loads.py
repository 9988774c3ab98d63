"""Which skills a tool call loads: by a tool for skills, or by reading a SKILL.md file.

Most agents read a skill with a shell or a file tool. A shell command counts if it shows files,
names a SKILL.md and writes nothing. It is searched, not parsed as a shell would.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...errors import printable_text
from .lenient_json import JsonObject, parse_record

MAX_NAME_CHARS = 200
"""The most characters of a name that are recorded."""
_SKILL_TOOLS = {
    "Skill": ("skill", "command"),
    "skill": ("name", "skill"),
    "skill_view": ("name",),
    "activate_skill": ("name",),
}
"""Tools that load a skill, with the arguments that may name it."""
_READ_TOOLS = frozenset(
    ("Read", "read", "read_file", "ReadFile", "view", "view_file", "read_text_file")
)
_PATH_KEYS = ("file_path", "filePath", "path", "absolute_path", "target_file")
_SHELL_TOOLS = frozenset(
    (
        *("Bash", "bash", "shell", "local_shell", "exec", "exec_command", "shell_command"),
        *("terminal", "run_shell_command", "execute_command", "run_terminal_cmd", "run_command"),
        *("container.exec", "PowerShell", "powershell"),
    )
)
_COMMAND_KEYS = ("command", "cmd")
_FOLDER_KEYS = ("workdir", "cwd", "dir_path", "directory")
_SHOWS = re.compile(
    r"(?<![\w.-])(?:cat|sed|head|tail|rg|grep|less|more|bat|nl|awk|type|Get-Content|gc)\s"
)
_WRITES = re.compile(
    r">(?!\s*/dev/null|&\d)|<<|\btee\s|\bsed\s+(?:-\w+\s+){0,9}(?:-[a-zA-Z]*i|--in-place)"
)
_ONE_COMMAND = re.compile(r"(?:cd\s[^;&|\n]*(?:&&|;))?(?:[^;&|\n]|>&|\|(?!\|))*")
"""One that shows, perhaps after a `cd` and into filters."""
_CD = re.compile(r"cd\s+([^\s;&|]+)\s*(?:&&|;)")
_HERE = re.compile(r"(?<=\s)(?:\./)?(?=SKILL\.md)")
_SKILL_FILE = re.compile(
    r"""(?:^|[\s'"=/\\])([^\s'"=/\\*?\[\]{}$`~;&|<>]+)[/\\]SKILL\.md(?![\w.-])"""
)
_MAX_COMMAND_CHARS = 10_000


class SkillLoad(NamedTuple):
    """A skill that a tool call loads; `version` is "" if the call names none."""

    slug: str
    version: str = ""


class SkillLoads(NamedTuple):
    """The skills that a tool call loads; `is_all` is True if the call does nothing else."""

    loads: tuple[SkillLoad, ...] = ()
    is_all: bool = False


def find_skill_loads(tool: str, arguments: str) -> SkillLoads:
    """Return the skills that a tool call with the arguments (JSON text) loads."""
    tool = tool.rpartition("__")[2]
    if tool not in _SKILL_TOOLS and tool not in _READ_TOOLS and tool not in _SHELL_TOOLS:
        return SkillLoads()
    values = JsonObject.of(parse_record(arguments.encode(errors="replace")))
    if tool in _SKILL_TOOLS:
        return _named_skill(tool, values)
    if tool in _READ_TOOLS:
        *_, folder, name = ["", "", *re.split(r"[/\\]", values.text(*_PATH_KEYS))]
        return _load_all([folder] if name == "SKILL.md" else [], is_all=True)
    command = values.first(*_COMMAND_KEYS)
    if isinstance(command, list):
        command = " ".join(word for word in command if isinstance(word, str))
    if not isinstance(command, str) or len(command) > _MAX_COMMAND_CHARS:
        return SkillLoads()
    command = command.strip()
    if not _SHOWS.search(command) or _WRITES.search(command):
        return SkillLoads()
    is_all = _ONE_COMMAND.fullmatch(command) is not None
    moved = _CD.match(command)
    folder = moved[1] if moved else values.text(*_FOLDER_KEYS)
    if folder:
        command = _HERE.sub(lambda _: f"{folder}/", command)
    return _load_all(_SKILL_FILE.findall(command), is_all)


def _named_skill(tool: str, values: JsonObject) -> SkillLoads:
    keys = _SKILL_TOOLS[tool]
    slug = next((values[key] for key in keys if isinstance(values.get(key), str)), "")
    if not slug or values.get("file_path"):
        return SkillLoads()
    version = values.get("version", "")
    version = str(version) if type(version) in (int, str) else ""
    slug, version = printable_text(slug, MAX_NAME_CHARS), printable_text(version, MAX_NAME_CHARS)
    return SkillLoads((SkillLoad(slug, version),), True)


def _load_all(slugs: list[str], is_all: bool) -> SkillLoads:
    named = [slug for slug in dict.fromkeys(slugs) if slug not in ("", ".", "..")]
    loads = tuple(SkillLoad(printable_text(slug, MAX_NAME_CHARS)) for slug in named)
    return SkillLoads(loads, is_all and bool(loads))
