"""Which skills a tool call loads: by a tool for skills, or by reading a SKILL.md file.

Most agents read a skill with a shell or a file tool. A shell command counts if it only shows
files: it is split into words, never run, and anything unclear loads nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
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
_SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
_SHOWING_COMMANDS = frozenset(
    (
        *("cat", "sed", "head", "tail", "rg", "grep", "less", "more", "bat", "nl", "awk"),
        *("type", "Get-Content", "gc"),
    )
)
_FILTERS = _SHOWING_COMMANDS | {"wc", "sort", "tr", "cut"}
_SILENT_COMMANDS = frozenset(("cd", "pwd", "echo", "printf", "true", "set"))
_SEPARATORS = frozenset((";", "&&", "||", "|", "&"))
_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_SKILL_FILE = re.compile(r"(?:.*[/\\])?([^/\\]+)[/\\]SKILL\.md", re.DOTALL)
_UNCLEAR_CHARS = frozenset("*?[]{}$`~")
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
        slug = _slug_of_path(values.text(*_PATH_KEYS), "")
        return SkillLoads((SkillLoad(slug),), True) if slug else SkillLoads()
    return _loads_of_command(values.first(*_COMMAND_KEYS), values.text(*_FOLDER_KEYS))


def _named_skill(tool: str, values: JsonObject) -> SkillLoads:
    keys = _SKILL_TOOLS[tool]
    slug = next((values[key] for key in keys if isinstance(values.get(key), str)), "")
    if not slug or values.get("file_path"):
        return SkillLoads()
    version = values.get("version", "")
    version = str(version) if type(version) in (int, str) else ""
    slug, version = printable_text(slug, MAX_NAME_CHARS), printable_text(version, MAX_NAME_CHARS)
    return SkillLoads((SkillLoad(slug, version),), True)


def _slug_of_path(path: str, folder: str) -> str:
    """Return the slug of the skill whose SKILL.md is at a path, "" if there is none."""
    path = path if path.startswith("/") or not folder else f"{folder}/{path}"
    path = path.replace("/./", "/")
    found = _SKILL_FILE.fullmatch(path)
    if found is None or found[1] in (".", "..") or _UNCLEAR_CHARS & set(found[1]):
        return ""
    return printable_text(found[1], MAX_NAME_CHARS)


def _loads_of_command(command: object, folder: str) -> SkillLoads:
    words = _words_of_command(command)
    inner = _inner_command(words)
    if inner:
        words = _words_of_command(inner)
    loads: dict[str, SkillLoad] = {}
    is_all = True
    for separator, part in _split_commands(words):
        if part[0] == "cd" and len(part) == 2:
            folder = part[1] if part[1].startswith("/") or not folder else f"{folder}/{part[1]}"
        slugs = _shown_skills(part, folder)
        loads |= {slug: SkillLoad(slug) for slug in slugs}
        is_filter = separator == "|" and part[0] in _FILTERS
        is_all = is_all and bool(slugs or is_filter or part[0] in _SILENT_COMMANDS)
    return SkillLoads(tuple(loads.values()), is_all and bool(loads))


def _words_of_command(command: object) -> list[str]:
    """Return the words of a command, a text or a list; none for what is unclear."""
    if isinstance(command, list):
        return [word for word in command if isinstance(word, str)][:_MAX_COMMAND_CHARS]
    if not isinstance(command, str) or len(command) > _MAX_COMMAND_CHARS or "<<" in command:
        return []
    lexer = shlex.shlex(command.strip().replace("\n", " ; "), posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return []


def _inner_command(words: list[str]) -> str:
    """Return the command of `bash -lc COMMAND`, "" for any other."""
    is_shell = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS
    return words[2] if is_shell and re.fullmatch(r"-[a-z]*c", words[1]) else ""


def _split_commands(words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each command with the separator before it."""
    before, part = "", list[str]()
    for word in [*words, ";"]:
        if word in _SEPARATORS:
            if part:
                yield before, part
            before, part = word, []
        else:
            part.append(word)


def _shown_skills(part: list[str], folder: str) -> list[str]:
    """Return the slugs of the skills whose SKILL.md a command shows."""
    name, *arguments = part
    if name.rpartition("/")[2] not in _SHOWING_COMMANDS or _writes(name, arguments):
        return []
    return list(filter(None, (_slug_of_path(word, folder) for word in arguments)))


def _writes(name: str, arguments: list[str]) -> bool:
    """Tell whether a command writes a file, instead of showing it."""
    if name == "sed" and any(_IN_PLACE.match(word) for word in arguments):
        return True
    targets = (arguments[at + 1 : at + 2] for at, w in enumerate(arguments) if w.startswith(">"))
    return any(target not in (["/dev/null"], ["1"], ["2"]) for target in targets)
