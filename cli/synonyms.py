"""The commands that an unknown word may mean, for hints."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

COMMAND_SYNONYMS: dict[str, dict[str, tuple[str, ...]]] = {
    "": {
        "add": ("snapshot", "skill upsert"),
        "ancestry": ("prove --ancestor", "verify FILE"),
        "cat": ("skill view",),
        "check": ("verify", "skill check"),
        "check-proof": ("verify FILE",),
        "checkout": ("switch",),
        "clone": ("fork",),
        "delete": ("skill delete",),
        "find": ("grep", "index --task"),
        "lineage": ("log --graph", "prove --ancestor"),
        "list": ("skill list",),
        "new": ("init", "skill upsert"),
        "op": ("log --ops",),
        "patch": ("skill upsert",),
        "pull": ("adopt",),
        "push": ("publish",),
        "receipt": ("show --run", "verify FILE", "adopt FILE"),
        "remove": ("skill delete",),
        "reset": ("undo", "restore"),
        "revert": ("undo", "restore SKILL@VERSION"),
        "rm": ("skill delete",),
        "rollback": ("undo", "restore"),
        "update": ("skill upsert",),
        "version": ("--version",),
    },
    "chain": {
        "accept": ("owner --accept",),
        "account": ("brain config ledger.NAME.keystore FILE",),
        "authorize": ("commit --unsigned",),
        "cancel": ("commit",),
        "check": ("brain verify FILE",),
        "checkpoint": ("status", "brain verify --ledger local --compare"),
        "contract": ("deploy",),
        "relay": ("commit --unsigned",),
        "resend": ("commit",),
        "send": ("record",),
        "signer": ("owner --signer",),
        "speed-up": ("commit",),
        "supersede": ("owner --disown",),
        "transfer": ("owner --offer",),
        "verify": ("brain verify --ledger",),
    },
    "config": {
        "ledger": ("ledger.NAME.rpc",),
        "list": ("brain config",),
        "remove": ("brain config --unset ledger.NAME",),
    },
    "key": {
        "bind": ("brain verify --ledger",),
        "retire": ("revoke --keep-signatures",),
        "threshold": ("trust --threshold",),
        "trusted": ("list",),
    },
    "memory": {"delete": ("remove",), "rm": ("remove",), "user": ("show user",)},
    "skill": {
        "history": ("brain log SKILL",),
        "log": ("brain log SKILL",),
        "remove": ("delete",),
        "revert": ("brain restore SKILL@VERSION",),
        "rm": ("delete",),
        "rollback": ("brain restore SKILL@VERSION",),
        "similar": ("check",),
        "versions": ("brain log SKILL",),
    },
}
"""Group to unknown word to the commands to suggest, without the name of the group."""

CAREFUL_COMMANDS = frozenset(
    "accept batch commit delete deploy gc open owner redact redo reject remove repair restore"
    " retire revert revoke undo unpin".split()
)
"""Commands that destroy, overwrite, decide or pay: no other word is taken for one of them."""


def suggest_commands(group: str, word: str, names: Iterable[str]) -> list[str]:
    """Return the commands of a group that `word`, which is none of them, may mean."""
    known = COMMAND_SYNONYMS.get(group, {}).get(word)
    if known:
        return list(known)
    close = difflib.get_close_matches(word, names)
    return [name for name in close if name not in CAREFUL_COMMANDS or _is_slip(word, name)]


def _is_slip(word: str, name: str) -> bool:
    """Tell whether `word` is `name` with letters swapped or doubled, which makes no other word."""
    letters, wanted = (sorted(re.sub(r"(.)\1+", r"\1", text)) for text in (word, name))
    return word[:1] == name[:1] and letters == wanted


_SETTINGS_OPTIONS = {
    "ledger.NAME": "rpc quorum chain-id genesis contract creator since finality max-fee-gwei"
    " max-cost-wei keystore account",
    "model": "base-url key-file max-tokens timeout retries tool-rounds price-in price-out",
}
RENAMED_OPTIONS: dict[str, dict[str, str]] = {
    "blame": {"--rev": "an argument: brain blame SLUG REV"},
    "fork": {"--rev": "an argument: brain fork DIR REV"},
    "grep": {"--rev": "an argument: brain grep PATTERN REV"},
    "log": {"--skill": "an argument: brain log SKILL"},
    "skill list": {"--rev": "an argument: brain skill list REV"},
    "skill view": {"--rev": "an argument: brain skill view SLUG REV"},
    "secrets": {"--rev": "an argument: brain secrets REV"},
    "config": {
        "--off": "--unset",
        **{
            f"--{name}": f"an argument: brain config {table}.{name} VALUE"
            for table, names in _SETTINGS_OPTIONS.items()
            for name in names.split()
        },
    },
    "index": {"--limit": "--max-chars"},
    "prompt": {"--limit": "--max-chars"},
    "proposal accept": {"--unshown": "--binary"},
    "watch": {"--quiet": "--debounce", "--longest": "--max-wait"},
}
"""Command to an earlier spelling of an option to its name."""
