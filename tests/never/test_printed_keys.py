"""A key that `key new` printed is taken wherever a key of one's own is named."""

from __future__ import annotations

import json

import pytest
from brain_cli.invocation import run_cli

from brain import Brain

OTHER = "ed25519:3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    return run_cli(list(words)), *capsys.readouterr()


@pytest.mark.parametrize("by", ["setting", "variable", "option"])
def test_the_key_signs_by_what_was_printed(by, tmp_path, monkeypatch, capsys):
    for name in ("BRAIN_KEYS", "BRAIN_CONFIG", "BRAIN_ROOTS"):
        monkeypatch.setenv(name, str(tmp_path / "user" / name))
    key = run(capsys, "key", "new", "mine")[1].strip()
    run(capsys, "key", "new", "another")
    for name in (key, OTHER):
        expected, code = (0, None) if name == key else (1, "no_key")
        with Brain.init(tmp_path / f"brain-{len(name)}-{expected}") as brain:
            root = str(brain.root)
        if by == "setting":
            status, out, err = run(capsys, "config", "sign", name, "--json")
        elif by == "variable":
            monkeypatch.setenv("BRAIN_SIGN_KEY", name)
            words = ("-C", root, "skill", "upsert", "x", "-d", "d", "--json")
            status, out, err = run(capsys, *words)
        else:
            status, out, err = run(capsys, "-C", root, "sign", "--key", name, "--json")
        assert status == expected, err
        assert (json.loads(err)["error"]["code"] if code else None) == code
        if by == "setting" and not code:
            assert json.loads(out)["key"] == "mine"
            assert run(capsys, "-C", root, "skill", "upsert", "x", "-d", "d")[0] == 0
        if not code:
            with Brain.open(root) as brain:
                assert next(iter(brain.history.log())).signers == [key]
            rows = json.loads(run(capsys, "key", "list", "--json")[1])["keys"]
            signs = [row["name"] for row in rows if row["signs"]]
            assert signs == ([] if by == "option" else ["mine"])
