"""Names of files that usually hold secrets: left out of brains, and hidden from programs."""

from __future__ import annotations

SECRET_FILES = frozenset({".netrc", ".pypirc", ".npmrc", ".git-credentials"})
KEY_PREFIXES = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")
KEY_SUFFIXES = (".pem", ".key", ".p12", ".pfx", ".p8", ".ppk", ".jks", ".keystore", ".kdbx")


def is_secret_file_name(name: str) -> bool:
    """Tell whether a file called `name` usually holds secrets."""
    low = name.lower()
    is_key = low.startswith(KEY_PREFIXES) or low.endswith(KEY_SUFFIXES)
    return is_key or low in SECRET_FILES or low.startswith(".env")
