"""The one error tree.

Every error that a user can see is a `BrainError`. It carries a stable `code` for programs,
an `exit_status` for the command line, and a `hint` if the user can do something about it.
An error escapes foreign text as it is made, so that no message can steer a terminal.
"""

from __future__ import annotations

import errno

MAX_SHOWN_CHARS = 200
"""Characters of foreign text shown in a message."""
_MAX_SHOWN_ID_BYTES = 32
"""A damaged row may have a longer id."""


def printable_text(text: object, limit: int = MAX_SHOWN_CHARS) -> str:
    """Return `text` with every non-printing character escaped, cut at `limit`."""
    raw = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else str(text)
    shortened = raw if len(raw) <= limit else raw[:limit] + "…"
    if shortened.isprintable():
        return shortened
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shortened)


def find_repeated(keys: list[str]) -> str:
    """Return the first of `keys` that was there before, for a message about it; "" if none was."""
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return ""


RESTORE_HINT = (
    "restore the folder .brain from a copy; `brain verify --deep` finds what else is damaged"
)
"""The hint for a damaged object."""


class BrainError(Exception):
    """Base of all errors: exit status 1.

    `code` names the kind of failure in snake case and does not change between
    releases; `message` says what happened; `hint` says what to do, or is "".
    """

    code = "failure"
    exit_status = 1
    usual_hint = ""
    """The hint of an error that is raised without one."""
    max_chars = 2000
    """Characters of a message, and of a line of a hint; those in the middle are left out."""

    def __init__(self, message: str, *, code: str = "", hint: str = "") -> None:
        hint = hint or self.usual_hint
        # Escaping twice changes nothing, so a message may quote that of another error.
        self.message = self._show(message)
        # Only a hint has lines of its own, such as the entries that a text may mean.
        self.hint = "\n".join(map(self._show, hint.split("\n")))
        super().__init__(self.message)
        if code:
            self.code = code

    def _show(self, text: str) -> str:
        if len(text) > self.max_chars:
            half = self.max_chars // 2
            text = f"{text[:half]}…{text[-half:]}"
        return printable_text(text, self.max_chars + 1)


class InvalidInput(BrainError):
    """Input is invalid: a name, a path, a file, front matter."""

    code = "bad_input"


class FormatError(BrainError):
    """Bytes are not a canonical object of format 1."""

    code = "bad_object"


class ObjectError(FormatError):
    """An object of the store is not one of format 1."""

    usual_hint = RESTORE_HINT


class NotFound(BrainError):
    """A revision, skill, path or object does not exist."""

    code = "not_found"


class StoreError(BrainError):
    """The store cannot be read or written: damaged, foreign, full, read-only."""

    code = "bad_store"


DAMAGED_STORE_HINT = "restore the folder .brain from a copy; `brain verify` tells what is damaged"


class DamagedStore(StoreError):
    """The store holds other content than was written."""

    usual_hint = DAMAGED_STORE_HINT


class LedgerError(BrainError):
    """A ledger, or a node that speaks for one, does not answer as it should."""

    code = "ledger_failed"


class ModelError(BrainError):
    """A language model, or its server, does not answer as it should.

    `requests` and tokens say what was paid nevertheless; of `lost` requests an answer may have been
    made, and did not arrive.
    """

    code = "model_failed"
    requests = 1
    tokens_in = 0
    tokens_out = 0
    lost = 0


class SandboxError(BrainError):
    """No sandbox can be had on this machine, or a job could not be started in it."""

    code = "no_sandbox"


class VerificationFailed(BrainError):
    """Verification found that the brain, or a part of it, is not what it claims."""

    code = "verification_failed"
    exit_status = 3


class ProofError(VerificationFailed):
    """A proof is malformed, or does not prove what it says."""

    code = "bad_proof"


class NotVouched(BrainError):
    """A file is consistent, but nothing that the reader knows vouches for it."""

    code = "not_vouched"
    exit_status = 4
    SENTENCE = (
        "This file is consistent. Anybody can make such a file; nothing that you know vouches"
        " for it."
    )


class NoBrain(BrainError):
    """There is no brain in the given folder or above it."""

    code = "no_brain"
    exit_status = 10


class Locked(BrainError):
    """Another writer holds the brain."""

    code = "locked"
    exit_status = 11


class Conflict(BrainError):
    """Going on would overwrite work that is recorded nowhere, or two changes collide."""

    code = "conflict"
    exit_status = 12


class NotAdmitted(Conflict):
    """A program or a change does not count: it was rejected, or nothing has decided about it."""

    code = "not_admitted"
    exit_status = 13


class ToolFailure(BrainError):
    """A tool call that failed, with a message that a model can act on.

    `code` is that of the error behind it; `text` holds no path of the machine.
    """

    code = "tool_failed"
    max_chars = 10_000

    @property
    def text(self) -> str:
        """The text for the model: what happened, and on a line of its own what to do."""
        return f"{self.message}\n{self.hint}" if self.hint else self.message


ACCESS_HINT = "check who may read and write it, and the folder it is in"
"""The hint if the system denies access to the file or folder that the message names."""

_ERRNO_ERRORS = {
    errno.ENOSPC: ("no_space", "free some space and try again"),
    errno.EDQUOT: ("no_space", "free some space and try again"),
    errno.EROFS: ("read_only", "the disk there cannot be written: name another folder"),
    errno.EACCES: ("no_access", ACCESS_HINT),
    errno.EPERM: ("no_access", ACCESS_HINT),
    errno.EMFILE: ("too_many_open_files", "close some files, or raise the limit with `ulimit -n`"),
    errno.ENFILE: ("too_many_open_files", "close some files, or raise the limit with `ulimit -n`"),
}


def corrupt_object_error(id: bytes, why: str = "it does not hash to its id") -> StoreError:
    """Return the error for a damaged object."""
    return StoreError(
        f"object {id[:_MAX_SHOWN_ID_BYTES].hex()} is damaged: {why}",
        code="corrupt_object",
        hint=RESTORE_HINT,
    )


def malformed_object_error(kind: str, id: bytes, error: FormatError) -> FormatError:
    """Return an error about the content of an object with the object named in it."""
    return FormatError(
        f"{kind} {id[:_MAX_SHOWN_ID_BYTES].hex()} cannot be read: {error.message}",
        code=error.code,
        hint=error.hint or RESTORE_HINT,
    )


def error_from_os(error: OSError) -> BrainError:
    """Return the error for an unexpected `OSError`."""
    code, hint = _ERRNO_ERRORS.get(error.errno or 0, ("io_error", "check the disk and the file"))
    where = f": {printable_text(error.filename)}" if error.filename else ""
    return BrainError(f"{printable_text(error.strerror or error)}{where}", code=code, hint=hint)
