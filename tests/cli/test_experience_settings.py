"""Where experience is stored, on the command line."""

import json

import pytest

from tests.cli.conftest import validate

SECRET = "hunter2-secret"
URL = f"postgresql+psycopg://learner:{SECRET}@db.example.org:5433/agents?password={SECRET}"


def test_by_default_each_brain_has_a_file(cli):
    said = "experience: the file .brain/evolution.db of each brain\n"
    assert cli("config", "experience").out == said


def test_urls_are_stored_privately_and_shown_without_user_and_password(cli, tmp_path):
    shown = cli("config", "experience", URL)
    assert shown.out == "experience: postgresql agents on db.example.org:5433\n"
    file = tmp_path / "experience.json"
    assert json.loads(file.read_text())["url"] == URL
    assert file.stat().st_mode & 0o077 == 0
    document = cli("config", "experience", "--json")
    assert SECRET not in document.out and "learner" not in document.out
    validate("config-experience", document.document)
    assert cli("config", "experience", "--off").status == 0
    assert not file.exists()


def test_the_environment_takes_precedence(cli, monkeypatch):
    cli("config", "experience", URL)
    monkeypatch.setenv("BRAIN_EXPERIENCE_URL", "")
    assert cli("config", "experience").out.splitlines() == [
        "experience: the file .brain/evolution.db of each brain",
        "  set by BRAIN_EXPERIENCE_URL",
    ]


@pytest.mark.parametrize(
    "words",
    [
        (f"mysql://{SECRET}@h/db",),
        (f"http://{SECRET}",),
        (f"postgresql://[{SECRET}",),
        ("redis://h/0",),
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
    monkeypatch.setenv("BRAIN_EXPERIENCE_URL", f"postgresql://u:{SECRET}@127.0.0.1:1/db")
    found = {one["check"]: one for one in cli("doctor", "--json").document["checks"]}
    assert not found["experience"]["ok"]
    assert "127.0.0.1" in found["experience"]["message"]
    assert SECRET not in json.dumps(found)


def test_a_setting_of_an_earlier_release_is_refused_by_name(cli, agent, tmp_path):
    url = f"redis://:{SECRET}@cache.example.org/2"
    settings = {"format": "brain v1 experience", "rates": url}
    (tmp_path / "experience.json").write_text(json.dumps(settings))
    for words in (("config", "experience"), ("evolve", "gaps"), ("evolve", "run", "--once")):
        refused = cli(*words)
        assert refused.status == 1
        assert "rates" in refused.err and SECRET not in refused.err
        assert "Traceback" not in refused.err
    cli("config", "experience", "--off")
    assert cli("evolve", "gaps").status == 0
