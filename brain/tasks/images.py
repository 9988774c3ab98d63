"""Read a Dockerfile without Docker: what is copied, what runs, which Python and which wheels.

Nothing of it runs here. `FROM python:X`, ubuntu and debian become a Python of this machine; COPY
and ADD of files, ENV, ARG, WORKDIR and heredocs are read; each RUN is kept as a step for the
sandbox. What cannot be had so is named in `Image.missing`.
"""

from __future__ import annotations

import fnmatch
import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MAX_INSTRUCTIONS = 2000
_DISTRIBUTIONS = {
    "3.8": "ubuntu:20.04",
    "3.9": "debian:11 debian:bullseye",
    "3.10": "ubuntu:22.04",
    "3.11": "debian:12 debian:bookworm",
    "3.12": "ubuntu:24.04 ubuntu",
    "3.13": "debian:13 debian:trixie debian",
}
"""Python to the distributions that have it."""
_HUGE = frozenset(
    "torch torchvision torchaudio tensorflow jax jaxlib vllm transformers sentence-transformers"
    " mteb openai-whisper nvidia-cudnn-cu12".split()
)
_OWN_INSTALLERS = frozenset("pip uv wheel python pytest)".split())
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9,._-]+\])?"
    r"(?:\s*(?:[=<>!~]=?=?)\s*[A-Za-z0-9.*+!_-]+(?:\s*,\s*[=<>!~]=?\s*[A-Za-z0-9.*+!_-]+)*)?"
)
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_PIP = re.compile(r"(?:\bpip[0-9.]*|\buv(?: pip)?|-m pip)\s+(?:install|add)\s+([^&|;\n]*)")
_WITH = re.compile(r"(?:--with|-w|--from)[ =]+[\"']?([A-Za-z0-9][^\s\"']*)")
_APT = re.compile(r"\bapt(?:-get)?\s+(?:-\S+\s+)*install\s+([^&|;\n]*)")
_VALUED = frozenset(
    "-i --index-url --extra-index-url -t --target -f --find-links --python -p --prefix -c"
    " --constraint --root --timeout --retries".split()
)
_HEREDOC = re.compile(r"<<-?\s*([\"']?)([A-Za-z_][A-Za-z0-9_]*)\1")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::([-+])([^}]*))?\}|([A-Za-z_]\w*))")


class TaskFile(NamedTuple):
    """A file of a task: where it lies on this machine, its bytes, and whether it can be run."""

    path: str
    size: int
    is_program: bool


class Place(NamedTuple):
    """A file to put at an absolute path of the image: one of the task, or a text of it."""

    target: str
    file: TaskFile | None
    text: str = ""


class Run(NamedTuple):
    """A command of the image, with the folder and the environment that it runs in."""

    shell: tuple[str, ...]
    command: str
    folder: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What a Dockerfile asks for; `python` is a version such as 3.12, "" if any will do.

    `is_python_exact` says that another version will not do. `requirements` are those of pip, and
    `packages` those of apt, in the Dockerfile and in the scripts beside it.
    """

    base: str = ""
    python: str = ""
    is_python_exact: bool = False
    folder: str = "/app"
    environment: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Place | Run, ...] = ()
    requirements: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


EMPTY_IMAGE = Image()
_Stage = tuple[str, str, list[Place | Run], dict[str, str]]
"""A base image, the folder, the steps and the environment after them."""


def read_image(
    dockerfile: str, context: Mapping[str, TaskFile], scripts: Sequence[str], lists: Sequence[str]
) -> Image:
    """Return the image of a Dockerfile, whose COPY takes files of `context`.

    `scripts` are the texts of the verifier and the oracle, and `lists` those of requirements
    files, whose packages are wanted too. Never raises: what is not understood is in `missing`.
    """
    reader = _Reader(context)
    instructions = list(_instructions(dockerfile))
    for name, value, texts in instructions[:_MAX_INSTRUCTIONS]:
        reader.read(name, value, texts)
    if len(instructions) > _MAX_INSTRUCTIONS:
        reader.missing.append(f"its Dockerfile has more than {_MAX_INSTRUCTIONS} instructions")
    runs = [" ".join((value, *texts)) for name, value, texts in instructions if name == "RUN"]
    wanted, packages, unread = list_requirements([*runs, *scripts], lists)
    if huge := sorted(_HUGE & {_package_name(one) for one in wanted}):
        reader.missing.append(f"the wheels of {', '.join(huge)} take gigabytes")
    reader.notes += [f"not installed, as no wheel is named: {one}" for one in unread]
    python, is_exact = reader.python
    return Image(
        base=reader.base,
        python=python,
        is_python_exact=is_exact,
        folder=reader.folder,
        environment=reader.environment,
        steps=tuple(reader.steps),
        requirements=wanted,
        packages=packages,
        missing=tuple(dict.fromkeys(reader.missing)),
        notes=tuple(dict.fromkeys(reader.notes)),
    )


class _Reader:
    """The state of an image after some of its instructions; a new stage begins anew."""

    def __init__(self, context: Mapping[str, TaskFile]) -> None:
        self._context = context
        self._stages: dict[str, _Stage] = {}
        self._arguments: dict[str, str] = {}
        self._shell: tuple[str, ...] = ("/bin/sh", "-c")
        self._stage = ""
        self.base, self.folder = "", "/"
        self.environment: dict[str, str] = {}
        self.steps: list[Place | Run] = []
        self.missing: list[str] = []
        self.notes: list[str] = []
        self.python = ("", False)

    def read(self, name: str, value: str, texts: list[str]) -> None:
        match name:
            case "FROM":
                self._begin(self._expand(value).split())
            case "WORKDIR":
                self.folder = self._place(self._expand(value.strip("\"'")))
                self.steps.append(Place(f"{self.folder}/", None))
            case "ENV" | "ARG":
                self._set(value, self.environment if name == "ENV" else self._arguments)
            case "COPY" | "ADD":
                self._copy(name, value, texts)
            case "RUN":
                command = re.sub(r"--(mount|network|security)=\S+\s*", "", value)
                if command.startswith("<<") and len(command.split()) == 1:
                    command = texts[0] if texts else ""
                else:
                    for text, tag in zip(texts, _heredocs(value), strict=False):
                        command += f"\n{text}\n{tag}"
                known = {**self._arguments, **self.environment}
                self.steps.append(Run(self._shell, command, self.folder, known))
            case "SHELL":
                self._shell = tuple(_words(value)) or self._shell
            case "USER":
                self.notes.append(f"USER {value} is not followed: there is one user")
            case "CMD" | "ENTRYPOINT" if not re.search(r"bash|/sh|sleep|python3?\W*$|tail", value):
                self.notes.append(f"{name} {value[:80]} is not started")

    def _begin(self, words: list[str]) -> None:
        if self.base:
            name = self._stage or str(len(self._stages))
            self._stages[name] = (self.base, self.folder, self.steps, self.environment)
        words = [word for word in words if not word.startswith("--")] or ["scratch"]
        self._stage = words[2] if len(words) > 2 and words[1].lower() == "as" else ""
        self.missing = [one for one in self.missing if not one.startswith("its base image")]
        new: _Stage = words[0], "/", [], {"PATH": PATH}
        self.base, self.folder, steps, environment = self._stages.get(words[0], new)
        self.steps, self.environment = list(steps), dict(environment)
        if words[0] in self._stages:
            return
        name = self.base.removeprefix("docker.io/").removeprefix("library/").partition("@")[0]
        if found := re.match(r"python:(\d\.\d+)", name):
            self.python = (found[1], True)
            return
        release = re.sub(r"(-slim|-backports|\.\d+-slim|\.0)+$", "", name.replace(".0-slim", ""))
        pythons = (one for one, names in _DISTRIBUTIONS.items() if release in names.split())
        if release in ("python", "python:3", "python:latest"):
            self.python = ("", False)
        elif release.partition(":")[0] in ("ubuntu", "debian"):
            self.python = (next(pythons, "3.12"), False)
        else:
            self.missing.append(f"its base image {self.base[:80]} can be had with Docker alone")

    def _copy(self, name: str, value: str, texts: list[str]) -> None:
        what = f"its {name} {value[:80]}"
        try:
            words = [self._expand(word) for word in _words(value)]
        except ValueError:
            self.missing.append(f"{what} cannot be read")
            return
        images = [word for word in words if word.startswith("--from")]
        words = [word for word in words if not word.startswith("--")]
        if any(one.startswith("--from=ghcr.io/astral-sh/uv") for one in images):
            return  # uv has a stand-in
        if images or len(words) < 2:
            self.missing.append(
                f"{what} {'takes files of another image' if images else 'has no target'}"
            )
            return
        target = self._place(words[-1])
        is_folder = words[-1].endswith(("/", "/.")) or words[-1] == "." or len(words) > 2
        if texts:
            for text, tag in zip(texts, _heredocs(value), strict=False):
                inner = f"{target}/{tag}" if is_folder else target
                self.steps.append(Place(inner, None, f"{text}\n"))
            return
        for source in words[:-1]:
            if "://" in source:
                self.missing.append(f"its {name} {source[:80]} needs a network")
                continue
            found = list(self._find(source, target, is_folder))
            self.steps += found
            if not found:
                self.missing.append(f"its {name} {source[:80]} is not in environment/")
            if name == "ADD" and source.endswith((".tar", ".tar.gz", ".tgz", ".tar.xz")):
                unpack = f"tar -xf {shlex.quote(found[0].target)} -C {shlex.quote(target)}"
                self.steps.append(Run(("/bin/sh", "-c"), unpack, "/", {}))

    def _find(self, source: str, target: str, is_folder: bool) -> Iterator[Place]:
        source = posixpath.normpath(source.lstrip("/") or ".")
        if file := self._context.get(source):
            is_folder = is_folder or any(
                isinstance(step, Place) and step.target == f"{target}/" for step in self.steps
            )
            yield Place(f"{target}/{source.rpartition('/')[2]}" if is_folder else target, file)
            return
        depth = 0 if source == "." else source.count("/") + 1
        for path, file in self._context.items():
            folder = "/".join(path.split("/")[:depth])
            if folder in ("", source) or fnmatch.fnmatchcase(folder, source):
                inner = path[len(folder) :].lstrip("/") or posixpath.basename(path)
                yield Place(posixpath.join(target, inner), file)

    def _set(self, value: str, into: dict[str, str]) -> None:
        name, equals, _ = value.partition("=")
        if into is self.environment and (not equals or " " in name.strip()):
            name, _, rest = value.partition(" ")
            into[name] = self._expand(rest.strip())
            return
        try:
            words = shlex.split(value)
        except ValueError:
            words = [value]
        for name, equals, rest in (word.partition("=") for word in words):
            if equals or name not in into:
                into[name] = self._expand(rest)

    def _expand(self, text: str) -> str:
        known = {**self._arguments, **self.environment}

        def value(found: re.Match[str]) -> str:
            is_set, sign, other = known.get(found[1] or found[4]), found[2], found[3] or ""
            if sign == "+":
                return other if is_set else ""
            return is_set or (other if sign == "-" else "")

        return _VARIABLE.sub(value, text)

    def _place(self, path: str) -> str:
        return posixpath.normpath(posixpath.join("/", self.folder, path))


def _instructions(dockerfile: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield name, value and heredocs of each instruction; lines that go on are joined."""
    lines = iter(dockerfile.replace("\r\n", "\n").split("\n"))
    whole = ""
    for line in lines:
        if line.lstrip().startswith("#") or (not whole and not line.strip()):
            continue
        if line.rstrip().endswith("\\"):
            whole += line.rstrip()[:-1] + " "
            continue
        name, _, value = (whole + line).strip().partition(" ")
        name, whole, texts = name.upper(), "", []
        for tag in _heredocs(value) if name in ("RUN", "COPY", "ADD") else ():
            text: list[str] = []
            for inner in lines:
                if inner.strip() == tag:
                    break
                text.append(inner)
            texts.append("\n".join(text))
        yield name, value.strip(), texts


def _heredocs(value: str) -> list[str]:
    return [found[2] for found in _HEREDOC.finditer(value)]


def _words(value: str) -> list[str]:
    if value.startswith("["):
        try:
            words = json.loads(value)
        except ValueError:
            words = None
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return words
    return shlex.split(value)


def list_requirements(
    scripts: Sequence[str], lists: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return what scripts install by pip or uv, what by apt, and what of it names no wheel.

    The last version that is given for a package counts. `lists` are texts of requirements files.
    """
    wanted: list[str] = []
    unread: list[str] = []
    packages: list[str] = []
    for script in scripts:
        text = re.sub(r"(?m)^\s*#.*$", "", re.sub(r"\\\s*\n", " ", script))
        for found in _PIP.finditer(text):
            wanted += _install_words(found[1])
        wanted += [found[1] for found in _WITH.finditer(text)]
        if "pytest" in text:
            wanted.append("pytest")
        if "--ctrf" in text:
            wanted.append("pytest-json-ctrf")
        for found in _APT.finditer(text):
            packages += [one for one in found[1].split() if _NAME.fullmatch(one) and one[0] != "-"]
    for text in lists:
        wanted += [line.split("#")[0].partition(";")[0].strip() for line in text.splitlines()]
    by_name: dict[str, str] = {}
    for one in wanted:
        name = _package_name(one)
        if one.startswith(("-", "$")) or not name or name in _OWN_INSTALLERS:
            continue
        if not _REQUIREMENT.fullmatch(one):
            unread.append(one[:80])
        elif name not in by_name or _NAME.fullmatch(one) is None:
            by_name[name] = one
    return tuple(by_name.values()), tuple(dict.fromkeys(packages)), tuple(dict.fromkeys(unread))


def _install_words(text: str) -> Iterator[str]:
    try:
        words = iter(shlex.split(text))
    except ValueError:
        words = iter(text.split())
    for word in words:
        if word in ("-r", "--requirement") or word in _VALUED:
            next(words, "")
        elif word[:1] in "><" or re.match(r"[12&]>", word):
            return
        elif not word.startswith(("-", ".", "/", "$")):
            yield word


def _package_name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0].lower().replace("_", "-") if found else ""
