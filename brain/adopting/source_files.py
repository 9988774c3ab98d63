"""Read the files of a source safely, and collect those that are left out.

No link is followed, and only regular files of bounded size are read. Databases, files with
secrets and what the adopting brain ignores stay out.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from .. import limits
from ..errors import InvalidInput, printable_text
from ..folder import handles
from ..folder.handles import FolderHandles
from ..folder.ignore import IgnoreRules
from ..objects import paths
from ..objects.tree_node import LINK
from ..ops.import_states import SourceFile
from ..results import Notice
from ..secrets import CERTAIN, SecretFinding, find_secrets
from .layouts import REASON_DATABASE

MAX_NOTICES_PER_FOLDER = 50
"""Single notices for one code in one folder; further ones are only counted."""

DOUBT_CODE = "doubtful_secret"
_SHORT_REASONS = {
    "bad_name": "the name is not UTF-8",
    "bad_char": "a control or invisible character in the name",
    "bad_path": "a name that some systems do not support",
    "reserved_name": "a name reserved for version control",
    "name_too_long": f"a name of more than {limits.MAX_FILE_NAME_BYTES} bytes",
    "link_outside": "the link points outside of the brain",
}


def reason_without_path(error: InvalidInput) -> str:
    """Return the reason of an error without the path, which the notice shows anyway."""
    return _SHORT_REASONS.get(error.code, error.message)


class SkippedFiles:
    """Collects notices in `notices`, complete after `finish`; `skipped_paths` has every path.

    `doubts` has notices about files that were taken and may hold a secret.
    """

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.doubts: list[Notice] = []
        self.skipped_paths: list[tuple[str, str]] = []
        self._counts: Counter[tuple[str, str]] = Counter()
        self._unread: set[str] = set()

    def add(self, code: str, path: str, reason: str, unread: str | None = None) -> None:
        """Add the skipped `path` of the source.

        `unread` is its path in the brain if it should have been adopted and could not be
        read: files that the brain has there stay.
        """
        self.skipped_paths.append((code, path))
        self._add_notice(self.notices, Notice(code, path, reason))
        if unread is not None:
            self._unread.add(unread)

    def add_doubt(self, path: str, reason: str) -> None:
        """Add the taken `path` of the source, which may hold a secret."""
        self._add_notice(self.doubts, Notice(DOUBT_CODE, path, reason))

    def _add_notice(self, notices: list[Notice], notice: Notice) -> None:
        group = notice.path.rpartition("/")[0], notice.code
        self._counts[group] += 1
        if self._counts[group] <= MAX_NOTICES_PER_FOLDER:
            notices.append(notice)

    def is_unread(self, path: str) -> bool:
        """Tell whether a file of the brain, or a folder above it, could not be read."""
        while path and path not in self._unread:
            path = path.rpartition("/")[0]
        return bool(path)

    def finish(self) -> None:
        """Add a notice with the number of further files, for each folder and code."""
        for (folder, code), count in self._counts.items():
            if count > MAX_NOTICES_PER_FOLDER:
                notices = self.doubts if code == DOUBT_CODE else self.notices
                notices.append(Notice(code, folder, f"{count - MAX_NOTICES_PER_FOLDER} more"))
        self._counts.clear()


FilesRead = Iterator[tuple[str, SourceFile | None]]
"""Paths of the brain with the file there, None for a removed one."""


class DetectedSource(NamedTuple):
    """A source: its kind, its folder or file, and the evidence for the kind.

    `in_place_folder` is the folder that can be adopted in place, None if only a copy can be
    made. Of several kinds detected at one path, that of the greatest `confidence` counts.
    From 30 on a program is certain; if two are, the user must choose. `origin` is the URL of
    which `path` is a clone, or the file from which it was unpacked, "" if it is neither.
    """

    kind: str
    path: Path
    evidence: str
    confidence: int
    in_place_folder: Path | None
    origin: str = ""

    @property
    def place(self) -> str:
        """The folder, the file or the URL of the source."""
        return self.origin or str(self.path)


class HomeFile(NamedTuple):
    """A file to adopt: its path in the home, its path in the brain, and its content."""

    home_path: str
    brain_path: str
    file: SourceFile


class SourceState(NamedTuple):
    """The files of a source.

    `files` can be iterated once; `skipped` and `source_paths`, which maps paths of the brain
    to paths of the source, are complete after that, and `keeps` may be asked: it tells
    whether a path of the brain without a file in `files` stays as it is.
    """

    files: FilesRead
    skipped: SkippedFiles
    source_paths: dict[str, str]
    message: str
    keeps: Callable[[str], bool]
    revision: str = ""


MAX_ADOPTED_FILE_BYTES = 16 << 20
"""Size of a file; a skill with all its files is rarely as large."""

GONE_CODE = "gone"
"""Code of a missing file."""

_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CHANGED_ERRNOS = frozenset((errno.ENOTDIR, errno.ELOOP, errno.ENXIO))


class SkipFile(Exception):
    """A file to skip, with the code and the reason."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


def real_place(folder: Path, path: str) -> str:
    """Return the path below `folder` to which `path` leads over links of folders above it.

    It is `path` itself where they lead elsewhere, or to what belongs to version control.
    """
    above, _, name = path.rpartition("/")
    root = os.path.realpath(folder)
    real = Path(os.path.realpath(os.path.join(root, above)), name)
    if not real.is_relative_to(root):
        return path
    found = real.relative_to(root)
    return path if any(map(paths.is_reserved_name, found.parts)) else found.as_posix()


def read_home_file(
    folders: FolderHandles, path: str, max_bytes: int = MAX_ADOPTED_FILE_BYTES
) -> SourceFile:
    """Return the link or the regular file, of at most `max_bytes`, at `path`.

    Raises `SkipFile`.
    """
    folder, _, name = path.rpartition("/")
    try:
        folder_fd = folders.open(folder)
        st = os.lstat(name, dir_fd=folder_fd)
        if stat.S_ISLNK(st.st_mode):
            return SourceFile(
                LINK, handles.encode_link_target(path, os.readlink(name, dir_fd=folder_fd))
            )
        if not stat.S_ISREG(st.st_mode):
            raise SkipFile("not_regular", "neither a file nor a folder")
        if st.st_size > max_bytes:
            raise SkipFile("too_large", f"{st.st_size} bytes; at most {max_bytes} are adopted")
        return _read_regular(name, folder_fd, max_bytes)
    except InvalidInput as error:
        raise SkipFile(error.code, reason_without_path(error)) from error
    except FileNotFoundError as error:
        raise SkipFile(GONE_CODE, "it does not exist any more") from error
    except OSError as error:
        code = "changed_while_reading" if error.errno in _CHANGED_ERRNOS else "unreadable"
        raise SkipFile(code, error.strerror or code) from error


def _read_regular(name: str, folder_fd: int, max_bytes: int) -> SourceFile:
    fd = os.open(name, _OPEN_FLAGS, dir_fd=folder_fd)
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode) or before.st_size > max_bytes:
            raise SkipFile("changed_while_reading", "it was replaced while it was read")
        content = os.read(fd, before.st_size)
        fields = handles.stat_fields
        if len(content) != before.st_size or fields(os.fstat(fd)) != fields(before):
            raise SkipFile("changed_while_reading", "it was changed while it was read")
        return SourceFile(handles.entry_kind(before.st_mode), content)
    finally:
        os.close(fd)


SECRET_CODE = "secret"
_MAX_DESCRIBED = 20
"""Findings of one file that are named; once they are allowed, the next ones are."""
_SQLITE_MAGIC = b"SQLite format 3\0"


def filter_unsafe(
    files: Iterable[HomeFile], skipped: SkippedFiles, allow: Collection[str]
) -> Iterator[HomeFile]:
    """Yield the files except databases and those with secrets whose ids are not in `allow`.

    A file with only doubtful findings is yielded, and reported in `skipped.doubts`.
    """
    for found in files:
        home, brain, file = found
        content = b"" if file.kind == LINK else file.content
        if content.startswith(_SQLITE_MAGIC):
            skipped.add("database", home, REASON_DATABASE, brain)
            continue
        secrets = find_new_secrets(content, allow)
        if secrets and secrets[0].grade == CERTAIN:
            skipped.add(SECRET_CODE, home, describe_secrets(secrets), brain)
            continue
        if secrets:
            skipped.add_doubt(home, f"may hold a secret: {describe_secrets(secrets)}")
        yield found


def find_new_secrets(content: bytes, allow: Collection[str]) -> list[SecretFinding]:
    """Return the secrets whose ids are not in `allow`: the certain ones, then the doubtful ones."""
    found = [secret for secret in find_secrets(content) if secret.id not in allow]
    return sorted(found, key=lambda secret: secret.grade != CERTAIN)


def describe_secrets(secrets: Sequence[SecretFinding]) -> str:
    """Return the description of findings in one file, without the secrets themselves."""
    shown = secrets[:_MAX_DESCRIBED]
    found = [f"{one.rule} in line {one.line} ({one.grade}): {one.excerpt}" for one in shown]
    if more := len(secrets) - len(shown):
        found.append(f"{more} more")
    what = "it is a false positive" if len(shown) == 1 else "they are false positives"
    options = " ".join(dict.fromkeys(f"--allow {one.id}" for one in shown))
    return f"{'; '.join(found)}; if {what}: {options}"


IMPORTED_CODE = "imported"
INSTRUCTION_FILES = frozenset(("CLAUDE.md", "AGENTS.md", "GEMINI.md"))
_MAX_IMPORTS = 1000
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_IMPORT = re.compile(r"(?<!\S)@(\S+)")


def report_imports(
    detected: DetectedSource, found: HomeFile, taken: Collection[str], skipped: SkippedFiles
) -> None:
    """Add the files that a line such as `@docs/style.md` imports, and that are not in `taken`.

    Outside of the source only texts are named, and nothing is looked up.
    """
    text = _CODE.sub("", found.file.content.decode("utf-8", "replace"))
    names = (match[1].rstrip(".,;:!?)") for match in islice(_IMPORT.finditer(text), _MAX_IMPORTS))
    for name in dict.fromkeys(names):
        home, brain = (
            posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            for path in (found.home_path, found.brain_path)
        )
        reason = f"imported by {printable_text(found.home_path)}"
        if name.startswith("~") or home.startswith(("/", "../")):
            if name.endswith((".md", ".txt")):
                skipped.add(IMPORTED_CODE, name, f"{reason} from outside")
        elif home not in taken and os.path.isfile(detected.path / home):
            place = home if brain.startswith("../") else brain
            take = f"copy it to {place} in the brain"
            if not detected.origin:
                source = shlex.quote(str(detected.path / home))
                folder = f"BRAIN/{shlex.quote(posixpath.dirname(place) or '.')}"
                take = f"take it with mkdir -p {folder} && cp {source} {folder}"
            skipped.add(IMPORTED_CODE, home, printable_text(f"{reason}; {take}"))


IGNORED_CODE, IGNORED_REASON = "ignored", "ignored by the rules of this brain"


def filter_ignored(root: Path, state: SourceState) -> SourceState:
    """Return the state without the files that the brain at `root` ignores or cannot write.

    The next scan of the folder would remove an ignored file again. `root` need not exist.
    """
    rules = IgnoreRules.load(root) if root.is_dir() else IgnoreRules()
    max_bytes = _max_name_bytes(root)

    def filter_files() -> FilesRead:
        for path, file in state.files:
            raw = path.encode()
            if len(raw) > max_bytes and any(len(part) > max_bytes for part in raw.split(b"/")):
                refusal = "name_too_long", f"a name of more than {max_bytes} bytes"
            elif is_ignored(rules, path):
                refusal = IGNORED_CODE, IGNORED_REASON
            else:
                yield path, file
                continue
            code, reason = refusal
            source = state.source_paths.pop(path, path)
            state.skipped.notices.append(Notice(code, source, reason))

    return state._replace(files=filter_files())


def _max_name_bytes(root: Path) -> int:
    """Return the most bytes that a file name may have on the file system of `root`."""
    existing = next(folder for folder in (root, *root.parents) if folder.is_dir())
    return os.pathconf(existing, "PC_NAME_MAX")


def is_ignored(rules: IgnoreRules, path: str) -> bool:
    """Tell whether the rules ignore the file at `path` or a folder above it."""
    parts = path.split("/")
    last = len(parts) - 1
    return any(
        rules.is_ignored("/".join(parts[: at + 1]), part, at < last)
        for at, part in enumerate(parts)
    )
