"""A local embedder: a BERT model of sentence-transformers, run without that library.

The folder has `config.json`, `tokenizer.json` and `model.safetensors`;
`1_Pooling/config.json` may choose the pooling (mean, or the first token).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from ...errors import printable_text
from .embedder_settings import EMBEDDER_SETTINGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .embedder import Matrix

MAX_WEIGHTS_BYTES = 2 << 30
_MAX_JSON_BYTES = 1 << 20
_MAX_TOKENS = 512
"""Most tokens of a text."""


class LocalEmbedder:
    """The `Embedder` for a folder with a model. Raises `InvalidInput` (`bad_embedder`)."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        config = self._read_json("config.json")
        if config.get("model_type") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise EMBEDDER_SETTINGS.error(f"{printable_text(folder)} holds no BERT model with GELU")
        self._use_first_token = bool(
            self._read_json("1_Pooling/config.json").get("pooling_mode_cls_token")
        )
        max_tokens = (
            self._read_json("sentence_bert_config.json").get("max_seq_length") or _MAX_TOKENS
        )
        try:
            self._attention_heads = max(int(config["num_attention_heads"]), 1)
            self._layers = int(config["num_hidden_layers"])
            self._epsilon = float(config.get("layer_norm_eps", 1e-12))
            places = int(config.get("max_position_embeddings", _MAX_TOKENS))
            self._max_tokens = max(min(int(max_tokens), places, _MAX_TOKENS), 1)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise EMBEDDER_SETTINGS.error(
                f"config.json in {printable_text(folder)} does not state the shape of the model"
            ) from error
        self._weights = self._load_weights()
        self.identity = self._compute_identity()

    def _read_json(self, name: str) -> dict[str, Any]:
        file = self._folder / name
        try:
            with file.open("rb") as opened:
                fields = json.loads(opened.read(_MAX_JSON_BYTES))
        except FileNotFoundError as error:
            if name == "config.json":
                raise EMBEDDER_SETTINGS.error(
                    f"{printable_text(self._folder)} holds no model: no {name}"
                ) from error
            return {}
        except (ValueError, RecursionError) as error:
            raise EMBEDDER_SETTINGS.error(f"{printable_text(file)} is not JSON") from error
        return fields if isinstance(fields, dict) else {}

    def _load_weights(self) -> dict[str, NDArray[np.float32]]:
        file = self._folder / "model.safetensors"
        if file.is_file() and file.stat().st_size > MAX_WEIGHTS_BYTES:
            raise EMBEDDER_SETTINGS.error(f"{printable_text(file)} is too large")
        try:
            weights_by_name = load_file(file)
            tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        except Exception as error:  # tokenizers raises nothing narrower
            raise EMBEDDER_SETTINGS.error(
                f"{printable_text(self._folder)} cannot be read: {printable_text(error)}"
            ) from error
        tokenizer.enable_truncation(self._max_tokens)
        tokenizer.enable_padding()
        self._tokenizer = tokenizer
        return {
            name.removeprefix("bert."): weights.astype(np.float32, copy=False)
            for name, weights in weights_by_name.items()
        }

    def _compute_identity(self) -> str:
        """Return the digest of everything that determines the vectors."""
        from blake3 import blake3

        digest = blake3(max_threads=blake3.AUTO)
        digest.update_mmap(self._folder / "model.safetensors")
        digest.update_mmap(self._folder / "tokenizer.json")
        digest.update(f"{self._use_first_token} {self._max_tokens}".encode())
        return f"local {digest.hexdigest()}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed`."""
        encoded = self._tokenizer.encode_batch(list(texts))
        tokens = np.array([encoding.ids for encoding in encoded])
        mask = np.array([encoding.attention_mask for encoding in encoded], dtype=np.float32)
        try:
            hidden = self._forward(tokens, mask)
        except (KeyError, ValueError, IndexError) as error:
            raise EMBEDDER_SETTINGS.error(
                f"{printable_text(self._folder)} is not such a model: {printable_text(error)}"
            ) from error
        if self._use_first_token:
            pooled = hidden[:, 0]
        else:
            weights = mask[:, :, None]
            pooled = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), np.float32)

    def _forward(self, tokens: NDArray[Any], mask: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the vectors of the tokens, shape (texts, tokens, hidden)."""
        weights = self._weights
        x = (
            weights["embeddings.word_embeddings.weight"][tokens]
            + weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._layer_norm(x, "embeddings.LayerNorm")
        mask_bias = (mask[:, None, None, :] - 1) * np.float32(1e9)
        for number in range(self._layers):
            layer = f"encoder.layer.{number}"
            attended = self._attention(x, mask_bias, f"{layer}.attention.self")
            x = self._layer_norm(
                x + self._linear(attended, f"{layer}.attention.output.dense"),
                f"{layer}.attention.output.LayerNorm",
            )
            wide = _gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._layer_norm(
                x + self._linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm"
            )
        return np.asarray(x, np.float32)

    def _attention(
        self, x: NDArray[np.float32], mask_bias: NDArray[np.float32], name: str
    ) -> NDArray[np.float32]:
        texts, length, hidden = x.shape
        size = hidden // self._attention_heads
        query, key, value = (
            self._linear(x, f"{name}.{part}")
            .reshape(texts, length, self._attention_heads, size)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(size)) + mask_bias
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        joined = (scores @ value).transpose(0, 2, 1, 3).reshape(texts, length, hidden)
        return np.asarray(joined, np.float32)

    def _linear(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        flat = x.reshape(-1, x.shape[-1]) @ self._weights[f"{name}.weight"].T  # one product
        flat += self._weights[f"{name}.bias"]
        return np.asarray(flat.reshape(*x.shape[:-1], -1), np.float32)

    def _layer_norm(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self._epsilon)
        scaled = centred / spread * self._weights[f"{name}.weight"]
        return np.asarray(scaled + self._weights[f"{name}.bias"], np.float32)


def _gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(x * np.float32(0.5) * (1 + _erf(x / np.float32(np.sqrt(2)))), np.float32)


def _erf(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the error function, off by at most 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    return np.asarray(np.sign(x) * (1 - series * np.exp(-x * x)), np.float32)
