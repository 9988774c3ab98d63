"""Read tasks as they lie in folders, without conversion.

| format | known by | scored by |
|---|---|---|
| Harbor, Terminal-Bench 2, own | `instruction.md` | `tests/test.sh` |
| SkillsBench | `task.md` | `verifier/test.sh` |
| `claude plugin eval` | `prompt.md` or `case.yaml` | `graders/*.md`, or those of `case.yaml` |
| Agent Skills | `evals/evals.json` | `assertions`, by a judge |

An own folder has `instruction.md`, `files/`, `tests/` and `solution/`, and needs neither
`task.toml` nor a Dockerfile. What a folder holds may be hostile: reads are bounded, and a link
out of a task, a wrong type or a missing file is an `InvalidInput`.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..errors import InvalidInput, error_from_os, printable_text
from ..skills.document_parts import split_document
from ..skills.frontmatter import load_front_matter
from ..skills.strict_yaml import load_yaml_data
from ..util.strict_json import parse_bounded
from .images import Image, Place, TaskFile, list_requirements, read_image
from .task import DEFAULT_SECONDS, MAX_SECONDS, Grader, Task, TaskLimits

MAX_TASK_FILES = 20_000
MAX_FILE_BYTES = 64 << 20
MAX_FILES_BYTES = 512 << 20
"""Of all files of one task together."""
MAX_TASKS = 1000
"""Tasks of one folder, and evals of one file."""
MAX_TEXT_BYTES = 1 << 20
MAX_INSTRUCTION_CHARS = 200_000
_MAX_EVALS_BYTES = 4 << 20
_MAX_DEPTH = 16
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_GRADER_KINDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "regex": {"pattern": str},
    "file_exists": {"path": str},
    "tool_used": {"tool": str},
    "tool_order": {"before": (str, dict), "after": (str, dict)},
}
"""Kind of a grader to the fields that it must have."""
_VARIABLE = re.compile(r"\$\{([A-Z_a-z0-9]+)(?::-([^}]*))?\}")


class BrokenTask(NamedTuple):
    """A task among others that cannot be read, and why."""

    name: str
    error: InvalidInput


class FoundTasks(NamedTuple):
    """The tasks of a folder, and those of it that cannot be read."""

    tasks: tuple[Task, ...]
    broken: tuple[BrokenTask, ...]


def read_tasks(folder: Path) -> FoundTasks:
    """Return the tasks of a folder: it is one, or holds some, itself or in `tasks/` or `evals/`.

    Raises `InvalidInput`: `no_tasks`, or why the one task that the folder is cannot be read.
    """
    if not folder.is_dir():
        raise _error(folder, "there is no such folder", "no_tasks")
    try:
        if _format(folder):
            return FoundTasks((_read_task(folder),), ())
        tasks: list[Task] = []
        broken: list[BrokenTask] = []
        for place in list(_places(folder)):
            try:
                tasks += (
                    _read_evals(place, folder) if place.suffix == ".json" else [_read_task(place)]
                )
            except InvalidInput as error:
                broken.append(BrokenTask(place.name, error))
    except OSError as error:
        raise _error(folder, error_from_os(error).message) from error
    if not tasks and not broken:
        raise InvalidInput(
            f"there are no tasks in {folder}",
            code="no_tasks",
            hint="name a folder with instruction.md, task.md, prompt.md, case.yaml or evals.json,"
            " or one that holds such folders",
        )
    if len(tasks) + len(broken) > MAX_TASKS:
        raise _error(folder, f"it has more than {MAX_TASKS} tasks", "too_many")
    return FoundTasks(tuple(tasks), tuple(broken))


def _format(folder: Path) -> str:
    names = ("instruction.md", "task.md", "prompt.md", "case.yaml")
    return next((name for name in names if (folder / name).is_file()), "")


def _places(folder: Path) -> Iterator[Path]:
    """Yield the folders of tasks in a folder, and its files of evals, sorted."""
    names = ("evals.json", "evals/evals.json")
    yield from (folder / name for name in names if (folder / name).is_file())
    for parent in (folder, folder / "tasks", folder / "evals"):
        if parent.is_dir():
            yield from sorted(one for one in parent.iterdir() if one.is_dir() and _format(one))


def _read_task(folder: Path) -> Task:
    format = _format(folder)
    if format == "instruction.md":
        settings = _load_toml(folder) if (folder / "task.toml").is_file() else {}
        return _read_container_task(folder, settings, "harbor", _text(folder, format))
    if format == "task.md":
        settings, body = _load_document(folder, folder / format)
        return _read_container_task(folder, settings, "skillsbench", body)
    return _read_claude_case(folder)


# Harbor, SkillsBench, own folders


def _read_container_task(
    folder: Path,
    settings: Mapping[str, Any],
    format: Literal["harbor", "skillsbench"],
    instruction: str,
) -> Task:
    is_harbor = format == "harbor"
    tests_name, solution_name = ("tests", "solution") if is_harbor else ("verifier", "oracle")
    tests, solution, context = (
        list_files(folder / name, folder) for name in (tests_name, solution_name, "environment")
    )
    if "test.sh" not in tests:
        raise _error(folder, f"the file {tests_name}/test.sh is missing", "missing_file")
    environment, verifier, oracle, agent = (
        _table(folder, settings, name) for name in ("environment", "verifier", "solution", "agent")
    )
    lacks = {
        "its services need Docker Compose": {"docker-compose.yaml", "docker-compose.yml"}
        & {*context},
        "it needs a GPU": _number(folder, environment, "gpus", 0) > 0,
        "it has several steps, each with a verifier of its own": settings.get("steps"),
        "it needs MCP servers": environment.get("mcp_servers"),
    }
    missing = [what for what, is_so in lacks.items() if is_so]
    category = _table(folder, settings, "metadata").get("category")
    mode = verifier.get("environment_mode", "separate")
    if mode not in ("shared", "separate"):
        raise _error(folder, "verifier.environment_mode is neither shared nor separate")
    image = _read_image(folder, context, environment, tests, solution)
    return Task(
        name=folder.resolve().name,
        format=format,
        instruction=_instruction(folder, instruction),
        source=str(folder),
        category=category if isinstance(category, str) else "",
        image=image,
        files=list_files(folder / "files", folder),
        tests=tests,
        solution=solution,
        limits=TaskLimits(
            solver_seconds=_seconds(folder, agent, "timeout_sec"),
            verifier_seconds=_seconds(folder, verifier, "timeout_sec"),
            memory_bytes=_bytes(folder, environment, "memory", 2 << 30),
            storage_bytes=min(2 << 30, max(256 << 20, _bytes(folder, environment, "storage"))),
        ),
        is_shared=mode == "shared",
        test_environment=_variables(folder, verifier, "verifier", missing),
        solution_environment=_variables(folder, oracle, "solution", missing),
        missing=(*missing, *image.missing),
        notes=image.notes,
    )


def _read_image(
    folder: Path,
    context: Mapping[str, TaskFile],
    environment: Mapping[str, Any],
    tests: Mapping[str, TaskFile],
    solution: Mapping[str, TaskFile],
) -> Image:
    found = (tests["test.sh"], solution.get("solve.sh"))
    scripts = [_text(folder, file.path) for file in found if file is not None]
    if "Dockerfile" not in context:
        base = environment.get("docker_image")
        wanted, packages, _ = list_requirements(scripts, ())
        return Image(
            requirements=wanted,
            packages=packages,
            steps=tuple(Place(f"/app/{name}", file) for name, file in context.items()),
            missing=(f"its image {base} can be had with Docker alone",) if base else (),
        )
    dockerfile = _text(folder, context["Dockerfile"].path)
    named = set(re.findall(r"-r\s+\S*?([A-Za-z0-9._-]+\.txt)", "\n".join([dockerfile, *scripts])))
    files = (*context.items(), *tests.items())
    lists = [_text(folder, file.path) for name, file in files if name.rpartition("/")[2] in named]
    return read_image(dockerfile, context, scripts, lists)


def _variables(
    folder: Path, table: Mapping[str, Any], name: str, missing: list[str]
) -> dict[str, str]:
    """Return the variables of a table; one of the host is never passed on, but named."""
    found = {}
    for key, value in _table(folder, table, "env").items():
        if not isinstance(value, str | int | float):
            raise _error(folder, f"{name}.env.{key} is not a text")
        for host, default in _VARIABLE.findall(str(value)):
            if not default and f":-{default}" not in str(value):
                missing.append(f"its {name} needs {host} of the host")
        found[key] = _VARIABLE.sub(lambda match: match[2] or "", str(value))
    return found


def _seconds(folder: Path, table: Mapping[str, Any], name: str) -> float:
    seconds = _number(folder, table, name, DEFAULT_SECONDS)
    if seconds <= 0:
        raise _error(folder, f"{name} is not above 0")
    return min(seconds, MAX_SECONDS)


def _bytes(folder: Path, table: Mapping[str, Any], name: str, default: int = 1 << 30) -> int:
    if f"{name}_mb" in table:
        return int(_number(folder, table, f"{name}_mb", 0)) << 20 or default
    if (value := table.get(name)) is None:
        return default
    found = _MEMORY.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise _error(folder, f"environment.{name} is not a size such as 2G")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " ")) or default


def _number(folder: Path, table: Mapping[str, Any], name: str, default: float) -> float:
    value = table.get(name, default)
    if isinstance(value, str):  # front matter keeps what is no integer as text
        try:
            value = float(value)
        except ValueError:
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise _error(folder, f"{name} is not a number")
    return value


def _table(folder: Path, settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = settings.get(name) or {}
    if not isinstance(value, dict):
        raise _error(folder, f"{name} is not a table")
    return value


# Agent Skills


def _read_evals(path: Path, folder: Path) -> list[Task]:
    try:
        document = parse_bounded(_read_bounded(path, folder, _MAX_EVALS_BYTES), _MAX_DEPTH)
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise _error(path, "it holds half a character", "not_text") from error
    except ValueError as error:
        raise _error(path, str(error)) from error
    evals = document.get("evals") if isinstance(document, dict) else None
    if not isinstance(evals, list):
        raise _error(path, "it has no list `evals`")
    if len(evals) > MAX_TASKS:
        raise _error(path, f"it has {len(evals)} evals, more than {MAX_TASKS}", "too_many")
    tasks = [_read_eval(path, folder, number, one) for number, one in enumerate(evals, 1)]
    names = [task.name for task in tasks]
    if len(set(names)) < len(names):
        raise _error(path, "two of its evals have one id")
    return tasks


def _read_eval(path: Path, folder: Path, number: int, fields: Any) -> Task:
    where = f"eval {number}"
    if not isinstance(fields, dict) or not isinstance(fields.get("prompt"), str):
        raise _error(path, f"{where} has no text `prompt`")
    id = fields.get("id", number)
    if not isinstance(id, str | int) or isinstance(id, bool) or not 0 < len(str(id)) <= 200:
        raise _error(path, f"the `id` of {where} is neither a number nor a text")
    criteria: list[str] = []
    for name in ("assertions", "expectations"):
        texts = fields.get(name) or []
        if not isinstance(texts, list) or not all(isinstance(one, str | dict) for one in texts):
            raise _error(path, f"`{name}` of {where} is not a list of texts")
        criteria += [str(one.get("text", "")) if isinstance(one, dict) else one for one in texts]
    expected = fields.get("expected_output", "")
    if not isinstance(expected, str):
        raise _error(path, f"`expected_output` of {where} is not a text")
    if not criteria and expected:
        criteria = [expected]
    if not criteria:
        raise _error(path, f"{where} says neither `expected_output` nor `assertions`")
    return Task(
        name=f"eval-{id}",
        format="evals",
        instruction=_instruction(path, fields["prompt"]),
        source=f"{path}#{id}",
        files=_eval_files(path, folder, where, fields.get("files") or []),
        expected=expected,
        graders=tuple(
            Grader(f"assertion-{index}", "judge", 1.0, {}, text)
            for index, text in enumerate(criteria, 1)
        ),
    )


def _eval_files(path: Path, folder: Path, where: str, names: Any) -> dict[str, TaskFile]:
    """Return the files of an eval by the path that it gives, and by their names.

    A path is relative to the skill or to evals/; prompts call a file by either.
    """
    found: dict[str, TaskFile] = {}
    for one in names if isinstance(names, list) else [names]:
        name = one.get("path") if isinstance(one, dict) else one
        if not isinstance(name, str) or not name or not isinstance(names, list):
            raise _error(path, f"`files` of {where} is not a list of paths")
        bases = (folder, folder / "evals", path.parent)
        place = next((base / name for base in bases if (base / name).is_file()), None)
        if place is None:
            raise _error(
                path, f"{where} names the file {printable_text(name)}", "missing_file", "add it"
            )
        _check_inside(place, folder)
        file = TaskFile(str(place.resolve()), place.stat().st_size, False)
        inner = posixpath.normpath(name)
        found[place.name if inner.startswith(("/", "..")) else inner] = file
        found.setdefault(place.name, file)
    return found


# claude plugin eval


def _read_claude_case(folder: Path) -> Task:
    settings: dict[str, Any] = {}
    if (folder / "case.yaml").is_file():
        settings = load_yaml_data(_text(folder, "case.yaml"))
    prompt = _table(folder, settings, "execution").get("prompt", settings.get("prompt", ""))
    if (folder / "prompt.md").is_file():
        more, prompt = _load_document(folder, folder / "prompt.md")
        settings = {**settings, **more}
    if not isinstance(prompt, str):
        raise _error(folder, "its prompt is not a text")
    listed = settings.get("graders") or []
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise _error(folder, "`graders` is not a list of graders")
    graders = [
        _read_grader(folder, str(one.get("name", f"grader-{number}")), one, "")
        for number, one in enumerate(listed, 1)
    ]
    for path in sorted((folder / "graders").glob("*.md")):
        graders.append(_read_grader(folder, path.stem, *_load_document(folder, path)))
    if not graders:
        raise _error(folder, "it has no grader", "missing_file")
    scaffold = settings.get("scaffold") or settings.get("setup")
    return Task(
        name=folder.resolve().name,
        format="claude-eval",
        instruction=_instruction(folder, prompt),
        source=str(folder),
        files=list_files(folder / "files", folder),
        graders=tuple(graders),
        limits=TaskLimits(solver_seconds=_seconds(folder, settings, "timeout_seconds")),
        missing=("its scaffold is a script for the host",) if scaffold else (),
    )


def _read_grader(folder: Path, name: str, settings: Mapping[str, Any], body: str) -> Grader:
    kind = settings.get("type", "llm")
    weight = _number(folder, settings, "weight", 1.0)
    if kind in ("llm", "baseline"):
        criteria = body.strip() or settings.get("criteria") or settings.get("rubric") or ""
        return Grader(name, "judge", weight, dict(settings), str(criteria))
    if kind not in _GRADER_KINDS:
        raise _error(folder, f"the type of its grader {printable_text(name)} is unknown")
    for field, wanted in _GRADER_KINDS[kind].items():
        if not isinstance(settings.get(field), wanted):
            raise _error(folder, f"its grader {printable_text(name)} has no `{field}`")
    return Grader(name, kind, weight, dict(settings))


# Texts


def _instruction(where: Path, text: str) -> str:
    if not text.strip() or len(text) > MAX_INSTRUCTION_CHARS:
        limit = MAX_INSTRUCTION_CHARS
        raise _error(where, f"its instruction is empty or has more than {limit} characters")
    return text


def _text(folder: Path, path: str | Path) -> str:
    data = _read_bounded(folder / path, folder, MAX_TEXT_BYTES)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _error(folder, f"{Path(path).name} is not UTF-8", "not_text") from error


def _load_toml(folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(folder, "task.toml"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _error(folder, f"task.toml is not TOML: {printable_text(error)}") from error


def _load_document(folder: Path, path: Path) -> tuple[dict[str, Any], str]:
    """Return front matter, {} without one, and body of a text file."""
    data = _text(folder, path).encode()
    document = split_document(data)
    try:
        settings = load_front_matter(data) if document.opening else {}
    except InvalidInput as error:
        raise _error(folder, f"{path.name}: {error.message}", error.code, error.hint) from error
    return settings, document.body.decode()


# Files


def _error(where: object, problem: str, code: str = "bad_task", hint: str = "") -> InvalidInput:
    return InvalidInput(
        f"the task {where} cannot be read: {problem}",
        code=code,
        hint=hint or "docs/guides/learning.md shows the formats",
    )


def list_files(folder: Path, root: Path) -> dict[str, TaskFile]:
    """Return the files below a folder of the task `root` by their relative paths, sorted.

    A link counts as the file that it leads to. Contents are read when they are used. Raises
    `InvalidInput`: `link_outside` for a link out of the task, `bad_task` for a device or too many
    or too large files; `OSError`.
    """
    found: dict[str, TaskFile] = {}
    total, left = 0, [folder] if folder.is_dir() else []
    if left:
        _check_inside(folder, root)
    while left:
        with os.scandir(left.pop()) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            path = Path(entry.path)
            if entry.is_symlink():
                _check_inside(path, root)
            if entry.is_dir(follow_symlinks=False):
                left.append(path)
                continue
            status = entry.stat()
            if entry.is_symlink() and stat.S_ISDIR(status.st_mode):
                raise _error(root, f"{_shown(path, root)} is a link to a folder", "bad_link")
            if not stat.S_ISREG(status.st_mode):
                raise _error(root, f"{_shown(path, root)} is a device or a pipe")
            total += status.st_size
            if status.st_size > MAX_FILE_BYTES or total > MAX_FILES_BYTES:
                raise _error(root, f"{_shown(path, root)} makes it too large", "too_large")
            if len(found) == MAX_TASK_FILES:
                raise _error(root, f"it has more than {MAX_TASK_FILES} files", "too_many")
            is_program = bool(status.st_mode & stat.S_IXUSR)
            name = str(path.relative_to(folder))
            found[name] = TaskFile(os.path.realpath(path), status.st_size, is_program)
    return dict(sorted(found.items()))


def _read_bounded(path: Path, root: Path, max_bytes: int) -> bytes:
    _check_inside(path, root)
    if not path.is_file():
        raise _error(root, f"the file {_shown(path, root)} is missing", "missing_file")
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise _error(root, f"{_shown(path, root)} has more than {max_bytes} bytes", "too_large")
    return data


def _check_inside(path: Path, root: Path) -> None:
    real, inside = os.path.realpath(path), os.path.realpath(root)
    if real != inside and not real.startswith(inside.rstrip("/") + "/"):
        problem = f"{_shown(path, root)} leads out of it"
        hint = "copy the file into the folder of the task"
        raise _error(root, problem, "link_outside", hint)


def _shown(path: Path, root: Path) -> str:
    try:
        return printable_text(path.relative_to(root))
    except ValueError:
        return printable_text(path.name)
