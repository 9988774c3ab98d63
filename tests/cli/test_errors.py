"""Every failure becomes one clear message and the right exit status."""

import errno
import signal

import click
import pytest
from brain_cli.error_report import describe_error, print_error
from brain_cli.signals import Terminated

from brain import errors as library
from brain.errors import error_from_os
from tests.cli.conftest import validate


class Odd(Exception):
    """An exception nobody foresaw."""


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        (library.BrainError("x"), 1, "failure"),
        (library.InvalidInput("x", code="bad_name"), 1, "bad_name"),
        (library.VerificationFailed("x"), 3, "verification_failed"),
        (library.NoBrain("x"), 10, "no_brain"),
        (library.Locked("x"), 11, "locked"),
        (library.Conflict("x"), 12, "conflict"),
        (click.UsageError("x"), 2, "usage"),
        (click.BadParameter("x"), 2, "usage"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (Terminated(signal.SIGTERM), 143, "terminated"),
        (Terminated(signal.SIGHUP), 129, "terminated"),
        (BrokenPipeError(errno.EPIPE, "x"), 141, "broken_pipe"),
        (MemoryError(), 1, "out_of_memory"),
        (RecursionError("x"), 1, "too_deep"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "disk_full"),
        (OSError(errno.EMFILE, "Too many open files"), 1, "too_many_open_files"),
        (PermissionError(errno.EACCES, "Permission denied"), 1, "permission_denied"),
        (OSError(errno.EIO, "Input/output error"), 1, "io_error"),
        (Odd("x"), 1, "internal"),
    ],
)
def test_an_exception_has_a_status_and_a_code(problem, status, code):
    failure = describe_error(problem)
    assert (failure.status, failure.code) == (status, code)


def test_an_error_is_a_line_and_its_hint_another(capsys):
    print_error(
        describe_error(library.NoBrain("no brain here", hint="run 'brain init'")), as_json=False
    )
    out, err = capsys.readouterr()
    assert (out, err) == ("", "Error: no brain here\nHint: run 'brain init'\n")


def test_an_error_in_json_has_code_message_and_hint(capsys):
    import json

    print_error(describe_error(library.Locked("busy \udcff")), as_json=True)
    document = json.loads(capsys.readouterr().err)
    validate("error", document)
    assert document == {"error": {"code": "locked", "message": "busy \\udcff", "hint": None}}


def test_a_file_that_cannot_be_opened_is_named():
    failure = describe_error(PermissionError(errno.EACCES, "Permission denied", "a\x1bb"))
    assert failure.message == "access to a\\x1bb is denied"
    assert failure.hint == "check who may read and write it, and the folder it is in"
    found = error_from_os(PermissionError(errno.EACCES, "Permission denied", "keys"))
    assert found.hint == failure.hint, "it may be no folder of a brain at all"


def test_a_message_cannot_steer_the_terminal(capsys):
    print_error(describe_error(library.BrainError("a\x1b[2J\rb\u202e")), as_json=False)
    assert capsys.readouterr().err == "Error: a\\x1b[2J\\rb\\u202e\n"


def test_a_broken_pipe_says_nothing(capsys):
    print_error(describe_error(BrokenPipeError()), as_json=False)
    assert capsys.readouterr().err == ""


def test_an_internal_error_is_one_line_without_a_traceback(capsys):
    problem = Odd("boom\n\x07")
    print_error(describe_error(problem), as_json=False, problem=problem)
    assert capsys.readouterr().err == (
        "Error: internal error: Odd: boom\\n\\x07\n"
        "Hint: BRAIN_DEBUG=1 prints a traceback; please report it\n"
    )


def test_a_traceback_is_shown_on_request(capsys, monkeypatch):
    monkeypatch.setenv("BRAIN_DEBUG", "1")
    try:
        raise Odd("boom")
    except Odd as problem:
        print_error(describe_error(problem), as_json=False, problem=problem)
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err and "Error: internal error" in err
