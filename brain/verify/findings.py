"""Make findings of severity error."""

from __future__ import annotations

from ..errors import BrainError
from ..results import Finding


def error_finding(code: str, message: str, snapshot: str = "", path: str = "") -> Finding:
    """Return a finding of severity error; `snapshot` is a full id as text, "" for none."""
    return Finding(code, "error", snapshot, path, message)


def finding_from_error(error: BrainError, snapshot: str = "") -> Finding:
    """Return the finding that an exception is."""
    return error_finding(error.code, error.message, snapshot)
