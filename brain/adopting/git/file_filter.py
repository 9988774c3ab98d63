"""Select the files of git commits to adopt, and map them to paths of a brain."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ...errors import InvalidInput
from ...folder import handles
from ...objects import paths
from ...objects.tree_node import EXECUTABLE, FILE, LINK
from ..content_checks import check_home_content
from ..home_layout import HomeLayout, default_skip_reason
from ..safe_read import MAX_ADOPTED_FILE_BYTES, SkipFile
from ..scan_home import link_keeps_target
from ..skipped import DOUBT_CODE, SkippedFiles, reason_without_path
from ..source_protocol import SourceFile
from .repository import ChangedPath, GitObject

MAX_HISTORY_BYTES = 8 << 30
"""Bytes adopted from one history."""

_SUBMODULE_MODE = 0o160000
_KIND_BY_MODE = {0o100644: FILE, 0o100664: FILE, 0o100755: EXECUTABLE, 0o120000: LINK}


class WantedFile(NamedTuple):
    """A changed file of a commit: its paths, kind and blob; None and "" for a removed file."""

    path: str
    target: str
    kind: int | None
    blob: str


class CommitFiles:
    """Selects the changed files of commits, and reports each skipped path once.

    The decision depends only on path and content, so that a commit gives the same state
    whenever it is read.
    """

    def __init__(
        self,
        layout: HomeLayout,
        skipped: SkippedFiles,
        source_paths: dict[str, str],
        allow: Collection[str],
    ) -> None:
        self._layout = layout
        self._skipped = skipped
        self._source_paths = source_paths
        self._allow = allow
        self._bytes = 0
        self._reported: set[tuple[str, str]] = set()
        self._cached_brain_path = cache(self._brain_path)
        self._cached_skip_reason = cache(self._skip_reason)

    def select_changes(self, changed: Sequence[ChangedPath]) -> list[WantedFile]:
        """Return the changes of a commit that concern files of a brain."""
        wanted_files: list[WantedFile] = []
        for raw, mode, blob in changed:
            path = raw.decode("utf-8", "surrogateescape")
            target = self._cached_brain_path(path)
            if target is None:
                continue
            kind = _KIND_BY_MODE.get(mode)
            if kind is None and mode:
                self._report_skipped(*_unusual_mode_reason(mode), path)
            wanted_files.append(WantedFile(path, target, kind, blob if kind is not None else ""))
        return wanted_files

    def read_files(
        self, wanted_files: Sequence[WantedFile], objects: Iterator[GitObject]
    ) -> Iterator[tuple[str, SourceFile | None]]:
        """Yield path and new content of each file, None for a removed or skipped one.

        `objects` yields the blobs of the rows that have one, in their order.
        """
        for path, target, kind, _ in wanted_files:
            file = None
            if kind is not None:
                file = self._read_or_skip(path, target, kind, next(objects))
                if file is not None:
                    self._source_paths[target] = path
            yield target, file

    def _read_or_skip(
        self, path: str, target: str, kind: int, git_object: GitObject
    ) -> SourceFile | None:
        try:
            return self._read_file(path, target, kind, git_object)
        except SkipFile as error:
            self._report_skipped(error.code, error.reason, path)
        return None

    def _read_file(self, path: str, target: str, kind: int, git_object: GitObject) -> SourceFile:
        content = git_object.content
        if content is None:
            raise _absent_error(git_object)
        self._bytes += len(content)
        if self._bytes > MAX_HISTORY_BYTES:
            raise InvalidInput(
                f"the history has more than {MAX_HISTORY_BYTES >> 20} MiB to adopt",
                code="too_many",
                hint="adopt a clone by `git clone --depth 1`, or the files with --as agentskills",
            )
        if kind == LINK:
            return self._read_link(path, target, content)
        refusal, doubt = check_home_content(content, self._allow)
        if refusal:
            raise SkipFile(*refusal)
        if doubt and (DOUBT_CODE, path) not in self._reported:
            self._reported.add((DOUBT_CODE, path))
            self._skipped.add_doubt(path, doubt)
        return SourceFile(kind, content)

    def _read_link(self, path: str, target: str, content: bytes) -> SourceFile:
        text = content.decode("utf-8", "surrogateescape")
        try:
            file = SourceFile(LINK, handles.encode_link_target(target, text))
        except InvalidInput as error:
            raise SkipFile(error.code, reason_without_path(error)) from error
        if target != path and not link_keeps_target(self._layout, path, target, text):
            raise SkipFile("link_outside", "the link points to a file that is not adopted")
        return file

    def _report_skipped(self, code: str, reason: str, path: str) -> None:
        if (code, path) not in self._reported:
            self._reported.add((code, path))
            self._skipped.add(code, path, reason)

    def _brain_path(self, path: str) -> str | None:
        """Return the path in the brain, None for a skipped path, which is reported."""
        if not self._layout.has_rule_for(path):
            return None
        folders = [(folder, True) for folder in paths.folders_above(path)]
        for place, is_folder in [*reversed(folders), (path, False)]:
            reason = self._cached_skip_reason(place, is_folder)
            if reason:
                self._report_skipped("left_out", reason, place)
            if reason is not None:
                return None
        target = self._layout.brain_path(path)
        try:
            return None if target is None else paths.check_path(target)
        except InvalidInput as error:
            self._report_skipped(error.code, reason_without_path(error), path)
            return None

    def _skip_reason(self, path: str, is_folder: bool) -> str | None:
        """Return the reason to skip a file or folder, "" to skip it silently, None to take it."""
        name = path.rpartition("/")[2]
        if paths.is_vcs_name(name):
            return ""
        return self._layout.skip_reason(path) or default_skip_reason(name, is_folder) or None


def _absent_error(git_object: GitObject) -> SkipFile:
    if git_object.size < 0:
        return SkipFile("missing", "the repository lacks its content")
    return SkipFile(
        "too_large", f"{git_object.size} bytes; at most {MAX_ADOPTED_FILE_BYTES} are adopted"
    )


def _unusual_mode_reason(mode: int) -> tuple[str, str]:
    if mode == _SUBMODULE_MODE:
        return "submodule", "a submodule, whose content is in another repository"
    return "not_regular", f"neither a file nor a link ({stat.filemode(mode)})"
