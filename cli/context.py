"""What a command works with: the options given to all commands, and the brain, opened late."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from . import streams
from .errors import USAGE, Failure

if TYPE_CHECKING:
    from brain import Brain
    from brain.chain.protocol import Ledger
    from brain.selection.embedding import Embedder
    from brain.session import SignWith

    from .progress import Bar


class App:
    """The options given to all commands; the brain is opened when it is first asked for."""

    def __init__(
        self,
        directory: str | None = None,
        author: str | None = None,
        as_json: bool = False,
    ) -> None:
        self.directory = os.environ.get("BRAIN_DIR") or None if directory is None else directory
        named = author or os.environ.get("BRAIN_AUTHOR")
        self.author_is_login = not named
        self.author = named or login_name()
        self.json = as_json
        self.sign_with: SignWith | None = None
        self._brain: Brain | None = None
        self._folder: Path | None = None
        self._embedders: list[Embedder | None] | None = None
        self.bar: Bar | None = None

    @property
    def brain(self) -> Brain:
        """The brain in the named folder, else in the current one or the nearest above it.

        Raises `NoBrain`.
        """
        if self._brain is None:
            from brain import Brain

            self._brain = Brain.open(
                self.folder(),
                author=self.author,
                sign_with=self.signer(),
                ledgers=self.ledger,
                embedder=self.embedder,
                progress=self.progress,
                roots=self.roots,
            )
        return self._brain

    def signer(self) -> SignWith | None:
        """Return what gives the key that signs new snapshots, None if they are not signed.

        It is what the command chose, else the own key that BRAIN_SIGN_KEY names.
        """
        name = os.environ.get("BRAIN_SIGN_KEY")
        if self.sign_with is None and name:
            from . import keys

            self.sign_with = keys.unasked(name)
        return self.sign_with

    def ledger(self, name: str) -> Ledger:
        """Open a ledger of the user by its name."""
        from . import ledgers

        return ledgers.opened(self, name)

    def roots(self, brain: str) -> list[str]:
        """Return the root keys that the user has pinned for a brain."""
        from . import roots

        return roots.pinned(brain)

    def embedder(self) -> Embedder | None:
        """Open the embedder of the user, once."""
        if self._embedders is None:
            from . import embedders

            self._embedders = [embedders.opened()]
        return self._embedders[0]

    def note(self, text: str) -> None:
        """Say something on stderr that is not the answer; programs find it in the JSON."""
        if not self.json:
            streams.say(text)

    def progress(self, what: str, done: int, total: int) -> None:
        """Show work that no command asked for, such as making a cache anew; see `Bar`."""
        if self.bar is None:
            from .progress import Bar

            self.bar = Bar(self)
        self.bar(what, done, total)

    def close(self) -> None:
        """Close the brain if it was opened, and take a bar away."""
        if self.bar is not None:
            self.bar.stop()
        if self._brain is not None:
            self._brain.close()
            self._brain = None

    @property
    def call(self) -> str:
        """How a person calls `brain` again for this brain."""
        import shlex

        return f"brain -C {shlex.quote(self.directory)}" if self.directory else "brain"

    def folder(self) -> Path:
        """Return the folder of the brain; see `brain`."""
        if self._folder is None:
            self._folder = self._found()
        return self._folder

    def _found(self) -> Path:
        from brain import find

        if self.directory is None:
            return find(current_folder())
        if not self.directory:
            raise Failure("usage", "the folder after -C is empty", status=USAGE)
        named = Path(self.directory)
        self._warn_of_another(named)
        return named

    def _warn_of_another(self, named: Path) -> None:
        """Say which brain is used where the current folder lies in another one."""
        from brain import NoBrain, find

        try:
            here = find(Path.cwd())
            if not here.samefile(named):
                self.note(f"Note: working on the brain in {named}, not on the one in {here}")
        except (NoBrain, OSError):
            return


def current_folder() -> Path:
    """Return the current folder; a clear error where it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Failure(
            "no_current_folder",
            "the current folder does not exist any more",
            "change to a folder that exists, or name the brain with -C",
        ) from None


def login_name() -> str:
    """Return the name the user logged in with, "brain" where there is none."""
    import getpass

    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "brain"
