"""The model and the settings of its endpoint; never a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..errors import printable_text
from ..util import settings as endpoints
from ..util.settings import SettingsFormat
from ..util.text import parse_money

PROVIDERS = ("anthropic", "openai", "bedrock")
_MODEL_NAME = re.compile(r"[!-~]{1,200}", re.ASCII)


class Prices(NamedTuple):
    """What a million tokens in and out cost, in millionths of the currency of the prices."""

    million_in: int
    million_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A model and the settings of its endpoint.

    `model` is PROVIDER:NAME. `base_url` is another endpoint with the provider's protocol, ""
    for the provider's own. `key_file` is the file with the key, "" to take it from the
    environment. `max_tokens` limits one answer, `timeout` one request, in seconds; `retries`
    is the number of further attempts if the endpoint is busy or cannot be reached. With
    `tool_rounds` the model may look at skills with tools, in at most so many replies. `price_in`
    and `price_out` are what a million tokens cost, such as 0.25, "" if it is not known.
    """

    model: str = ""
    base_url: str = ""
    key_file: str = ""
    max_tokens: int = 8_000
    timeout: int = 120
    retries: int = 2
    tool_rounds: int = 0
    price_in: str = ""
    price_out: str = ""

    @property
    def prices(self) -> Prices | None:
        """What tokens cost, None unless both prices are known."""
        if not (self.price_in and self.price_out):
            return None
        return Prices(parse_money(self.price_in), parse_money(self.price_out))

    @property
    def provider(self) -> str:
        """The provider whose protocol is used: one of `PROVIDERS`."""
        return self.model.partition(":")[0]

    @property
    def is_local(self) -> bool:
        """True if the endpoint is on this machine."""
        return bool(self.base_url) and endpoints.is_loopback(urlsplit(self.base_url).hostname or "")


def _find_fault(settings: ModelConfig) -> str:
    provider, _, name = settings.model.partition(":")
    if not settings.model:
        return "it names no model"
    if provider not in PROVIDERS or not _MODEL_NAME.fullmatch(name):
        return f"{printable_text(settings.model, 80)} is not PROVIDER:NAME"
    fault = endpoints.find_url_fault(settings.base_url) if settings.base_url else ""
    if fault:
        return f"base-url {fault}"
    prices = settings.price_in, settings.price_out
    for name, price in zip(("price-in", "price-out"), prices, strict=True):
        if price and parse_money(price) < 0:
            return f"{name} is not a price of a million tokens, such as 0.25"
    return "key-file is not the name of a file" if "\0" in settings.key_file else ""


MODEL_SETTINGS = SettingsFormat(
    settings_type=ModelConfig,
    owner="the model",
    command="brain config model",
    code="bad_model",
    hint=f"use {', '.join(f'{name}:NAME' for name in PROVIDERS)}; see `brain config model`",
    ranges={
        "max_tokens": (1, 1_000_000),
        "timeout": (1, 3_600),
        "retries": (0, 10),
        "tool_rounds": (0, 32),
    },
    find_fault=_find_fault,
)


def parse_model_config(fields: Mapping[str, Any]) -> ModelConfig:
    """Check settings and return them. Raises `InvalidInput` (`bad_model`)."""
    return MODEL_SETTINGS.parse(fields)
