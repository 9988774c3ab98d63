"""Which model a user has: what is taken, what is kept, and that no key is."""

import sys
from pathlib import Path

import pytest

from brain.errors import InvalidInput, ModelError
from brain.models import open_endpoint
from brain.models.config import MODEL_SETTINGS, ModelConfig, parse_model_config
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


@pytest.mark.parametrize("fields", CASES["test_settings_are_kept_as_they_were_given"])
def test_settings_are_taken_as_they_were_given(fields):
    settings = parse_model_config(fields)
    assert {name: getattr(settings, name) for name in fields} == fields


def test_tokens_have_a_price_only_if_both_are_known():
    assert parse_model_config({"model": "openai:x", "price_in": "1"}).prices is None
    known = parse_model_config({"model": "openai:x", "price_in": "1", "price_out": "2"}).prices
    assert known is not None and known.million_out == 2_000_000


@pytest.mark.parametrize(("fields", "why"), CASES["test_settings_that_cannot_be_are_refused"])
def test_settings_that_cannot_be_are_refused(fields, why):
    with raises_code("bad_model", InvalidInput, match=why) as caught:
        parse_model_config(fields)
    assert caught.value.message.isprintable()


def test_only_an_endpoint_of_this_machine_is_local():
    assert parse_model_config({"model": "openai:x", "base_url": "http://127.0.0.2:1/v1"}).is_local
    assert not parse_model_config(
        {"model": "openai:x", "base_url": "http://10.0.0.1:1/v1"}
    ).is_local
    assert not parse_model_config({"model": "openai:x"}).is_local


def key_file(folder: Path, content: bytes, mode: int = 0o600) -> str:
    file = folder / "key"
    file.write_bytes(content)
    file.chmod(mode)
    return str(file)


def test_a_key_is_read_from_a_file_without_its_end_of_line(tmp_path):
    assert MODEL_SETTINGS.read_key(key_file(tmp_path, b"sk-4711\n")) == "sk-4711"


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        (b"sk", 0o644, "key_readable"),
        (b"sk", 0o620, "key_readable"),
        (b"two words\n", 0o600, "no_key"),
        (b"a\nb\n", 0o600, "no_key"),
        (b"\xff", 0o600, "no_key"),
        (b"\x1b[31m", 0o600, "no_key"),
        (b"", 0o600, "no_key"),
        (b"x" * 100_000, 0o600, "no_key"),
    ],
)
def test_what_is_no_key_or_open_to_others_is_refused(tmp_path, content, mode, code):
    with raises_code(code, InvalidInput):
        MODEL_SETTINGS.read_key(key_file(tmp_path, content, mode))


def test_a_key_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        MODEL_SETTINGS.read_key(str(tmp_path / "none"))


def test_without_its_package_a_model_is_an_error_that_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("brain.models.endpoint")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic_ai.messages", None)
    with pytest.raises(ModelError, match="not installed") as caught:
        open_endpoint(ModelConfig(model="openai:x"), "")
    assert caught.value.hint == "pip install 'agent-brain[evolve]'"
