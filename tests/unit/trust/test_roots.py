"""Root keys that a user pins: one strict file for all brains, changed as a whole."""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

import pytest

from brain.errors import BrainError
from brain.trust import ed25519, pinned_roots
from brain.trust.ed25519 import format_key
from brain.util import settings
from tests.support.refusals import raises_code
from tests.support.signed_lineages import PUBLIC_KEYS

A, B, C = map(format_key, PUBLIC_KEYS[:3])
BRAIN, OTHER = "1f" * 32, "2e" * 32


@pytest.fixture
def path(tmp_path):
    """A file that is not there, in a folder that is not there."""
    return tmp_path / "settings" / "roots.json"


def test_without_a_file_nothing_is_pinned_and_none_is_made(path):
    assert pinned_roots.load_pinned_roots(path, BRAIN) == []
    assert not path.parent.exists()


def test_the_first_roots_of_a_brain_are_pinned_once(path):
    assert pinned_roots.pin_first_roots(path, BRAIN, [A])
    assert not pinned_roots.pin_first_roots(path, BRAIN, [B])
    assert pinned_roots.pin_first_roots(path, OTHER, [C, B])
    assert pinned_roots.load_pinned_roots(path, BRAIN) == [A]
    assert pinned_roots.load_pinned_roots(path, OTHER) == sorted([B, C])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_no_roots_are_pinned_as_none(path):
    assert not pinned_roots.pin_first_roots(path, BRAIN, [])
    assert pinned_roots.load_pinned_roots(path, BRAIN) == []


def test_roots_are_added_and_removed(path):
    pinned_roots.pin_first_roots(path, OTHER, [C])
    assert pinned_roots.change_pinned_roots(path, BRAIN, [A, B], []) == sorted([A, B])
    assert pinned_roots.change_pinned_roots(path, BRAIN, [C], [A]) == sorted([B, C])
    assert (
        pinned_roots.change_pinned_roots(path, BRAIN, [], [B, C])
        == []
        == pinned_roots.load_pinned_roots(path, BRAIN)
    )
    assert json.loads(path.read_text())["brains"] == {OTHER: [C]}


def test_a_change_that_cannot_be_changes_nothing(path):
    pinned_roots.pin_first_roots(path, BRAIN, [A])
    before = path.read_bytes()
    many = [f"ed25519:{number:02x}{'00' * 31}" for number in range(3, 99)]
    for add, remove, code in (
        ([], [B], "not_pinned"),
        (["ed25519:00"], [], "bad_key"),
        ([f"ed25519:{'00' * 32}"], [], "bad_key"),
        (many, [], "bad_key"),
    ):
        with raises_code(code, BrainError):
            pinned_roots.change_pinned_roots(path, BRAIN, add, remove)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "brain v1 roots"}',
        '{"format": "brain v2 roots", "brains": {}}',
        '{"format": "brain v1 roots", "brains": []}',
        '{"format": "brain v1 roots", "brains": {}, "more": 1}',
        '{"format": "brain v1 roots", "brains": {"1f": []}}',
        f'{{"format": "brain v1 roots", "brains": {{"{BRAIN}": []}}}}',
        f'{{"format": "brain v1 roots", "brains": {{"{BRAIN}": ["x"]}}}}',
        f'{{"format": "brain v1 roots", "brains": {{"{BRAIN}": [7]}}}}',
        f'{{"format": "brain v1 roots", "brains": {{"{BRAIN}": "{A}"}}}}',
        f'{{"format": "brain v1 roots", "brains": {{"{BRAIN}": ["{A}"], "{BRAIN}": ["{B}"]}}}}',
        "[" * 100_000,
        " " * (2 << 20),
    ],
    ids=lambda text: text[:60],
)
def test_a_file_that_is_not_one_is_refused_and_left_as_it_is(path, text):
    path.parent.mkdir()
    path.write_text(text)
    for call in (
        lambda: pinned_roots.load_pinned_roots(path, BRAIN),
        lambda: pinned_roots.pin_first_roots(path, BRAIN, [A]),
        lambda: pinned_roots.change_pinned_roots(path, BRAIN, [A], []),
    ):
        with raises_code("bad_roots", BrainError) as caught:
            call()
        assert "roots.json" in caught.value.message
    assert path.read_text() == text


def usable_keys(number: int) -> list[str]:
    """Return so many different keys that may be trusted."""
    every = (y.to_bytes(32, "little") for y in count(3))
    return [format_key(key) for key in islice(filter(ed25519.is_usable_key, every), number)]


def test_a_brain_has_at_most_16_root_keys(path):
    keys = usable_keys(17)
    assert pinned_roots.change_pinned_roots(path, BRAIN, keys[:16], []) == sorted(keys[:16])
    for make in (
        lambda: pinned_roots.change_pinned_roots(path, BRAIN, keys[16:], []),
        lambda: pinned_roots.pin_first_roots(path, OTHER, keys),
    ):
        with raises_code("bad_roots", BrainError, match="16 root keys"):
            make()
    assert pinned_roots.change_pinned_roots(path, BRAIN, keys[16:], keys[:1]) == sorted(keys[1:])


def test_a_change_that_changes_nothing_writes_nothing(path):
    pinned_roots.pin_first_roots(path, BRAIN, [A])
    path.write_text(json.dumps(json.loads(path.read_text())))
    before = path.read_bytes()
    assert pinned_roots.change_pinned_roots(path, BRAIN, [A], []) == [A]
    assert path.read_bytes() == before


def test_roots_that_another_process_pins_meanwhile_stay(path, monkeypatch):
    lock = settings.exclusive_lock

    @contextmanager
    def lock_after_another(path: Path) -> Iterator[None]:
        monkeypatch.setattr(settings, "exclusive_lock", lock)
        assert pinned_roots.pin_first_roots(path, BRAIN, [B])
        with lock(path):
            yield

    monkeypatch.setattr(settings, "exclusive_lock", lock_after_another)
    assert not pinned_roots.pin_first_roots(path, BRAIN, [A])
    assert pinned_roots.load_pinned_roots(path, BRAIN) == [B]


def test_a_file_that_the_system_does_not_open_is_an_error_and_not_an_empty_one(path):
    path.mkdir(parents=True)
    for call in (
        lambda: pinned_roots.load_pinned_roots(path, BRAIN),
        lambda: pinned_roots.pin_first_roots(path, BRAIN, [A]),
    ):
        with raises_code("io_error", BrainError, match=os.strerror(errno.EISDIR)):
            call()


def test_a_file_of_the_greatest_size_is_read(path):
    pinned_roots.pin_first_roots(path, BRAIN, [A])
    path.write_text(path.read_text().ljust(settings.MAX_SETTINGS_BYTES))
    assert pinned_roots.load_pinned_roots(path, BRAIN) == [A]
    path.write_text(path.read_text() + " ")
    with pytest.raises(BrainError, match="too large"):
        pinned_roots.load_pinned_roots(path, BRAIN)
