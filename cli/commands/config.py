"""The commands of `brain config`: ledgers, model, embedder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from ..command import brain_command
from ..context import App
from ..error_report import USAGE, Failure
from ..lazy_group import LazyGroup
from ..output import emit
from ..params import CountType, OnceOption, TextType
from ..registry import CONFIG_COMMANDS
from ..settings.evm_ledgers import describe_ledger, ledger_lines, merge_ledger_settings
from ..settings.user_ledgers import LOCAL_LEDGER, ledger_settings_path, ledgers_folder
from ..settings.user_models import (
    describe_embedder,
    describe_model,
    embedder_lines,
    embedder_settings_path,
    merge_embedder_settings,
    merge_model_settings,
    model_lines,
    model_settings_path,
    warn_unreadable_key,
)
from ..terminal import escape


@click.command(
    "config",
    cls=LazyGroup,
    table=CONFIG_COMMANDS,
    epilog="'brain config COMMAND --help' tells more.",
)
def config_group() -> None:
    """Say which ledgers there are, and which model."""


_LEDGER_TEXT = TextType("bad_ledger")


@brain_command(
    "ledger",
    examples=(
        "brain config ledger sepolia --rpc http://localhost:8545 --keystore ~/keys/sepolia.json",
        "brain config ledger sepolia --contract 0x5fbdb2315678afecb367f032d93f642f64180aa3",
    ),
    exits=(0, 1, 2, 130),
)
@click.argument("name", type=_LEDGER_TEXT)
@click.option(
    "--rpc", multiple=True, type=_LEDGER_TEXT, metavar="URL", help="A node to ask; may be repeated."
)
@click.option("--quorum", cls=OnceOption, type=CountType(), help="How many nodes have to agree.")
@click.option(
    "--chain-id", cls=OnceOption, type=CountType(), help="The chain, where NAME is none known."
)
@click.option(
    "--genesis", cls=OnceOption, type=_LEDGER_TEXT, metavar="HASH", help="The hash of its block 0."
)
@click.option(
    "--contract", cls=OnceOption, type=_LEDGER_TEXT, metavar="ADDRESS", help="The registry there."
)
@click.option(
    "--creator", cls=OnceOption, type=_LEDGER_TEXT, metavar="ADDRESS", help="Who opened the brains."
)
@click.option("--since", cls=OnceOption, type=CountType(), help="The block that has the contract.")
@click.option(
    "--finality",
    cls=OnceOption,
    type=_LEDGER_TEXT,
    metavar="WHEN",
    help="What counts as final: safe, finalized, or so many blocks on top.",
)
@click.option(
    "--max-fee-gwei",
    cls=OnceOption,
    type=_LEDGER_TEXT,
    metavar="GWEI",
    help="The most for one gas.",
)
@click.option(
    "--max-cost-wei",
    cls=OnceOption,
    type=_LEDGER_TEXT,
    metavar="WEI",
    help="The most for one call.",
)
@click.option(
    "--keystore",
    cls=OnceOption,
    type=_LEDGER_TEXT,
    metavar="FILE",
    help="The key that sends: keystore v3.",
)
def config_ledger_command(app: App, name: str, **given: Any) -> None:
    """Add a ledger on a chain, or change one.

    What is not given stays as it was. mainnet, sepolia, base and base-sepolia are known
    by chain id and first block; of another chain, named otherwise, both are asked of the
    nodes now and kept, so that no other chain passes for it later.
    """
    from brain.chain import ledger_config as settings

    kept = merge_ledger_settings(
        name, settings.load_ledgers(ledger_settings_path()).get(name, {}), given
    )
    settings.save_ledger(ledger_settings_path(), name, kept)
    told = describe_ledger(name, kept)
    emit(app, told, ledger_lines(told))


@brain_command(
    "list", examples=("brain config list", "brain config list --json"), exits=(0, 1, 2, 130)
)
def config_list_command(app: App) -> None:
    """List the ledgers.

    Of the nodes only the host is shown, for the rest of an address often holds a key.
    """
    from brain.chain import ledger_config as settings

    found = [
        describe_ledger(name, one)
        for name, one in settings.load_ledgers(ledger_settings_path()).items()
    ]
    document = {
        "file": str(ledger_settings_path()),
        "local": str(ledgers_folder() / LOCAL_LEDGER),
        "ledgers": found,
    }
    emit(app, document, _ledger_list_lines(found))


def _ledger_list_lines(found: list[dict[str, object]]) -> Iterator[str]:
    yield f"{LOCAL_LEDGER}: the log of this machine, in {escape(str(ledgers_folder() / LOCAL_LEDGER))}"
    for one in found:
        yield from ledger_lines(one)


@brain_command("remove", examples=("brain config remove sepolia",), exits=(0, 1, 2, 130))
@click.argument("name", type=TextType("bad_ledger"))
def config_remove_command(app: App, name: str) -> None:
    """Forget a ledger.

    Only the settings go. What was committed stays on the chain, and evidence and
    transactions that wait stay where ledgers keep them.
    """
    from brain.chain import ledger_config as settings

    settings.save_ledger(ledger_settings_path(), name, None)
    emit(app, {"ledger": name}, [escape(f"{name} forgotten")])


_MODEL_TEXT = TextType("bad_model")


@brain_command(
    "model",
    examples=(
        "brain config model anthropic:claude-haiku-4-5 --key-file ~/keys/anthropic",
        "brain config model openai:qwen3 --base-url http://localhost:11434/v1",
        "brain config model",
        "brain config model --off",
    ),
    exits=(0, 1, 2, 130),
)
@click.argument("model", metavar="[PROVIDER:NAME]", required=False, type=_MODEL_TEXT)
@click.option(
    "--base-url",
    cls=OnceOption,
    type=_MODEL_TEXT,
    metavar="URL",
    help="Another endpoint that speaks the provider's protocol.",
)
@click.option(
    "--key-file",
    cls=OnceOption,
    type=_MODEL_TEXT,
    metavar="FILE",
    help="A file that holds the key.",
)
@click.option("--max-tokens", cls=OnceOption, type=CountType(), help="The longest answer.  [8000]")
@click.option("--timeout", cls=OnceOption, type=CountType(), help="Seconds for one request.  [120]")
@click.option("--retries", cls=OnceOption, type=CountType(), help="Further attempts.  [2]")
@click.option("--off", is_flag=True, help="Forget the model: nothing is learned by itself.")
def config_model_command(app: App, off: bool, **given: Any) -> None:
    """Say which model learns from runs.

    PROVIDER is anthropic, openai or bedrock; with --base-url any endpoint that speaks the
    protocol of one, such as one of this machine. What is not given stays as it was, but
    with another provider all begins anew. The key is never stored: it is read from
    --key-file, else from BRAIN_MODEL_KEY, else, without --base-url, from
    ANTHROPIC_API_KEY, OPENAI_API_KEY or the credentials of AWS.
    """
    from brain.evolve import model_config

    wanted = {key: value for key, value in given.items() if value is not None}
    kept = model_config.load_model_config(model_settings_path())
    if off:
        if wanted:
            raise Failure("usage", "--off stands alone", status=USAGE)
        model_config.delete_model_config(model_settings_path())
        kept = None
    elif wanted:
        kept = merge_model_settings(kept, wanted)
        model_config.save_model_config(model_settings_path(), kept)
        if kept.key_file:
            warn_unreadable_key(app, model_config.read_model_key, kept.key_file)
    told = describe_model(kept)
    emit(app, told, model_lines(told))


_EMBEDDER_TEXT = TextType("bad_embedder")


@brain_command(
    "embedder",
    examples=(
        "brain config embedder text-embedding-3-small --key-file ~/keys/openai",
        "brain config embedder nomic-embed-text --base-url http://localhost:11434/v1",
        "brain config embedder --folder ~/models/all-MiniLM-L6-v2",
        "brain config embedder --off",
    ),
    exits=(0, 1, 2, 130),
)
@click.argument("model", required=False, type=_EMBEDDER_TEXT)
@click.option(
    "--base-url",
    cls=OnceOption,
    type=_EMBEDDER_TEXT,
    metavar="URL",
    help="An endpoint that speaks OpenAI's protocol.  [that of OpenAI]",
)
@click.option(
    "--key-file",
    cls=OnceOption,
    type=_EMBEDDER_TEXT,
    metavar="FILE",
    help="A file that holds the key.",
)
@click.option(
    "--folder",
    cls=OnceOption,
    type=_EMBEDDER_TEXT,
    metavar="DIR",
    help="A folder with a BERT model of sentence-transformers, instead.",
)
@click.option("--timeout", cls=OnceOption, type=CountType(), help="Seconds for one request.  [30]")
@click.option("--off", is_flag=True, help="Forget it: skills are selected by their words.")
def config_embedder_command(app: App, off: bool, **given: Any) -> None:
    """Say what tells which texts mean the same.

    With it skills are selected for a task by meaning, without it by words.
    An endpoint gets tasks, and names and descriptions of skills; a folder keeps all on
    this machine. The key is never stored: it is read from --key-file, else from
    BRAIN_EMBEDDER_KEY, else, for OpenAI's own endpoint, from OPENAI_API_KEY.
    """
    from brain.search.embedding import embedder_settings

    wanted = {key: value for key, value in given.items() if value is not None}
    kept = embedder_settings.load_embedder_settings(embedder_settings_path())
    if off:
        if wanted:
            raise Failure("usage", "--off stands alone", status=USAGE)
        embedder_settings.remove_embedder_settings(embedder_settings_path())
        kept = None
    elif wanted:
        kept = merge_embedder_settings(kept, wanted)
        embedder_settings.save_embedder_settings(embedder_settings_path(), kept)
        if kept.key_file:
            warn_unreadable_key(app, embedder_settings.read_embedder_key, kept.key_file)
    told = describe_embedder(kept)
    emit(app, told, embedder_lines(told))
