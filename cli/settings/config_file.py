"""The settings of the user: one TOML file, and the table of what stands in it.

    [sign]
    key = "ada"
    [model]
    name = "anthropic:claude-haiku-4-5"
    [ledger.sepolia]
    rpc = ["https://…"]

Keys are dotted, such as `ledger.sepolia.rpc`. The pinned roots are no settings: they have a file
of their own.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

from brain.errors import InvalidInput, printable_text

_PLATFORM: str = sys.platform
_OLD_FILES = ("ledgers.json", "model.json", "embedder.json", "experience.json", "signing.json")
_LEDGER_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)


class Setting(NamedTuple):
    """What a setting means, and its form; a set `variable` takes precedence over the file."""

    help: str
    form: Literal["text", "number", "either", "file", "list"] = "text"
    variable: str = ""


_KEY_FILE = "The file with the key, which only you may read; the key itself is never stored"
_SECONDS = "The timeout of a request in seconds"

SETTINGS: Mapping[str, Setting] = {
    "sign.key": Setting("Your key that signs each new snapshot", variable="BRAIN_SIGN_KEY"),
    "model.name": Setting(
        "The model that makes skills from runs; anthropic:, openai: or bedrock:NAME"
    ),
    "model.base-url": Setting("Another endpoint with the protocol of the provider"),
    "model.key-file": Setting(_KEY_FILE, "file"),
    "model.max-tokens": Setting("The maximum length of an answer", "number"),
    "model.timeout": Setting(_SECONDS, "number"),
    "model.retries": Setting("How often a request is sent again", "number"),
    "model.tool-rounds": Setting("In how many replies it may look at skills by tools", "number"),
    "model.price-in": Setting("What a million tokens in cost"),
    "model.price-out": Setting("What a million tokens out cost"),
    "embedder.name": Setting("The model that selects skills by meaning; without one, words do"),
    "embedder.base-url": Setting("An endpoint with the protocol of OpenAI, which gets the texts"),
    "embedder.key-file": Setting(_KEY_FILE, "file"),
    "embedder.timeout": Setting(_SECONDS, "number"),
    "experience.url": Setting(
        "A PostgreSQL database for the experience of several machines",
        variable="BRAIN_EXPERIENCE_URL",
    ),
    "ledger.*.rpc": Setting("The URLs of nodes of the chain", "list"),
    "ledger.*.quorum": Setting("How many nodes must agree", "number"),
    "ledger.*.chain-id": Setting("The chain id; the nodes are asked for it", "number"),
    "ledger.*.genesis": Setting("The hash of block 0; the nodes are asked for it"),
    "ledger.*.contract": Setting("The address of the registry contract"),
    "ledger.*.creator": Setting("The account that opened the brains"),
    "ledger.*.since": Setting("The block in which the contract was created", "number"),
    "ledger.*.finality": Setting(
        "When a block is final: safe, finalized, or so many blocks later", "either"
    ),
    "ledger.*.max-fee-gwei": Setting("The maximum fee for one gas", "either"),
    "ledger.*.max-cost-wei": Setting("The maximum cost of one transaction", "number"),
    "ledger.*.keystore": Setting("The key that sends transactions (keystore v3)", "file"),
    "ledger.*.account": Setting("An account that signs elsewhere"),
}
"""Dotted key to its setting; `*` is the name of a ledger."""

MAIN_FIELDS = {"sign": "key", "model": "name", "embedder": "name", "experience": "url"}
"""Table to the field that the name of the table means; without it, the others have no meaning."""

Table = tuple[str, ...]
"""The names down to a table: `("model",)`, or `("ledger", "sepolia")`."""


def user_settings_folder() -> Path:
    """Return the folder of the settings of `brain`."""
    base = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.environ.get("HOME", "") + "/.config"
    if _PLATFORM == "linux" and os.path.isabs(base):
        return Path(base, "brain")  # as platformdirs has it, without the 7 ms of importing it
    import platformdirs

    return platformdirs.user_config_path("brain")


def settings_path() -> Path:
    """Return the file of the settings: BRAIN_CONFIG, else one in the user's folder."""
    named = os.environ.get("BRAIN_CONFIG")
    return Path(named) if named else user_settings_folder() / "config.toml"


def find_setting(table: Table, field: str) -> Setting | None:
    """Return the setting of a field, None for an unknown one."""
    start = ("ledger", "*") if table[0] == "ledger" and len(table) == 2 else table
    return SETTINGS.get(".".join((*start, field)))


def read_settings() -> dict[str, Any]:
    """Return the tables of the file, {} if there is none. Raises `InvalidInput` (`bad_settings`).

    What the file has and `SETTINGS` lacks is refused by name: it would have no effect.
    """
    path = settings_path()
    try:
        with path.open("rb") as file:
            return _parse(path, file.read(_MAX_SETTINGS_BYTES + 1))
    except FileNotFoundError:
        folder = path.parent
    for name in _OLD_FILES:
        if (folder / name).exists():
            raise InvalidInput(
                f"{printable_text(folder / name)} is of an earlier version, and is not read",
                code="bad_settings",
                hint="remove it, and set again what it says with `brain config KEY VALUE`;"
                " `brain config` shows the keys",
            )
    return {}


_MAX_SETTINGS_BYTES = 1 << 20
_TYPES: Mapping[str, tuple[type, ...]] = {"number": (int,), "either": (str, int, float)}
_FORM_NAMES = {
    "number": "a whole number",
    "either": "a number, or text in quotes",
    "list": "a list of texts",
}


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    import tomllib

    if len(data) > _MAX_SETTINGS_BYTES:
        _refuse(path, f"it is larger than {_MAX_SETTINGS_BYTES} bytes")
    try:
        found = tomllib.loads(data.decode())
    except UnicodeDecodeError:
        _refuse(path, "it is not UTF-8")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        _refuse(path, f"it is not TOML: {error}")
    tables: dict[Table, Any] = {(name,): fields for name, fields in found.items()}
    if isinstance(ledgers := found.get("ledger"), dict):
        del tables["ledger",]
        tables |= {("ledger", name): fields for name, fields in ledgers.items()}
    for table, fields in tables.items():
        if not isinstance(fields, dict):
            _refuse(path, f"{'.'.join(table)} is not a table")
        for field, value in fields.items():
            setting, key = find_setting(table, field), ".".join((*table, field))
            if setting is None:
                _refuse(path, f"there is no setting {key}")
            values = value if setting.form == "list" and isinstance(value, list) else [value]
            if not all(type(one) in _TYPES.get(setting.form, (str,)) for one in values):
                _refuse(path, f"{key} is not {_FORM_NAMES.get(setting.form, 'text, in quotes')}")
        if table[0] == "ledger" and not _is_ledger_name(table[1]):
            _refuse(path, f"a ledger cannot be called '{table[1]}'")
    return found


def _refuse(path: Path, problem: str) -> NoReturn:
    raise InvalidInput(
        f"{printable_text(path)}: {printable_text(problem)}",
        code="bad_settings",
        hint="correct it in an editor; `brain config` shows the settings that there are",
    )


def _is_ledger_name(name: str) -> bool:
    usual = len(name) <= 40 and _LEDGER_NAME.fullmatch(name)
    return bool(usual) and name not in ("local", "all")


def check_ledger_name(name: str) -> None:
    """Raise `InvalidInput` (`bad_ledger`) for what a ledger cannot be called."""
    if not _is_ledger_name(name):
        raise InvalidInput(
            f"a ledger cannot be called '{printable_text(name, 80)}'",
            code="bad_ledger",
            hint="use up to 40 lower-case letters, digits and hyphens; local and all are reserved",
        )


def read_table(*table: str) -> dict[str, Any]:
    """Return the fields of a table, {} if it is missing. Raises as `read_settings`."""
    found = read_settings()
    for name in table:
        found = found.get(name, {})
    return found


def change_table(table: Sequence[str], fields: Mapping[str, Any]) -> None:
    """Set fields of a table, and remove those that are None; all other bytes of the file stay.

    Raises `InvalidInput` (`bad_settings`) and `OSError`.
    """
    from brain.util.files import write_atomic
    from brain.util.settings import exclusive_lock

    from .toml_lines import set_toml

    path = Path(os.path.realpath(settings_path()))  # keeps a link, such as one to a dotfiles folder
    with exclusive_lock(path):
        read_settings()
        text = path.read_bytes().decode() if path.exists() else ""
        if text and path.stat().st_uid != os.geteuid():
            _refuse(path, "it belongs to another user")
        try:
            made = set_toml(text, table, fields)
        except ValueError as error:
            _refuse(path, f"it was not changed: {error}")
        write_atomic(path, made.encode())


def default_signing_key() -> str | None:
    """Return the name of the key that signs new snapshots, None for none.

    BRAIN_SIGN_KEY takes precedence over the setting; an empty one turns signing off. Raises
    `InvalidInput` (`bad_settings`).
    """
    named = os.environ.get("BRAIN_SIGN_KEY")
    return (read_table("sign").get("key") if named is None else named) or None
