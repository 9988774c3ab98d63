"""What a program needs of the world, and the fixtures that stand for the world in its trial.

`tests/needs.json` and all below `tests/fixtures/` are files of the program, so its id covers them:
another need makes another program. A need gives no right. A person approves it, on each
machine, for exactly these bytes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ..digest import blob_id
from ..errors import InvalidInput, printable_text
from ..util import strict_json
from .program import Program

NEEDS_FILE = "tests/needs.json"
FIXTURES_FOLDER = "tests/fixtures/"
REQUESTS_FILE = f"{FIXTURES_FOLDER}requests.json"
SAMPLE_FOLDERS = f"{FIXTURES_FOLDER}folders/"
"""Below it, a folder for each that the program needs, with sample files."""
SAMPLE_FILES = f"{FIXTURES_FOLDER}files/"
MAX_NEEDS = 32
"""Hosts, folders, files, skills, secrets and commands, of each kind."""
MAX_MINUTES = 30.0
MAX_MEMORY_MB = 8192
MAX_REQUESTS = 256
"""Recorded answers of one program."""
MAX_FIXTURE_BYTES = 4 << 20
_MAX_DEPTH = 32
_HOST = re.compile(
    r"(?=.{4,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{2,63}")
_RESOURCE = re.compile(r"(?!skill\.py$|schema\.json$|tests/)[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_FIXTURE_KEYS = frozenset(
    ("method", "url", "request_body", "status", "headers", "body", "body_base64")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret that goes to one host, in one header, after the text `before`."""

    host: str
    header: str = "Authorization"
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a program needs: names, never places of a machine; and more time or memory.

    `folders` are `read` or `write` by name. `minutes` and `memory_mb` are 0 for what every program
    may use. `commands` are programs of the machine that it starts. `resources` are modules and data
    beside skill.py, each with its blob id in hex, so that the id of the program covers them.
    """

    hosts: tuple[str, ...] = ()
    folders: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    minutes: float = 0
    memory_mb: int = 0
    commands: tuple[str, ...] = ()
    resources: Mapping[str, str] = field(default_factory=dict)

    @property
    def reaches_out(self) -> bool:
        """Whether a run may change something outside: send to a host, or write a folder."""
        return bool(self.hosts) or "write" in self.folders.values()

    def describe(self) -> list[str]:
        """Return what a person has to approve, a phrase each."""
        return [
            *(f"host {host}" for host in self.hosts),
            *(f"folder {name} to {access}" for name, access in self.folders.items()),
            *(f"file {name}" for name in self.files),
            *(f"secret {name} for {secret.host}" for name, secret in self.secrets.items()),
            *([f"{self.minutes:g} minutes"] if self.minutes else []),
            *([f"{self.memory_mb} MB of memory"] if self.memory_mb else []),
        ]


NO_NEEDS = Needs()


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRequest:
    """A request of a program."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAnswer:
    """What a host answered."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    """A recorded answer: `url` may have `*`; without `asked`, any body is answered."""

    method: str
    url: str
    asked: bytes | None
    answer: WebAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixtures:
    """What stands for the world: answers, and sample files by folder and by name."""

    requests: tuple[_Recorded, ...] = ()
    folders: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    def find_answer(self, asked: WebRequest) -> WebAnswer | None:
        """Return the first recorded answer that covers a request, None if there is none."""
        for one in self.requests:
            same = one.url == asked.url or ("*" in one.url and fnmatchcase(asked.url, one.url))
            if same and one.method == asked.method and one.asked in (None, asked.body):
                return one.answer
        return None


def read_needs(program: Program) -> Needs:
    """Return the needs of a program. Raises `InvalidInput` (`bad_needs`)."""
    data = program.files.get(NEEDS_FILE)
    return NO_NEEDS if data is None else parse_needs(_parse_json(data, NEEDS_FILE, _bad_needs))


def parse_needs(value: Any) -> Needs:
    """Return needs from their JSON. Raises `InvalidInput` (`bad_needs`) that names the field."""
    if not isinstance(value, Mapping):
        raise _bad_needs("they are not an object")
    if unknown := value.keys() - Needs.__dataclass_fields__.keys():
        raise _bad_needs(f"there is no need {printable_text(min(unknown), 40)}")
    folders = value.get("folders", {})
    if not isinstance(folders, Mapping) or len(folders) > MAX_NEEDS:
        raise _bad_needs("folders: they are not an object of at most 32 names")
    for name, access in folders.items():
        if not _NAME.fullmatch(name) or access not in ("read", "write"):
            raise _bad_needs(
                f"folders: {printable_text(name, 40)} is not a name with read or write"
            )
    resources = value.get("resources", {})
    if not isinstance(resources, Mapping) or not all(map(_is_pinned, resources.items())):
        raise _bad_needs("resources: it is not an object of blob ids by path")
    hosts = _names(value, "hosts", _HOST)
    return Needs(
        resources=dict(resources),
        hosts=hosts,
        folders=dict(folders),
        files=_names(value, "files", _NAME),
        skills=_names(value, "skills", _TOOL),
        secrets=_parse_secrets(value.get("secrets", {}), hosts),
        minutes=_number(value, "minutes", MAX_MINUTES),
        memory_mb=int(_number(value, "memory_mb", MAX_MEMORY_MB)),
        commands=_names(value, "commands", _NAME),
    )


def _is_pinned(pair: tuple[str, Any]) -> bool:
    path, blob = pair
    plain = _RESOURCE.fullmatch(path) and not {".", ".."}.intersection(path.split("/"))
    return bool(plain and isinstance(blob, str) and re.fullmatch("[0-9a-f]{64}", blob))


def pin_resources(files: Mapping[str, bytes], resources: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a program whose needs name files beside it, by their content.

    Raises `InvalidInput` (`bad_needs`).
    """
    value = {}
    if NEEDS_FILE in files:
        value = _parse_json(files[NEEDS_FILE], NEEDS_FILE, _bad_needs)
    if not isinstance(value, dict):
        raise _bad_needs("they are not an object")
    value["resources"] = {path: blob_id(data).hex() for path, data in sorted(resources.items())}
    parse_needs(value)
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return {**files, NEEDS_FILE: text.encode("utf-8", "backslashreplace")}


def _names(value: Mapping[str, Any], kind: str, form: re.Pattern[str]) -> tuple[str, ...]:
    names = value.get(kind, [])
    if not isinstance(names, list) or len(names) > MAX_NEEDS:
        raise _bad_needs(f"{kind}: they are not a list of at most {MAX_NEEDS} names")
    for name in names:
        if not isinstance(name, str) or not form.fullmatch(name):
            more = (
                ", in lower case, without https://, port, user or path" if kind == "hosts" else ""
            )
            raise _bad_needs(f"{kind}: {printable_text(name, 80)} is not a name{more}")
    return tuple(dict.fromkeys(names))


def _parse_secrets(value: Any, hosts: tuple[str, ...]) -> dict[str, Secret]:
    if not isinstance(value, Mapping) or len(value) > MAX_NEEDS:
        raise _bad_needs("secrets: they are not an object of at most 32 names")
    out = {}
    for name, part in value.items():
        texts = isinstance(part, Mapping) and all(isinstance(text, str) for text in part.values())
        if not _SECRET.fullmatch(name) or not texts or part.keys() - {"host", "header", "before"}:
            raise _bad_needs(
                f"secrets: {printable_text(name, 40)} is not a name such as API_TOKEN with host, "
                "header and before, all texts"
            )
        secret = Secret(**part) if "host" in part else Secret(host="")
        if secret.host not in hosts:
            raise _bad_needs(f"secrets: the host of {name} is not among the hosts")
        if not _HEADER.fullmatch(secret.header) or not secret.before.isprintable():
            raise _bad_needs(f"secrets: {name} goes into no header that there can be")
        out[name] = secret
    return out


def _number(value: Mapping[str, Any], kind: str, most: float) -> float:
    number = value.get(kind, 0)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= most:
        raise _bad_needs(f"{kind}: it is not a number from 0 to {most:g}")
    return number


def read_fixtures(program: Program, needs: Needs) -> Fixtures:
    """Return the fixtures of a program. Raises `InvalidInput` (`bad_fixtures`).

    Each folder and file that it needs has samples, for without them its trial shows nothing.
    """
    rows: Any = []
    if REQUESTS_FILE in program.files:
        rows = _parse_json(program.files[REQUESTS_FILE], REQUESTS_FILE, _bad_fixtures)
    if not isinstance(rows, list) or len(rows) > MAX_REQUESTS:
        raise _bad_fixtures(f"{REQUESTS_FILE} is not a list of at most {MAX_REQUESTS} requests")
    folders: dict[str, dict[str, bytes]] = {name: {} for name in needs.folders}
    files: dict[str, bytes] = {}
    for path, content in program.files.items():
        if path.startswith(SAMPLE_FOLDERS):
            name, _, inner = path.removeprefix(SAMPLE_FOLDERS).partition("/")
            if name not in folders or not inner:
                raise _bad_fixtures(f"{printable_text(path, 100)} is in no folder that it needs")
            folders[name][inner] = content
        elif path.startswith(SAMPLE_FILES):
            files[path.removeprefix(SAMPLE_FILES)] = content
    missing = [f"{SAMPLE_FILES}{name}" for name in needs.files if name not in files]
    missing += [
        f"{SAMPLE_FOLDERS}{name}/"
        for name, access in needs.folders.items()
        if access == "read" and not folders[name]
    ]
    if missing:
        raise _bad_fixtures(f"there is no sample {missing[0]}")
    return Fixtures(
        requests=tuple(_parse_request(number, row, needs) for number, row in enumerate(rows, 1)),
        folders=folders,
        files={name: files[name] for name in needs.files},
    )


def read_fixture_files(value: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of fixtures that are given as one object: `requests`, `folders`, `files`.

    `folders` are texts by path, by folder. Raises `InvalidInput` (`bad_fixtures`).
    """
    if unknown := value.keys() - {"requests", "folders", "files"}:
        raise _bad_fixtures(f"there are no {printable_text(min(unknown), 40)}")
    out: dict[str, bytes] = {}
    if "requests" in value:
        rows = json.dumps(value["requests"], ensure_ascii=False, indent=2)
        out[REQUESTS_FILE] = (rows + "\n").encode("utf-8", "backslashreplace")
    folders, files = value.get("folders", {}), value.get("files", {})
    samples = {SAMPLE_FILES: files}
    if isinstance(folders, Mapping):
        samples |= {f"{SAMPLE_FOLDERS}{name}/": inner for name, inner in folders.items()}
    for start, inner in samples.items():
        if not isinstance(folders, Mapping) or not isinstance(inner, Mapping):
            raise _bad_fixtures("folders and files are not objects of texts by path")
        for path, content in inner.items():
            if not isinstance(content, str):
                raise _bad_fixtures(f"the content of {printable_text(path, 80)} is not text")
            out[f"{start}{path}"] = content.encode("utf-8", "backslashreplace")
    return out


def _parse_request(number: int, row: Any, needs: Needs) -> _Recorded:
    where = f"request {number}"
    if not isinstance(row, dict) or not isinstance(row.get("url"), str):
        raise _bad_fixtures(f"{where} is not an object with a url")
    if unknown := row.keys() - _FIXTURE_KEYS:
        raise _bad_fixtures(f"{where} has the unknown field {printable_text(min(unknown), 40)}")
    host, _, _ = row["url"].removeprefix("https://").partition("/")
    if not row["url"].startswith("https://") or host.partition("?")[0] not in needs.hosts:
        raise _bad_fixtures(
            f"{where}: {printable_text(row['url'], 80)} is not at one of the hosts that it needs"
        )
    method, status, headers = row.get("method", "GET"), row.get("status", 200), row.get("headers")
    if method not in METHODS:
        raise _bad_fixtures(f"{where}: the method is not one of {', '.join(METHODS)}")
    if isinstance(status, bool) or not isinstance(status, int) or not 100 <= status <= 599:
        raise _bad_fixtures(f"{where}: the status is not a number from 100 to 599")
    headers = {} if headers is None else headers
    if not isinstance(headers, dict) or not all(isinstance(x, str) for x in headers.values()):
        raise _bad_fixtures(f"{where}: the headers are not an object of texts")
    body = _as_bytes(row.get("body", ""))
    if "body_base64" in row:
        try:
            body = base64.b64decode(row["body_base64"], validate=True)
        except (TypeError, ValueError) as error:
            raise _bad_fixtures(f"{where}: body_base64 is not base64") from error
    if not isinstance(row.get("body", ""), str) and "Content-Type" not in headers:
        headers = {**headers, "Content-Type": "application/json"}
    asked = _as_bytes(row["request_body"]) if "request_body" in row else None
    answer = WebAnswer(status=status, headers=headers, body=body)
    return _Recorded(method=method, url=row["url"], asked=asked, answer=answer)


def _as_bytes(value: Any) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _parse_json(data: bytes, name: str, fault: Any) -> Any:
    try:
        return strict_json.parse_bounded(data, _MAX_DEPTH, MAX_FIXTURE_BYTES)
    except ValueError as error:
        raise fault(f"{name} cannot be read: {error}") from error


def _bad_needs(reason: str) -> InvalidInput:
    return InvalidInput(
        f"the needs of a program cannot be used: {reason}",
        code="bad_needs",
        hint='write them like {"hosts": ["api.example.org"], "folders": {"logs": "read"}, '
        '"minutes": 2}',
    )


def _bad_fixtures(reason: str) -> InvalidInput:
    return InvalidInput(
        f"the fixtures cannot be used: {reason}",
        code="bad_fixtures",
        hint=f'write {REQUESTS_FILE} like [{{"url": "https://api.example.org/a", "body": '
        f'{{"n": 1}}}}], and sample files below {SAMPLE_FOLDERS}NAME/ and {SAMPLE_FILES}',
    )
