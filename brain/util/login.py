"""The name of the user of this machine."""

from __future__ import annotations


def login_name() -> str:
    """Return the name the user logged in with, "brain" if there is none."""
    import getpass

    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "brain"
