"""The user's embedder settings, in a private JSON file that never holds a key itself.

{"format": "brain v1 embedder", "model": "text-embedding-3-small", "key_file": "…"}
"""

from __future__ import annotations

from dataclasses import dataclass

from ...util import endpoints
from ...util.settings_format import SettingsFormat

OPENAI_BASE_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSettings:
    """A model behind an endpoint.

    `base_url` is that of an endpoint with OpenAI's API. `key_file` holds its key, "" for
    the environment. `timeout` is in seconds for one request.
    """

    model: str = ""
    base_url: str = OPENAI_BASE_URL
    key_file: str = ""
    timeout: int = 30


def _find_fault(settings: EmbedderSettings) -> str:
    if not settings.model:
        return "name a model behind an endpoint"
    if len(settings.model) > 200 or not settings.model.isprintable():
        return "the name of the model is too long or not printable"
    fault = endpoints.find_url_fault(settings.base_url)
    if fault:
        return f"base_url {fault}"
    return "key_file is not the name of a file" if "\0" in settings.key_file else ""


EMBEDDER_SETTINGS = SettingsFormat(
    name="brain v1 embedder",
    settings_type=EmbedderSettings,
    owner="the embedder",
    command="brain config embedder",
    code="bad_embedder",
    hint="see `brain config embedder --help`",
    ranges={"timeout": (1, 600)},
    find_fault=_find_fault,
)
