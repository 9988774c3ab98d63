"""What gets around a check of code reaches nothing of the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from brain.sandbox.sandbox_protocol import Sandbox
from tests.campaigns import evasions
from tests.support.program_evasions import EVASIONS


@pytest.mark.parametrize("name", EVASIONS)
def test_an_evasion_is_refused_and_harmless_in_the_sandbox(sandbox: Sandbox, name: str) -> None:
    tried = evasions.try_evasion(sandbox, name, EVASIONS[name])
    assert tried.findings and tried.harm == ""


def test_the_campaign_counts_what_is_refused_and_harmless(
    sandbox: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snippets = [("one", "import os\nRESULT = 1\n"), ("two", "RESULT = 1 + 1\n")]
    file = tmp_path / "snippets.py"
    file.write_text(f"EVASIONS = {snippets!r}\n")
    assert evasions.main(str(file)) == 0
    out = capsys.readouterr().out
    assert "one: line 1: it imports os" in out and "two: accepted; exit 0" in out
    assert "1  refused, of 2" in out and "2  harmless in the sandbox, of 2" in out


def test_harm_is_seen(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evasions, "_host_words", lambda: ["a word of the host"])
    code = b"RESULT = 'a word of the host'\n"
    assert "a word of the host" in evasions.try_evasion(sandbox, "spoken", code).harm
