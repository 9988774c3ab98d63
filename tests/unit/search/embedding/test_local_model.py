"""An embedder in a folder: a small BERT of random weights against its definition."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from brain.errors import InvalidInput
from brain.search.embedding.local_embedder import LocalEmbedder
from tests.support.refusals import raises_code

HIDDEN, HEADS, LAYERS, WIDE, LONGEST = 8, 2, 2, 16, 6
WORDS = ["[PAD]", "[UNK]", "count", "the", "penguins", "of", "an", "island"]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(7)
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": (32, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        sides = {
            "attention.self.query": (HIDDEN, HIDDEN),
            "attention.self.key": (HIDDEN, HIDDEN),
            "attention.self.value": (HIDDEN, HIDDEN),
            "attention.output.dense": (HIDDEN, HIDDEN),
            "intermediate.dense": (WIDE, HIDDEN),
            "output.dense": (HIDDEN, WIDE),
        }
        for name, (rows, columns) in sides.items():
            shapes[f"{layer}.{name}.weight"] = (rows, columns)
            shapes[f"{layer}.{name}.bias"] = (rows,)
        for name in ("attention.output", "output"):
            shapes[f"{layer}.{name}.LayerNorm.weight"] = (HIDDEN,)
            shapes[f"{layer}.{name}.LayerNorm.bias"] = (HIDDEN,)
    weights = {name: rng.normal(size=shape).astype("f4") for name, shape in shapes.items()}
    save_file(weights, tmp_path / "model.safetensors")
    tokenizer = Tokenizer(WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    config = {
        "model_type": "bert",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": LONGEST}))
    return tmp_path


def defined(folder: Path, text: str) -> NDArray[np.float64]:
    """Return the vectors of the words of a text by the definition of BERT, word by word."""
    w = {name: rows.astype("f8") for name, rows in load_file(folder / "model.safetensors").items()}

    def normed(x: NDArray[Any], name: str) -> NDArray[Any]:
        return (x - x.mean()) / math.sqrt(x.var() + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: NDArray[Any], name: str) -> NDArray[Any]:
        return w[f"{name}.weight"] @ x + w[f"{name}.bias"]

    ids = [WORDS.index(word) if word in WORDS else 1 for word in text.split()][:LONGEST]
    xs = [
        normed(
            w["embeddings.word_embeddings.weight"][id]
            + w["embeddings.position_embeddings.weight"][place]
            + w["embeddings.token_type_embeddings.weight"][0],
            "embeddings.LayerNorm",
        )
        for place, id in enumerate(ids)
    ]
    size = HIDDEN // HEADS
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        q, k, v = (
            [linear(x, f"{layer}.attention.self.{part}") for x in xs]
            for part in ("query", "key", "value")
        )
        seen = []
        for i in range(len(xs)):
            parts = []
            for head in range(HEADS):
                at = slice(head * size, (head + 1) * size)
                scores = np.exp([q[i][at] @ k[j][at] / math.sqrt(size) for j in range(len(xs))])
                parts.append(sum(s * v[j][at] for j, s in enumerate(scores / scores.sum())))
            seen.append(np.concatenate(parts))
        out = f"{layer}.attention.output"
        xs = [
            normed(x + linear(y, f"{out}.dense"), f"{out}.LayerNorm")
            for x, y in zip(xs, seen, strict=True)
        ]
        wide = [linear(x, f"{layer}.intermediate.dense") for x in xs]
        gelu = [np.array([x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in row]) for row in wide]
        xs = [
            normed(x + linear(y, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
            for x, y in zip(xs, gelu, strict=True)
        ]
    return np.stack(xs)


TEXTS = ["count the penguins of an island", "penguins", "the whales of the island of an island"]


def test_the_vector_of_a_text_is_what_the_model_defines(folder):
    found = LocalEmbedder(str(folder)).embed(TEXTS)
    for text, row in zip(TEXTS, found, strict=True):
        mean = defined(folder, text).mean(axis=0)
        assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_what_a_text_is_embedded_with_makes_no_difference(folder):
    embedder = LocalEmbedder(str(folder))
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert embedder.embed(TEXTS) == pytest.approx(alone, abs=1e-5)


def test_the_first_word_stands_for_all_where_the_model_says_so(folder):
    plain = LocalEmbedder(str(folder)).identity
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}')
    embedder = LocalEmbedder(str(folder))
    first = defined(folder, TEXTS[0])[0]
    assert embedder.embed(TEXTS)[0] == pytest.approx(first / np.linalg.norm(first), abs=1e-5)
    assert embedder.identity != plain


def test_other_weights_are_another_embedder(folder):
    before = LocalEmbedder(str(folder)).identity
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.LayerNorm.bias"] = weights["embeddings.LayerNorm.bias"] + np.float32(1)
    save_file(weights, folder / "model.safetensors")
    assert LocalEmbedder(str(folder)).identity != before


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", None),
        ("config.json", b"not json"),
        ("config.json", b'{"model_type": "t5"}'),
        ("config.json", b'{"model_type": "bert"}'),
        ("config.json", b'{"model_type": "bert", "hidden_act": "relu"}'),
        ("model.safetensors", None),
        ("model.safetensors", b"\xff" * 100),
        ("tokenizer.json", None),
        ("tokenizer.json", b"{}"),
    ],
)
def test_a_folder_without_such_a_model_is_refused(folder, file, content):
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    with raises_code("bad_embedder", InvalidInput):
        LocalEmbedder(str(folder)).embed(["x"])


def test_weights_that_do_not_fit_are_refused(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(InvalidInput):
        LocalEmbedder(str(folder)).embed(["x"])
