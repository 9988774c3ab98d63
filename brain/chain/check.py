"""`python -m brain.chain.check`: checks evidence, with neither a brain nor a network at hand."""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the current folder; see cli/__main__.py

import os
from argparse import ArgumentParser, ArgumentTypeError, HelpFormatter, Namespace
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn, TextIO

from ..errors import BrainError, InvalidInput, printable
from ..limits import MAX_EVIDENCE_BYTES
from .evidence import report
from .evidence.told import check_evidence

PROGRAM = "python -m brain.chain.check"
OK, USAGE, INTERRUPTED, BROKEN_PIPE = 0, 2, 130, 141

_EPILOG = """exit status: 0 the evidence holds, 1 it cannot be read or compared, 2 wrong usage,
3 it does not hold. What it still takes to rely on it is said at the end."""


class _Usage(BrainError):
    """The call cannot be understood."""

    code = "usage"
    exit_status = USAGE


class _Help(HelpFormatter):
    """Asks nobody how wide the terminal is, which would take longer than the parsing."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Usage(printable(message), hint=f"see '{PROGRAM} --help'")


def main(argv: Sequence[str]) -> int:
    """Check what `argv` names, print what it shows, and return the exit status."""
    as_json = "--json" in argv
    try:
        _write(sys.stdout, _checked(_parser().parse_args(argv)))
    except SystemExit:  # the help was asked for, and printed
        return _released(OK)
    except BrokenPipeError:
        return _released(BROKEN_PIPE)
    except KeyboardInterrupt:
        return _released(INTERRUPTED)
    except BrainError as error:
        return _refused(error, as_json)
    except (MemoryError, RecursionError) as error:
        return _refused(BrainError(f"not enough memory: {type(error).__name__}"), as_json)
    except Exception as error:  # noqa: BLE001  the top: nothing may pass as a traceback
        what = f"internal error: {type(error).__name__}: {printable(error)}"
        return _refused(BrainError(what, code="internal", hint="please report it"), as_json)
    return _released(OK)


def _parser() -> ArgumentParser:
    parser = _Parser(
        PROGRAM,
        description="Check evidence that a snapshot of a brain was committed to a ledger.",
        epilog=_EPILOG,
        allow_abbrev=False,
        formatter_class=_Help,
    )
    parser.add_argument("evidence", metavar="FILE", help="the evidence; - is standard input")
    for name, value, text in (
        ("--block-hash", "HASH", "the hash of its block, from a source you trust"),
        ("--content", "FILE", "compare this with the file whose path is shown"),
        ("--brain", "ID", "it has to be about this brain"),
        ("--snapshot", "ID", "it has to be about this snapshot"),
        ("--owner", "ADDRESS", "this account has to own the brain, or to have anchored the log"),
        ("--log-key", "VKEY", "the log has to have this key"),
    ):
        parser.add_argument(name, metavar=value, help=text, type=_said)
    parser.add_argument(
        "--witness",
        metavar="VKEY",
        help="this witness has to have signed the log too; as often as you like",
        type=_said,
        action="append",
        default=[],
    )
    parser.add_argument("--json", help="print one JSON document", action="store_true")
    return parser


def _said(text: str) -> str:
    """Return the value of an option; an empty one, of a variable not set, asks for nothing."""
    if not text:
        raise ArgumentTypeError("it is empty")
    return text


def _checked(given: Namespace) -> str:
    """Return what is to be printed."""
    data = _read(given.evidence)
    known = {
        "brain": given.brain or "",
        "snapshot": given.snapshot or "",
        "owner": given.owner or "",
        "block_hash": given.block_hash or "",
        "log_key": given.log_key or "",
        "witnesses": given.witness,
    }
    if given.content:
        try:
            with open(given.content, "rb", buffering=0) as content:
                found = check_evidence(data, content=content, **known)
        except OSError as error:
            raise _unreadable(given.content, error) from error
    else:
        found = check_evidence(data, **known)
    return report.as_json(found) if given.json else report.as_text(found)


def _read(name: str) -> bytes:
    try:
        if name != "-":
            with open(name, "rb") as source:
                return source.read(MAX_EVIDENCE_BYTES + 1)
        if sys.stdin is not None:
            if sys.stdin.isatty():
                sys.stderr.write("Reading the evidence from standard input; end with Ctrl-D\n")
            return sys.stdin.buffer.read(MAX_EVIDENCE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    raise InvalidInput("standard input is closed", code="no_input")


def _unreadable(name: str, error: OSError | ValueError) -> InvalidInput:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InvalidInput(f"cannot read {printable(name)}: {printable(why)}", code="cannot_read")


def _refused(error: BrainError, as_json: bool) -> int:
    """Say on stderr what is wrong; where nobody listens, it is lost."""
    with suppress(OSError, ValueError, BrainError):
        _write(sys.stderr, report.refusal(error, as_json))
    return _released(error.exit_status)


def _write(stream: TextIO | None, text: str) -> None:
    """Write `text`; what the encoding of the stream cannot hold is escaped."""
    if stream is None:
        raise BrainError("standard output is closed", code="output_failed")
    try:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise BrainError(
            f"cannot write to standard output: {printable(error)}", code="output_failed"
        ) from error


def _released(status: int) -> int:
    """Leave streams that the interpreter can flush at its end without an error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
