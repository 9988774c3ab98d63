"""Say in one line why a program failed, from what it printed; never fails itself."""

from __future__ import annotations

import re

from ..errors import printable_text

MAX_SUMMARY_CHARS = 200
NO_OUTPUT = "it exited 0 but printed nothing"
_ERROR_LINE = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Iteration)\b.*")
_SYSTEM_LINE = re.compile(r".*(?:Syntax Error Detected|SYSTEM ERROR):.*")


def summarize_failure(stderr: bytes, stdout: bytes) -> str:
    """Return the cause in at most 200 characters.

    The last error line of a traceback; else a line that tells of a syntax or system error; else
    that nothing was printed; else the first line that says anything.
    """
    errors = stderr.decode(errors="replace").splitlines()
    lines = [line.strip() for line in [*errors, *stdout.decode(errors="replace").splitlines()]]
    found = [line for line in map(str.strip, errors) if _ERROR_LINE.fullmatch(line)]
    found = found[-1:] or [line for line in lines if _SYSTEM_LINE.fullmatch(line)]
    found = found or [line for line in lines if line] or [NO_OUTPUT]
    return printable_text(found[0], MAX_SUMMARY_CHARS)
