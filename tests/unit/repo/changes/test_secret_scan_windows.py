"""Secrets in a large file, which is looked at some whole lines at a time."""

from brain.repo import secrets


def test_lines_are_counted_from_the_beginning_of_the_file(monkeypatch):
    monkeypatch.setattr(secrets, "_WINDOW_BYTES", 64)
    secret = b"password: hunter2Xy-zz9\n"
    lines = [secret if number in (3, 40, 77) else b"An ordinary line.\n" for number in range(1, 91)]
    text = b"".join(lines)
    pieces = [text[at : at + 50] for at in range(0, len(text), 50)]
    assert [found.line for found in secrets._scan_stream(pieces)] == [3, 40, 77]
