"""The global options, and the brain, opened on first use."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from brain.errors import BrainError, InvalidInput, NoBrain, StoreError, printable_text
from brain.util.text import login_name

from . import terminal
from .error_report import USAGE, Failure

if TYPE_CHECKING:
    from brain import Brain
    from brain.chain.evm.evm_ledger import EvmLedger
    from brain.chain.ledger_protocol import Ledger
    from brain.experience.settings import ExperienceSettings
    from brain.repo.session import SigningKeyProvider
    from brain.results import Notice, Recorded
    from brain.search.embedder import Embedder
    from brain.util.progress import Progress

    from .terminal import ProgressBar


class App:
    """The global options, and the brain, opened on first use."""

    def __init__(
        self,
        directory: str | None = None,
        author: str | None = None,
        as_json: bool = False,
        use_pager: bool = True,
    ) -> None:
        self.directory = os.environ.get("BRAIN_DIR") or None if directory is None else directory
        named = author or os.environ.get("BRAIN_AUTHOR")
        self.author_is_login = not named
        self.author = named or login_name()
        self.as_json = as_json
        self.use_pager = use_pager
        self.sign_with: SigningKeyProvider | None = None
        self.transactions_signed_by: str | None = None
        self._brain: Brain | None = None
        self._folder: Path | None = None
        self._embedders: list[Embedder | None] | None = None
        self.progress_bar: ProgressBar | None = None
        self._has_warned = False
        self.leaves_edits = False

    @property
    def brain(self) -> Brain:
        """The brain in the named folder, else in the current one or the nearest above it.

        Raises `NoBrain`.
        """
        if self._brain is None:
            self._brain = self.open_brain(self.author, self.show_progress)
        return self._brain

    def open_brain(self, author: str, progress: Progress | None = None) -> Brain:
        """Open the brain once more, with all that the user's settings say."""
        from brain import Brain

        return Brain.open(
            self.brain_folder(),
            author=author,
            sign_with=self.signing_key(),
            ledgers=self.open_ledger,
            embedder=self.open_embedder,
            progress=progress,
            roots=self.pinned_roots,
            experience=self.load_experience_settings,
        )

    def signing_key(self) -> SigningKeyProvider | None:
        """Return the provider of the key that signs new snapshots, None for no signature.

        The command chooses it; the default is the user's key that BRAIN_SIGN_KEY names, or
        `brain config sign`.
        """
        if self.sign_with is None:
            from .settings.config_file import default_signing_key

            try:
                name = default_signing_key()
            except InvalidInput as error:  # what only reads works on
                self.sign_with = partial(_raise, error)
                return self.sign_with
            if name:
                from .settings import user_keys

                self.sign_with = user_keys.private_key_loader(name)
        return self.sign_with

    def has_snapshot(self, snapshot: str) -> bool:
        """Tell whether the brain that -C or BRAIN_DIR names holds a snapshot; nothing is written.

        The brain of the current folder may be a stranger's, and came with what it vouches for.
        """
        if self.directory is None:
            return False
        try:
            folder = self.brain_folder()
            from brain import Brain

            with Brain.open(folder) as brain:
                return brain.history.has(snapshot)
        except BrainError:  # there is none, or it is damaged: then it vouches for nothing
            return False

    def warn_if_unverifiable(self) -> None:
        """Print a note, once, if the last recorded snapshot lacks signatures that it needs."""
        if not self.as_json:
            for warning in self.take_warnings():
                self.print_note(f"Warning: {warning['message']}")

    def take_warnings(self) -> list[dict[str, str]]:
        """Return, once, the warning that the last recorded snapshot lacks signatures it needs."""
        if self._brain is None or self._has_warned or not self._brain.last_recorded:
            return []
        snapshot = self._brain.signatures.find_unverifiable()
        if snapshot is None:
            return []
        from .settings.user_keys import unverifiable_note

        self._has_warned = True
        note = unverifiable_note(self._brain, snapshot)
        return [{"code": "unsigned", "snapshot": snapshot, "message": note}]

    def open_ledger(self, name: str) -> Ledger:
        """Open a ledger of the user by its name."""
        from .settings import user_ledgers

        if name == user_ledgers.LOCAL_LEDGER:
            if self.transactions_signed_by is not None:
                raise InvalidInput(
                    "the log of this machine has no transactions",
                    code="bad_ledger",
                    hint="name a ledger on a chain with --ledger",
                )
            return user_ledgers.open_local_log()
        return self.open_evm_ledger(name)

    def open_evm_ledger(self, name: str) -> EvmLedger:
        """Open a ledger on a chain; the cost of each transaction is printed before it is sent.

        If `transactions_signed_by` is set, to an address or "", no key of this machine signs.
        """
        from .render.costs import cost_line
        from .settings import user_ledgers

        return user_ledgers.open_evm_ledger(
            name,
            lambda quote: self.print_note(f"Sending: {cost_line(quote)}"),
            lambda line: self.print_note(f"Note: {line}"),
            self.transactions_signed_by,
        )

    def pinned_roots(self, brain: str) -> list[str]:
        """Return the root keys that the user has pinned for a brain."""
        from .settings import user_keys

        return user_keys.read_pinned_roots(brain)

    def load_experience_settings(self) -> ExperienceSettings | None:
        """Return the user's settings of the store of experience, None without any."""
        from .settings import user_models

        return user_models.load_experience_settings()

    def open_embedder(self) -> Embedder | None:
        """Open the embedder of the user, once."""
        from .settings import user_models

        if self._embedders is None:
            self._embedders = [user_models.open_user_embedder()]
        return self._embedders[0]

    def show_folder(self, skill: str = "", rev: str | None = None) -> None:
        """Record edits of the folder, of which a command then shows the state.

        `skill` is as for `Brain.record_edits`; a named revision needs none. What cannot be
        recorded is a warning: what is recorded can be shown all the same.
        """
        brain = self.brain
        if self.leaves_edits or rev not in (None, "@"):
            return
        try:
            if skill or not brain.is_recorded_by_watcher():
                self._record_edits(skill)
        except BrainError as error:
            self.print_note(f"Warning: shown is what was recorded before: {error.message}")

    def record_edits(self, rev: str | None = None) -> None:
        """Record edits of the folder, on which a command then acts; say what is left out."""
        if not self.leaves_edits and rev in (None, "@"):
            recorded = self._record_edits()
            if recorded is not None and not recorded.changed:
                self._print_notices(recorded.notices)

    def _record_edits(self, skill: str = "") -> Recorded | None:
        """Record edits, and say so; return None if nothing can be written."""
        try:
            recorded = self.brain.record_edits(skill)
        except StoreError as error:
            if error.code not in ("read_only", "cannot_open"):
                raise
            self.print_note("Warning: edits are not recorded, since the brain cannot be written")
            return None
        if recorded.changed:
            count = recorded.added + recorded.modified + recorded.removed
            files = f"{count} edited file{'s' if count > 1 else ''}"
            self.print_note(f"Recorded {files} first, as snapshot {recorded.snapshot[:12]}")
            self._print_notices(recorded.notices)
        return recorded

    def _print_notices(self, notices: list[Notice]) -> None:
        for notice in notices:
            place = f"{notice.path}: " if notice.path else ""
            self.print_note(f"Note: {printable_text(f'{place}{notice.message}')}")

    def print_note(self, text: str) -> None:
        """Print a note to stderr, unless the output is JSON."""
        if not self.as_json:
            terminal.write_stderr(text)

    def show_progress(self, what: str, done: int, total: int) -> None:
        """Show the progress of work such as rebuilding a cache; see `ProgressBar`."""
        if self.progress_bar is None:
            self.progress_bar = terminal.ProgressBar(self)
        self.progress_bar(what, done, total)

    def close(self) -> None:
        """Close the brain, if it was opened, and stop a progress bar."""
        if self.progress_bar is not None:
            self.progress_bar.stop()
        if self._brain is not None:
            try:
                self.warn_if_unverifiable()
            finally:
                self._brain.close()
                self._brain = None

    @property
    def command_prefix(self) -> str:
        """The start of a command line for this brain, for hints."""
        import shlex

        return f"brain -C {shlex.quote(self.directory)}" if self.directory else "brain"

    def brain_folder(self) -> Path:
        """Return the folder of the brain; see `brain`.

        A note says so if the current folder is inside another brain than the one that is named.
        """
        from brain import find_brain

        if self._folder is None and self.directory is None:
            self._folder = find_brain(current_directory())
        elif self._folder is None:
            if not self.directory:
                raise Failure(
                    "usage", "the folder after -C is empty", "name the folder of a brain", USAGE
                )
            self._folder = named = Path(self.directory)
            with suppress(NoBrain, OSError):
                here = find_brain(Path.cwd())
                if not here.samefile(named):
                    note = f"working on the brain in {named}, not on the one in {here}"
                    self.print_note(f"Note: {note}")
        return self._folder


def _raise(error: Exception) -> NoReturn:
    raise error


def current_directory() -> Path:
    """Return the current folder. Raises `Failure` (`no_current_folder`) if it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Failure(
            "no_current_folder",
            "the current folder no longer exists",
            "change to a folder that exists, or name the brain with -C",
        ) from None
