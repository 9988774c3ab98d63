"""The command `python -m brain.chain.check`: check evidence without a brain and a network.

It does what `brain verify FILE` does with evidence, and starts faster.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the current folder; see cli/__main__.py

import os
from argparse import ArgumentParser, ArgumentTypeError, HelpFormatter, Namespace
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from io import TextIOWrapper
from typing import Any, NoReturn, TextIO

from ..errors import BrainError, InvalidInput, printable_text
from ..limits import MAX_EVIDENCE_BYTES
from ..results import Evidence
from .evidence import evidence_report
from .evidence.offline_check import check_evidence

PROGRAM = "python -m brain.chain.check"
OK, USAGE, INTERRUPTED, BROKEN_PIPE = 0, 2, 130, 141

_EPILOG = """exit status: 0 the evidence holds, 1 it cannot be read or compared, 2 wrong usage,
3 it does not hold, 4 it is consistent, but nothing that you know vouches for it: neither a block
hash, nor the key of the log, a witness or the snapshot. Anybody can make such a file, and an owner
or a brain id that you name does not change that."""


class _UsageError(BrainError):
    """The command line is invalid."""

    code = "usage"
    exit_status = USAGE


class _FixedWidthFormatter(HelpFormatter):
    """Has a fixed width: asking for the width of the terminal takes longer than parsing."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


class _ArgumentParser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(printable_text(message), hint=f"see '{PROGRAM} --help'")


def main(argv: Sequence[str]) -> int:
    """Check the evidence named in `argv`, print the result, and return the exit status."""
    as_json = "--json" in argv
    try:
        args = _build_parser().parse_args(argv)
        found = _check(args)
        render = evidence_report.render_json if args.json else evidence_report.render_text
        _write_text(sys.stdout, render(found))
        if not found.ok:
            raise evidence_report.not_vouched_error()
    except SystemExit:  # --help was printed
        return _flush_streams(OK)
    except BrokenPipeError:
        return _flush_streams(BROKEN_PIPE)
    except KeyboardInterrupt:
        return _flush_streams(INTERRUPTED)
    except BrainError as error:
        return _print_error(error, as_json)
    except (MemoryError, RecursionError) as error:
        out_of_memory = BrainError(
            f"there is not enough memory ({type(error).__name__})",
            hint="close other programs and try again",
        )
        return _print_error(out_of_memory, as_json)
    except Exception as error:  # noqa: BLE001  top level: no traceback reaches the user
        message = f"internal error: {type(error).__name__}: {printable_text(error)}"
        return _print_error(BrainError(message, code="internal", hint="please report it"), as_json)
    return _flush_streams(OK)


def _build_parser() -> ArgumentParser:
    parser = _ArgumentParser(
        PROGRAM,
        description="Check evidence that a snapshot of a brain was committed to a ledger.",
        epilog=_EPILOG,
        allow_abbrev=False,
        formatter_class=_FixedWidthFormatter,
    )
    parser.add_argument("evidence", metavar="FILE", help="the evidence; - is standard input")
    for name, value, text in (
        ("--block-hash", "HASH", "the hash of its block, or 16 digits, from a source you trust"),
        ("--content", "FILE", "compare this with the file whose path is shown"),
        ("--brain", "ID", "the evidence has to be about this brain"),
        ("--snapshot", "ID", "the evidence has to be about this snapshot"),
        ("--owner", "ADDRESS", "this account has to own the brain, or to have anchored the log"),
        ("--log-key", "VKEY", "the log has to have this key"),
        ("--require", "LEVEL", "the trust level has to be this one or higher: L1, L2 or L3"),
    ):
        parser.add_argument(name, metavar=value, help=text, type=_nonempty_value)
    parser.add_argument(
        "--witness",
        metavar="VKEY",
        help="this witness has to have signed the log too; repeatable",
        type=_nonempty_value,
        action="append",
        default=[],
    )
    parser.add_argument("--json", help="print one JSON document", action="store_true")
    return parser


def _nonempty_value(text: str) -> str:
    """Return the value of an option; refuse "", which an unset shell variable gives."""
    if not text:
        raise ArgumentTypeError("it is empty")
    return text


def _check(args: Namespace) -> Evidence:
    data = _read_evidence(args.evidence)
    names = ("brain", "snapshot", "owner", "block_hash", "log_key", "require")
    expected: dict[str, Any] = {name: getattr(args, name) or "" for name in names}
    try:
        with open(args.content, "rb", buffering=0) if args.content else nullcontext() as content:
            return check_evidence(data, content=content, witnesses=args.witness, **expected)
    except OSError as error:
        raise _cannot_read_error(args.content, error) from error


def _read_evidence(name: str) -> bytes:
    try:
        if name != "-":
            with open(name, "rb") as source:
                return source.read(MAX_EVIDENCE_BYTES + 1)
        if sys.stdin is not None:
            if sys.stdin.isatty():
                sys.stderr.write("Reading the evidence from standard input; end with Ctrl-D\n")
            return sys.stdin.buffer.read(MAX_EVIDENCE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _cannot_read_error(name, error) from error
    raise InvalidInput(
        "standard input is closed", code="no_input", hint="name the file of the evidence"
    )


def _cannot_read_error(name: str, error: OSError | ValueError) -> InvalidInput:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InvalidInput(
        f"{name} cannot be read: {why}",
        code="cannot_read",
        hint="check the path, and who may read the file",
    )


def _print_error(error: BrainError, as_json: bool) -> int:
    """Print an error on stderr; if stderr is closed, it is lost."""
    with suppress(OSError, ValueError, BrainError):
        _write_text(sys.stderr, evidence_report.render_error(error, as_json))
    return _flush_streams(error.exit_status)


def _write_text(stream: TextIO | None, text: str) -> None:
    """Write `text`; escape characters that the encoding of the stream lacks."""
    if stream is None:
        raise BrainError(
            "standard output is closed", code="output_failed", hint="redirect it to a file"
        )
    try:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise BrainError(
            f"the result cannot be written to standard output: {error}",
            code="output_failed",
            hint="check the disk and the program that reads the output",
        ) from error


def _flush_streams(status: int) -> int:
    """Flush the streams, so that the interpreter exits without an error about them."""
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
