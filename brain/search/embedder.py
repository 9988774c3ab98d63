"""What turns texts into vectors: the protocol, the user's settings, and a model behind an endpoint.

The answers of an endpoint are untrusted: limited in size and time, and validated.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, printable_text
from ..util import settings as endpoints
from ..util.settings import SettingsFormat

if TYPE_CHECKING:
    from typing import Protocol

    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
else:  # protocols are for type checkers only; creating them takes 3 ms
    Protocol = object

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
        return f"base-url {fault}"
    return "key-file is not the name of a file" if "\0" in settings.key_file else ""


EMBEDDER_SETTINGS = SettingsFormat(
    settings_type=EmbedderSettings,
    owner="the embedder",
    command="brain config embedder",
    code="bad_embedder",
    hint="see `brain config embedder`",
    ranges={"timeout": (1, 600)},
    find_fault=_find_fault,
)

MAX_BATCH_TEXTS = 32
"""Most texts in one call of `embed`."""


class Embedder(Protocol):
    """A model that turns texts into vectors of their meaning."""

    @property
    def identity(self) -> str:
        """The model; vectors of different identities are not comparable."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return a vector of length 1 for each of at most `MAX_BATCH_TEXTS` texts, as rows.

        Raises `ModelError`.
        """


OpenEmbedder = Callable[[], "Embedder | None"]
"""Returns the user's embedder, None if none is configured; called on first use."""


MAX_EMBEDDING_ANSWER_BYTES = 16 << 20
"""Size of one answer; one of 32 vectors of 3,072 numbers takes about 2 MB."""
MAX_DIMENSIONS = 16_384
MAX_TEXT_CHARS = 8_000
"""Characters of a text that are sent; models read at most about as many."""
_MAX_TRIES = 2


class EndpointEmbedder:
    """The `Embedder` behind an endpoint with OpenAI's API; `key` is its API key, "" for none.

    Raises `ModelError` (`not_installed`) without the extra `embed`.
    """

    def __init__(self, settings: EmbedderSettings, key: str) -> None:
        try:
            import httpx2
            import numpy  # noqa: F401 - used by the first answer
        except ImportError as error:
            raise ModelError(
                f"embedding needs a package that is not installed: {error.name}",
                code="not_installed",
                hint="pip install 'agent-brain[embed]'",
            ) from error
        self._settings = settings
        headers = {"Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self._client = httpx2.Client(
            headers=headers, timeout=settings.timeout, follow_redirects=False, trust_env=False
        )
        weakref.finalize(self, self._client.close)  # embedders have no close method

    @property
    def identity(self) -> str:
        """See `Embedder.identity`."""
        return f"{self._settings.base_url} {self._settings.model}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed`; retries once after a transport error."""
        import httpx2

        request = {
            "model": self._settings.model,
            "input": [text[:MAX_TEXT_CHARS] or " " for text in texts],
            "encoding_format": "float",
        }
        for tries_left in range(_MAX_TRIES - 1, -1, -1):
            try:
                return self._parse_matrix(self._post(request), len(texts))
            except httpx2.TimeoutException:
                raise self._error("model_timeout", "it gave no answer in time") from None
            except httpx2.TransportError as error:
                if not tries_left:
                    raise self._error("unreachable", type(error).__name__) from None
            except httpx2.HTTPError as error:
                raise self._error("bad_answer", type(error).__name__) from None
        raise AssertionError("unreachable")

    def _post(self, request: dict[str, Any]) -> bytes:
        url = self._settings.base_url.rstrip("/") + "/embeddings"
        with self._client.stream("POST", url, json=request) as response:
            data = bytearray()
            for chunk in response.iter_raw():
                data += chunk
                if len(data) > MAX_EMBEDDING_ANSWER_BYTES:
                    raise self._error(
                        "answer_too_large",
                        f"its answer has more than {MAX_EMBEDDING_ANSWER_BYTES} bytes",
                    )
            if response.status_code in (401, 403):
                raise self._error("key_refused", "it refuses the key")
            if response.status_code != 200:
                raise self._error("rejected", f"it answered with status {response.status_code}")
        return bytes(data)

    def _parse_matrix(self, data: bytes, count: int) -> Matrix:
        import numpy as np

        try:
            rows = sorted(json.loads(data)["data"], key=lambda row: row["index"])
            if [row["index"] for row in rows] != list(range(count)):
                raise ValueError("not one vector for each text")
            matrix = np.array([row["embedding"] for row in rows], dtype=np.float32)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise self._error("bad_answer", "it does not follow the protocol") from error
        if matrix.ndim != 2 or not 0 < matrix.shape[1] <= MAX_DIMENSIONS:
            raise self._error("bad_answer", "its vectors have different or invalid lengths")
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._error("bad_answer", "a vector has no direction")
        return np.asarray(matrix / lengths, np.float32)

    def _error(self, code: str, problem: str) -> ModelError:
        name = printable_text(self._settings.model, 80)
        return ModelError(
            f"the embedder {name}: {problem}", code=code, hint="see `brain config embedder`"
        )
