"""Where experience is stored, on the command line."""

import json

import pytest

from tests.cli.conftest import validate

SECRET = "hunter2-secret"
URL = f"postgresql+psycopg://learner:{SECRET}@db.example.org:5433/agents?password={SECRET}"


def test_by_default_each_brain_has_a_file(cli):
    assert cli("config", "experience").out.splitlines() == [
        "experience: the file .brain/evolution.db of each brain",
        "rates: the file .brain/evolution.db of each brain",
    ]


def test_urls_are_stored_privately_and_shown_without_user_and_password(cli, tmp_path):
    shown = cli("config", "experience", URL, "--rates", f"redis://:{SECRET}@cache.example.org/2")
    assert shown.out.splitlines() == [
        "experience: postgresql agents on db.example.org:5433",
        "rates: redis 2 on cache.example.org",
    ]
    file = tmp_path / "experience.json"
    assert json.loads(file.read_text())["url"] == URL
    assert file.stat().st_mode & 0o077 == 0
    document = cli("config", "experience", "--json")
    assert SECRET not in document.out and "learner" not in document.out
    validate("config-experience", document.document)
    assert cli("config", "experience", "--rates", "").out.splitlines()[1] == (
        "rates: postgresql agents on db.example.org:5433"
    )
    assert cli("config", "experience", "--off").status == 0
    assert not file.exists()


def test_the_environment_takes_precedence(cli, monkeypatch):
    cli("config", "experience", URL)
    monkeypatch.setenv("BRAIN_EXPERIENCE_URL", "")
    monkeypatch.setenv("BRAIN_RATES_URL", "unix:///run/redis.sock")
    assert cli("config", "experience").out.splitlines() == [
        "experience: the file .brain/evolution.db of each brain",
        "rates: redis /run/redis.sock on this machine",
        "  set by BRAIN_EXPERIENCE_URL, BRAIN_RATES_URL",
    ]


@pytest.mark.parametrize(
    "words",
    [
        (f"mysql://{SECRET}@h/db",),
        (f"http://{SECRET}",),
        (f"postgresql://[{SECRET}",),
        ("redis://h/0",),
        ("--rates", f"memcached://{SECRET}"),
        ("postgresql://h/" + "d" * 3000,),
    ],
)
def test_another_url_is_refused_without_repeating_it(cli, tmp_path, words):
    refused = cli("config", "experience", *words)
    assert refused.status == 1
    assert "bad_experience_url" in cli("config", "experience", *words, "--json").err
    assert SECRET not in refused.err
    assert not (tmp_path / "experience.json").exists()


def test_doctor_says_which_store_cannot_be_reached(cli, agent, monkeypatch):
    monkeypatch.setenv("BRAIN_RATES_URL", f"redis://:{SECRET}@127.0.0.1:1/0")
    found = {one["check"]: one for one in cli("doctor", "--json").document["checks"]}
    assert found["experience"]["ok"]
    assert not found["rates"]["ok"]
    assert "127.0.0.1" in found["rates"]["message"]
    assert SECRET not in json.dumps(found)
