"""What is left out of a brain unless `.brainignore` takes it back in.

In gitignore syntax, with names compared in lower case:

    .brain/  .brain.new/  .git/  .brain-tmp-*     never taken back in
    .env*  .DS_Store  Thumbs.db                   files and folders
    *.pem  *.key  *.p12  *.pfx  *.p8  *.ppk  *.jks  *.keystore  *.kdbx
    id_rsa*  id_dsa*  id_ecdsa*  id_ed25519*  .netrc  .pypirc  .npmrc  .git-credentials
    *-wal  *-shm  *-journal                       beside databases
    *.swp  *.swo  *.swx  *~  .#*  #*#  *.pyc      files only, as the two lines above
    .~lock.*  .goutputstream-*  *.kate-swp  *___jb_tmp___  *___jb_old___
    __pycache__/  node_modules/  .venv/  .cache/  .mypy_cache/  .pytest_cache/
    .ruff_cache/  .tox/  .nox/  .hypothesis/  .ipynb_checkpoints/
"""

from __future__ import annotations

from ..objects import paths

TEMPORARY = paths.TEMPORARY
"""How the name of every file that is still being written begins."""

VERSION = b"2"
"""Enters the fingerprint of the rules; raised whenever a list below changes."""

_ANY = frozenset({".ds_store", "thumbs.db"})
_FOLDERS = frozenset(
    {
        "__pycache__",
        "node_modules",
        ".venv",
        ".cache",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".nox",
        ".hypothesis",
        ".ipynb_checkpoints",
    }
)
_FILES = frozenset({".netrc", ".pypirc", ".npmrc", ".git-credentials"})
_KEY_STARTS = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")
_KEY_ENDS = (".pem", ".key", ".p12", ".pfx", ".p8", ".ppk", ".jks", ".keystore", ".kdbx")
_FILE_STARTS = (*_KEY_STARTS, ".#", ".~lock.", ".goutputstream-")
_FILE_ENDS = (
    *_KEY_ENDS,
    *("-wal", "-shm", "-journal"),
    *(".swp", ".swo", ".swx", "~", ".pyc", ".kate-swp", "___jb_tmp___", "___jb_old___"),
)


def left_out(name: str, is_folder: bool) -> bool:
    """Tell whether the default rules leave out a file or folder called `name`."""
    low = name.lower()
    if low.startswith(".env") or low in _ANY:
        return True
    if is_folder:
        return low in _FOLDERS
    if low[0] == low[-1] == "#" and len(low) > 1:
        return True
    return low in _FILES or low.startswith(_FILE_STARTS) or low.endswith(_FILE_ENDS)


def is_secret(name: str) -> bool:
    """Tell whether a file called `name`, which the rules leave out, is one of secrets."""
    low = name.lower()
    return low.startswith((".env", *_KEY_STARTS)) or low in _FILES or low.endswith(_KEY_ENDS)
