"""The commands of `brain config`: ledgers, signing, model, embedder, experience."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from brain.errors import InvalidInput

from ..command import BASIC_EXITS, argument, brain_command, flag, option, repeated_option
from ..context import App
from ..error_report import USAGE, Failure
from ..output import emit
from ..params import CountType, TextType
from ..render.ledgers import ledger_lines
from ..settings import user_experience, user_keys, user_signing
from ..settings.evm_ledgers import UNKNOWN_SINCE_NOTE, describe_ledger, merge_ledger_settings
from ..settings.settings_folder import ledger_settings_path
from ..settings.user_ledgers import LOCAL_LEDGER, ledgers_folder
from ..settings.user_models import (
    describe_embedder,
    describe_model,
    embedder_lines,
    embedder_settings_path,
    merge_embedder_settings,
    merge_model_settings,
    model_lines,
    model_settings_path,
)
from ..terminal import escape

if TYPE_CHECKING:
    from brain.util.settings import SettingsFormat


_LEDGER_TEXT = TextType("bad_ledger")


@brain_command(
    "ledger",
    examples=(
        "brain config ledger sepolia --rpc http://localhost:8545 --keystore ~/keys/sepolia.json",
        "brain config ledger sepolia --contract 0x5fbdb2315678afecb367f032d93f642f64180aa3",
    ),
    exits=BASIC_EXITS,
)
@argument("name", type=_LEDGER_TEXT)
@repeated_option("--rpc", type=_LEDGER_TEXT, metavar="URL", help="The URL of a node; repeatable.")
@option("--quorum", type=CountType(), help="How many nodes must agree.")
@option("--chain-id", type=CountType(), help="The chain id, if NAME is not a known chain.")
@option("--genesis", type=_LEDGER_TEXT, metavar="HASH", help="The hash of block 0.")
@option(
    "--contract", type=_LEDGER_TEXT, metavar="ADDRESS", help="The address of the registry contract."
)
@option(
    "--creator", type=_LEDGER_TEXT, metavar="ADDRESS", help="The account that opened the brains."
)
@option("--since", type=CountType(), help="The block in which the contract was created.")
@option(
    "--finality",
    type=_LEDGER_TEXT,
    metavar="WHEN",
    help="When a block is final: safe, finalized, or a number of blocks.",
)
@option("--max-fee-gwei", type=_LEDGER_TEXT, metavar="GWEI", help="The maximum fee for one gas.")
@option(
    "--max-cost-wei", type=_LEDGER_TEXT, metavar="WEI", help="The maximum cost of one transaction."
)
@option(
    "--keystore",
    type=_LEDGER_TEXT,
    metavar="FILE",
    help="The key that sends transactions (keystore v3).",
)
@option(
    "--account",
    type=_LEDGER_TEXT,
    metavar="ADDRESS",
    help="An account that signs elsewhere.",
)
def config_ledger_command(app: App, name: str, **changes: Any) -> None:
    """Add or change a ledger on a chain.

    Options that are not given keep their values. The chain id and the genesis hash of
    mainnet, sepolia, base and base-sepolia are built in; for any other chain they are
    read from the nodes now and stored, so that no other chain can replace it later. If
    --contract is given without --since, the block is found by the nodes.
    """
    from brain.chain import ledger_config

    path = ledger_settings_path()
    changed = merge_ledger_settings(name, ledger_config.load_ledgers(path).get(name, {}), changes)
    ledger_config.save_ledger(path, name, changed)
    if changes["contract"] and not changed["since"]:
        app.print_note(UNKNOWN_SINCE_NOTE)
    document = describe_ledger(name, changed)
    emit(app, document, ledger_lines(document))


@brain_command(
    "list", examples=("brain config list", "brain config list --json"), exits=BASIC_EXITS
)
def config_list_command(app: App) -> None:
    """List the ledgers, and the key that signs.

    Only the hosts of the nodes are shown, because their URLs often contain a key.
    """
    from brain.chain import ledger_config

    found = [
        describe_ledger(name, one)
        for name, one in ledger_config.load_ledgers(ledger_settings_path()).items()
    ]
    document: dict[str, Any] = {
        "file": str(ledger_settings_path()),
        "local": str(ledgers_folder() / LOCAL_LEDGER),
        "ledgers": found,
        "sign": user_signing.read_signing_setting(),
    }
    emit(app, document, [*_ledger_list_lines(found), _signing_line(document["sign"])])


def _ledger_list_lines(found: list[dict[str, object]]) -> Iterator[str]:
    path = escape(str(ledgers_folder() / LOCAL_LEDGER))
    yield f"{LOCAL_LEDGER}: the log of this machine, in {path}"
    for one in found:
        yield from ledger_lines(one)


@brain_command(
    "sign",
    examples=("brain config sign default", "brain config sign", "brain config sign --off"),
    exits=BASIC_EXITS,
)
@argument("key", metavar="[KEY]", required=False, type=TextType("bad_name"))
@flag("--off", help="Sign no snapshots by default.")
def config_sign_command(app: App, key: str | None, off: bool) -> None:
    """Set the key that signs new snapshots.

    KEY is the name of one of your keys (see 'brain key list'), or what 'brain key new'
    printed. From then on, every command signs the snapshots that it records, in any brain.
    BRAIN_SIGN_KEY takes precedence; if it is empty, nothing is signed. The passphrase of
    an encrypted key is read from BRAIN_PASSPHRASE_FILE. Without KEY, the setting is shown.
    """
    if off and key is not None:
        raise Failure("usage", "--off cannot be combined with KEY", "give one of them", USAGE)
    if key is not None:
        from brain.trust import keyfile

        key = user_keys.own_key_name(key)
        if keyfile.describe_key(user_keys.keys_folder(), key).encrypted:
            app.print_note("Note: set BRAIN_PASSPHRASE_FILE, since this key has a passphrase")
    if off or key is not None:
        user_signing.save_signing_setting(key)
    signing = user_signing.read_signing_setting()
    document = {"file": str(user_signing.signing_settings_path()), "key": signing}
    emit(app, document, [_signing_line(signing)])


def _signing_line(key: str | None) -> str:
    variable = os.environ.get(user_signing.SIGN_KEY_VARIABLE)
    if variable is None:
        return f"sign: {escape(key)}" if key else "sign: no key; `brain config sign KEY` sets one"
    chosen = escape(variable) or "no key"
    return f"sign: {chosen}, by {user_signing.SIGN_KEY_VARIABLE} (setting: {escape(key or 'none')})"


@brain_command("remove", examples=("brain config remove sepolia",), exits=BASIC_EXITS)
@argument("name", type=TextType("bad_ledger"))
def config_remove_command(app: App, name: str) -> None:
    """Remove the settings of a ledger.

    Only the settings are removed. Commitments stay on the chain; evidence and pending
    transactions stay in the folder of the ledgers.
    """
    from brain.chain import ledger_config

    ledger_config.save_ledger(ledger_settings_path(), name, None)
    emit(app, {"ledger": name}, [escape(f"{name} removed")])


_MODEL_TEXT = TextType("bad_model")


@brain_command(
    "model",
    examples=(
        "brain config model anthropic:claude-haiku-4-5 --key-file ~/keys/anthropic",
        "brain config model openai:qwen3 --base-url http://localhost:11434/v1",
        "brain config model",
        "brain config model --off",
    ),
    exits=BASIC_EXITS,
)
@argument("model", metavar="[PROVIDER:NAME]", required=False, type=_MODEL_TEXT)
@option(
    "--base-url",
    type=_MODEL_TEXT,
    metavar="URL",
    help="Another endpoint with the protocol of the provider.",
)
@option("--key-file", type=_MODEL_TEXT, metavar="FILE", help="The file with the key.")
@option("--max-tokens", type=CountType(), help="Maximum length of an answer.  [default: 8000]")
@option("--timeout", type=CountType(), help="Timeout of a request in seconds.  [default: 120]")
@option("--retries", type=CountType(), help="How often to retry.  [default: 2]")
@option(
    "--tool-rounds",
    type=CountType(),
    help="Let it look at skills with tools, in so many replies.  [default: 0, no tools]",
)
@option("--price-in", type=_MODEL_TEXT, metavar="PRICE", help="What a million tokens in cost.")
@option("--price-out", type=_MODEL_TEXT, metavar="PRICE", help="What a million tokens out cost.")
@flag("--off", help="Remove the model.")
def config_model_command(app: App, off: bool, **changes: Any) -> None:
    """Set the model that makes skills from runs.

    PROVIDER is anthropic, openai or bedrock; --base-url names another endpoint with the
    same protocol, such as a local one. Options that are not given keep their values, but
    another provider resets all of them, and another model its prices. The key is never
    stored: it is read from --key-file, else from BRAIN_MODEL_KEY, else, without --base-url,
    from ANTHROPIC_API_KEY, OPENAI_API_KEY or the credentials of AWS.
    """
    from brain.models.config import MODEL_SETTINGS

    store = _SettingsStore(model_settings_path(), MODEL_SETTINGS, merge_model_settings)
    settings = _update_settings(app, store, off, changes)
    document = describe_model(settings)
    emit(app, document, model_lines(document))


_EMBEDDER_TEXT = TextType("bad_embedder")


@brain_command(
    "embedder",
    examples=(
        "brain config embedder text-embedding-3-small --key-file ~/keys/openai",
        "brain config embedder nomic-embed-text --base-url http://localhost:11434/v1",
        "brain config embedder --off",
    ),
    exits=BASIC_EXITS,
)
@argument("model", required=False, type=_EMBEDDER_TEXT)
@option(
    "--base-url",
    type=_EMBEDDER_TEXT,
    metavar="URL",
    help="An endpoint with the protocol of OpenAI.  [default: OpenAI]",
)
@option("--key-file", type=_EMBEDDER_TEXT, metavar="FILE", help="The file with the key.")
@option("--timeout", type=CountType(), help="Timeout of a request in seconds.  [default: 30]")
@flag("--off", help="Remove the embedder: skills are selected by words.")
def config_embedder_command(app: App, off: bool, **changes: Any) -> None:
    """Set the embedder that selects skills by meaning.

    Without an embedder, skills are selected by words. The endpoint, which may be a server on
    this machine, receives the tasks and the names and descriptions of skills. The key is
    never stored: it is read from --key-file, else from BRAIN_EMBEDDER_KEY, else, for the
    endpoint of OpenAI, from OPENAI_API_KEY.
    """
    from brain.search.embedder import EMBEDDER_SETTINGS

    store = _SettingsStore(embedder_settings_path(), EMBEDDER_SETTINGS, merge_embedder_settings)
    settings = _update_settings(app, store, off, changes)
    document = describe_embedder(settings)
    emit(app, document, embedder_lines(document))


_URL_TEXT = TextType("bad_experience_url")


@brain_command(
    "experience",
    examples=(
        "brain config experience postgresql+psycopg://learner@db.example.org/agents",
        "brain config experience",
        "brain config experience --off",
    ),
    exits=BASIC_EXITS,
)
@argument("url", required=False, type=_URL_TEXT)
@flag("--off", help="Use the file of each brain again.")
def config_experience_command(app: App, off: bool, **changes: Any) -> None:
    """Set where experience is stored.

    Experience is what agents did, and the attempts to learn from it; it is no part of a
    brain. By default each brain has a file .brain/evolution.db. URL names a PostgreSQL database
    that agents on several machines share; it needs the packages of 'agent-brain[experience]'.
    BRAIN_EXPERIENCE_URL takes precedence. URLs are shown without user and password; PostgreSQL
    also reads passwords from ~/.pgpass.
    """
    from brain.experience.settings import EXPERIENCE_SETTINGS

    path = user_experience.experience_settings_path()
    store = _SettingsStore(path, EXPERIENCE_SETTINGS, user_experience.merge_experience_settings)
    document = user_experience.describe_experience(_update_settings(app, store, off, changes))
    emit(app, document, user_experience.experience_lines(document))


class _SettingsStore(NamedTuple):
    """A settings file, such as that of the model, and how changes are merged into it."""

    path: Path
    format: SettingsFormat[Any]
    merge: Callable[[Any, dict[str, Any]], Any]


def _update_settings(app: App, store: _SettingsStore, off: bool, options: dict[str, Any]) -> Any:
    """Apply the given options to a settings file; return the settings, None for none.

    Raises `Failure` (`usage`) for `off` with any other option.
    """
    changes = {key: value for key, value in options.items() if value is not None}
    if off:
        if changes:
            raise Failure(
                "usage", "--off cannot be combined with other options", "give it alone", USAGE
            )
        store.path.unlink(missing_ok=True)
        return None
    settings = store.format.load(store.path)
    if changes:
        settings = store.merge(settings, changes)
        store.format.save(store.path, settings)
        if getattr(settings, "key_file", ""):
            _warn_unreadable_key(app, store.format, settings.key_file)
    return settings


def _warn_unreadable_key(app: App, format: SettingsFormat[Any], file: str) -> None:
    """Print why no key can be read from `file` now; the user may add it later."""
    try:
        format.read_key(file)
    except InvalidInput as error:
        app.print_note("; ".join(filter(None, (f"Note: {error.message}", error.hint))))
