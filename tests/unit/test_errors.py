import pytest

from brain import errors
from brain.errors import BrainError, printable_text

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_a_brain_error_with_a_code_and_an_exit_status(kind):
    error = kind("what happened")
    assert isinstance(error, BrainError)
    assert error.code.replace("_", "").isalpha() and error.code.islower()
    assert error.exit_status in {1, 3, 4, 10, 11, 12, 13}
    assert (str(error), error.message) == ("what happened", "what happened")
    assert error.hint == kind.usual_hint


def test_no_two_kinds_of_error_share_a_code():
    codes = [kind.code for kind in KINDS if "code" in vars(kind)]
    assert len(set(codes)) == len(codes) > 10


def test_a_code_and_a_hint_belong_to_one_error_and_not_to_its_kind():
    error = errors.InvalidInput("no", code="bad_path", hint="another one")
    assert (error.code, error.hint) == ("bad_path", "another one")
    assert errors.InvalidInput("no").code == "bad_input"


def test_an_error_escapes_what_it_quotes_and_once_only():
    inner = errors.NotFound("no \x1b[2Ja\nb", hint="one of:\n a\x07\n b")
    assert inner.message == str(inner) == "no \\x1b[2Ja\\nb"
    assert inner.hint == "one of:\n a\\x07\n b"
    outer = errors.StoreError(f"it failed: {inner.message}", hint=inner.hint)
    assert (outer.message, outer.hint) == (f"it failed: {inner.message}", inner.hint)
    long = errors.InvalidInput("x" * 10_000_000 + " is too long").message
    assert len(long) == 2001 and long.endswith("x is too long")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain é 🧠", "plain é 🧠"),
        ("a\nb\t", "a\\nb\\t"),
        ("\x1b[2J\x9b", "\\x1b[2J\\x9b"),
        ("\u202etxt", "\\u202etxt"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        (b"caf\xe9", "caf\\xe9"),
        (7, "7"),
        ("x" * 300, "x" * 200 + "…"),
    ],
)
def test_foreign_text_is_escaped_and_cut_before_it_is_shown(raw, shown):
    assert printable_text(raw) == shown
    assert printable_text(raw).isprintable()


def test_text_is_cut_before_it_is_escaped():
    assert len(printable_text("\x1b" * 10_000_000)) < 1000
    assert printable_text("abc", 2) == "ab…"
