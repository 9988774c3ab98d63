"""`brain config`: the settings of the user, one command over the table of all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from brain.errors import InvalidInput, NotFound

from ..command import BASIC_EXITS, argument, brain_command, flag
from ..context import App
from ..output import emit
from ..params import TextType
from ..settings import config_file
from ..settings.config_file import MAIN_FIELDS, SETTINGS, Table
from ..terminal import escape

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from brain.util.settings import SettingsFormat


class SettingType(TextType):
    """The key of a setting, or the name of a table; a shell completes the keys."""

    name = "setting"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the keys that begin with `incomplete`, with those of the ledgers there are."""
        from click.shell_completion import CompletionItem

        try:
            ledgers = [*config_file.read_table("ledger")]
        except (InvalidInput, OSError):
            ledgers = []
        keys = (
            (key.replace("*", name), setting.help)
            for key, setting in SETTINGS.items()
            for name in (ledgers if "*" in key else [""])
        )
        return [CompletionItem(key, help=text) for key, text in keys if key.startswith(incomplete)]


@brain_command(
    "config",
    examples=(
        "brain config",
        "brain config model anthropic:claude-haiku-4-5",
        "brain config model.key-file ~/keys/anthropic",
        "brain config sign default",
        "brain config ledger.sepolia.rpc https://node.example.org https://other.example.org",
        "brain config --unset ledger.sepolia",
    ),
    exits=BASIC_EXITS,
)
@argument("key", required=False, type=SettingType("bad_setting"))
@argument("value", nargs=-1, type=TextType("bad_setting"))
@flag("--unset", help="Remove the setting, or all of a table.")
def config_command(app: App, key: str | None, value: tuple[str, ...], unset: bool) -> None:
    """Show or change the settings.

    Each is shown with where it comes from. KEY is dotted, such as model.timeout or
    ledger.NAME.rpc; the name of a table, such as model, shows all of it. With a VALUE, sign is
    sign.key, model is model.name, embedder is embedder.name and experience is experience.url.
    All are in one file, config.toml in your settings folder or the file that BRAIN_CONFIG
    names, of which other bytes stay as they are. A set environment variable takes precedence,
    and is named. Keys and passwords are neither stored nor shown: the file names the file with
    a key, and of URLs of ledgers and databases the host is shown.

    A ledger is named by its first setting. What its nodes say of the chain (chain id, genesis
    hash, price cap, block of the contract) is stored then, so that no other chain can replace
    it. Another provider of the model drops the other settings of the model.
    """
    if key is None:
        if unset:
            raise click.UsageError("--unset requires a KEY.")
        tables: list[Table] = [(name,) for name in MAIN_FIELDS]
        tables += [("ledger", name) for name in sorted(config_file.read_table("ledger"))]
        rows = [row for table in tables for row in _rows(table)]
        _show(app, [row for row in rows if row["source"] or not row["key"].startswith("ledger.")])
        return
    table, field = _parse_key(key)
    if not value and not unset:
        rows = [row for row in _rows(table) if not field or row["key"].endswith(f".{field}")]
        _show(app, rows, helps=True)
        return
    if value and unset:
        raise click.UsageError("--unset cannot be combined with a VALUE.")
    if value:
        changed = _changes(app, table, field or MAIN_FIELDS.get(table[0], ""), value)
    else:
        before = config_file.read_table(*table)
        is_all = field in ("", MAIN_FIELDS.get(table[0]))
        changed = dict.fromkeys(before if is_all else before.keys() & {field})
        if not changed:
            hint = "`brain config` shows the settings"
            raise NotFound(f"{key} is not set", code="not_set", hint=hint)
    config_file.change_table(table, changed)
    _show(app, [row for row in _rows(table) if row["source"] == "file"])


def _parse_key(key: str) -> tuple[Table, str]:
    """Return the table and the field of a key, "" for all of the table."""
    names = key.replace("_", "-").split(".")
    size = 2 if names[0] == "ledger" else 1
    table, fields = tuple(names[:size]), names[size:]
    is_table = len(table) == size and (size == 2 or names[0] in MAIN_FIELDS)
    if is_table and (not fields or config_file.find_setting(table, ".".join(fields))):
        if size == 2:
            config_file.check_ledger_name(table[1])
        return table, "".join(fields)
    from ..registry import suggest_commands

    close = suggest_commands("config", key[:80], SETTINGS)
    ask = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise click.UsageError(f"There is no setting {key[:80]!r}.{ask}")


def _changes(app: App, table: Table, field: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the fields to write so that a field has a value; it is checked with the others."""
    setting, key = config_file.find_setting(table, field), ".".join((*table, field))
    if setting is None:
        raise click.UsageError(f"Name a setting of the ledger, such as {key}rpc.")
    if len(words) > 1 and setting.form != "list":
        raise click.UsageError(f"{key} takes one VALUE.")
    if not all(words):
        raise click.UsageError("The VALUE is empty; --unset removes a setting.")
    value: Any = list(words) if setting.form == "list" else words[0]
    if setting.form == "file":
        value = os.path.abspath(os.path.expanduser(value))
    if setting.form == "number" and value.isascii() and value.isdigit() and len(value) < 60:
        value = int(value)
    before = config_file.read_table(*table)
    if table[0] == "sign":
        return {field: _own_key(app, value)}
    if table[0] == "ledger":
        return _ledger_changes(app, table[1], before, field, value)
    from ..settings import user_models

    format, kept = _format(table[0]), dict(before)
    if table[0] == "model" and field == "name" and value != before.get("name"):
        same = value.partition(":")[0] == str(before.get("name")).partition(":")[0]
        kept = {key: old for key, old in before.items() if same and not key.startswith("price-")}
        if dropped := sorted(before.keys() - kept.keys() - {"name"}):
            app.print_note(f"Note: of the model before, removed: {', '.join(dropped)}")
    user_models.parse_table(format, {**kept, field: value})
    if field == "key-file":
        try:
            format.read_key(value)
        except InvalidInput as error:  # the user may write it later
            app.print_note("; ".join(filter(None, (f"Note: {error.message}", error.hint))))
    return {**dict.fromkeys(before.keys() - kept.keys()), field: value}


def _own_key(app: App, text: str) -> str:
    from brain.trust import keyfile

    from ..settings import user_keys

    key = user_keys.own_key_name(text)
    if keyfile.describe_key(user_keys.keys_folder(), key).encrypted:
        app.print_note("Note: set BRAIN_PASSPHRASE_FILE, since this key has a passphrase")
    return key


def _ledger_changes(
    app: App, name: str, before: Mapping[str, Any], field: str, value: Any
) -> dict[str, Any]:
    from ..settings import user_ledgers

    if field == "finality" and value.isascii() and value.isdigit():
        value = int(value)
    after = user_ledgers.merge_ledger(name, before, field, value)
    if field == "contract" and "rpc" in after and not after.get("since"):
        app.print_note(user_ledgers.UNKNOWN_SINCE_NOTE.replace("NAME", name))
    return {**dict.fromkeys(before.keys() - after.keys()), **after}


def _format(table: str) -> SettingsFormat[Any]:
    if table == "model":
        from brain.models.config import MODEL_SETTINGS

        return MODEL_SETTINGS
    if table == "embedder":
        from brain.search.embedder import EMBEDDER_SETTINGS

        return EMBEDDER_SETTINGS
    from brain.experience.settings import EXPERIENCE_SETTINGS

    return EXPERIENCE_SETTINGS


# Showing


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    """Yield the settings of a table: key, value as it is shown, source and variable.

    Raises `InvalidInput` for a value in the file that no program may have.
    """
    from ..settings import user_models

    found, settings = config_file.read_table(*table), None
    if table[0] not in ("sign", "ledger"):
        format = _format(table[0])
        settings = user_models.parse_table(format, found) or format.settings_type()
    start = "ledger.*" if table[0] == "ledger" else table[0]
    for key, setting in SETTINGS.items():
        head, _, field = key.rpartition(".")
        if head != start:
            continue
        value, source, variable = found.get(field), "file", setting.variable
        if variable in os.environ:
            value, source = os.environ[variable], "environment"
        elif field in found:
            variable = ""
        elif variable := _key_variable(table[0], field, settings):
            source = "environment"  # it holds the key itself, which is not shown
        elif settings is not None:
            value = getattr(settings, user_models.field_name(field))
        shown = _shown(field, value)
        if source == "file" and field not in found:
            source = "" if shown is None else "default"
        yield {
            "key": ".".join((*table, field)),
            "value": shown,
            "source": source or None,
            "variable": variable or None,
        }


def _key_variable(table: str, field: str, settings: Any) -> str:
    """Return the set environment variable that has the key in place of a file, "" for none."""
    from ..settings import user_models

    if field == "keystore":
        return user_models.set_variable(["BRAIN_LEDGER_KEY"])
    if field != "key-file" or not settings.model:
        return ""
    if table == "model":
        return user_models.set_variable(user_models.model_key_variables(settings))
    return user_models.set_variable(user_models.embedder_key_variables(settings.base_url))


def _shown(field: str, value: Any) -> Any:
    """Return a value for display: of URLs that may hold a password or a key, the host."""
    if field == "rpc" and value:
        from brain.chain.evm.rpc import url_host

        return [url_host(url) for url in ([value] if isinstance(value, str) else value)]
    if field == "url" and value:
        from brain.experience.settings import describe_url

        return describe_url(value)
    return value if value != "" else None


def _show(app: App, rows: Sequence[Mapping[str, Any]], helps: bool = False) -> None:
    path = str(config_file.settings_path())
    emit(app, {"file": path, "settings": rows}, _lines(path, rows, helps))


def _lines(path: str, rows: Sequence[Mapping[str, Any]], helps: bool) -> Iterator[str]:
    yield f"Settings in {escape(path)}"
    width = max((len(row["key"]) for row in rows), default=0)
    for row in rows:
        value = row["value"]
        shown = ", ".join(value) if isinstance(value, list) else "-" if value is None else value
        source = row["variable"] or ("" if row["source"] == "file" else row["source"] or "not set")
        where = f"  ({source})" if source else ""
        yield f"{row['key'].ljust(width)}  {escape(str(shown))}{where}"
        if helps:
            table, _, field = row["key"].rpartition(".")
            setting = config_file.find_setting(tuple(table.split(".")), field)
            yield f"  {setting.help if setting else ''}."
