"""Where experience is stored, on the command line."""

import json

import pytest

SECRET = "hunter2-secret"
URL = f"postgresql+psycopg://learner:{SECRET}@db.example.org:5433/agents?password={SECRET}"


def test_by_default_each_brain_has_a_file(cli):
    assert "experience.url  -  (not set)" in cli("config", "experience").out


def test_urls_are_stored_privately_and_shown_without_user_and_password(cli, tmp_path):
    shown = cli("config", "experience", URL)
    assert shown.out.endswith("\nexperience.url  postgresql agents on db.example.org:5433\n")
    file = tmp_path / "config.toml"
    assert URL in file.read_text() and file.stat().st_mode & 0o077 == 0
    document = cli("config", "experience", "--json")
    assert SECRET not in document.out and "learner" not in document.out
    assert cli("config", "--unset", "experience").status == 0
    assert SECRET not in file.read_text()


def test_the_environment_takes_precedence(cli, monkeypatch):
    cli("config", "experience", URL)
    monkeypatch.setenv("BRAIN_EXPERIENCE_URL", "")
    assert "experience.url  -  (BRAIN_EXPERIENCE_URL)" in cli("config", "experience").out


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://{SECRET}@h/db",
        f"http://{SECRET}",
        f"postgresql://[{SECRET}",
        "redis://h/0",
        "postgresql://h/" + "d" * 3000,
    ],
)
def test_another_url_is_refused_without_repeating_it(cli, tmp_path, url):
    refused = cli("config", "experience", url)
    assert refused.status == 1
    assert "bad_experience_url" in cli("config", "experience", url, "--json").err
    assert SECRET not in refused.err
    assert not (tmp_path / "config.toml").exists()


def test_doctor_says_which_store_cannot_be_reached(cli, agent, monkeypatch):
    monkeypatch.setenv("BRAIN_EXPERIENCE_URL", f"postgresql://u:{SECRET}@127.0.0.1:1/db")
    found = {one["check"]: one for one in cli("doctor", "--json").document["checks"]}
    assert not found["experience"]["ok"]
    assert "127.0.0.1" in found["experience"]["message"]
    assert SECRET not in json.dumps(found)


def test_a_setting_that_there_is_no_more_is_refused_by_name(cli, agent, tmp_path):
    url = f"redis://:{SECRET}@cache.example.org/2"
    (tmp_path / "config.toml").write_text(f'[experience]\nrates = "{url}"\n')
    for words in (("config", "experience"), ("evolve", "gaps"), ("evolve", "run", "--once")):
        refused = cli(*words)
        assert refused.status == 1
        assert "experience.rates" in refused.err and SECRET not in refused.err
        assert "Traceback" not in refused.err
    (tmp_path / "config.toml").unlink()
    assert cli("evolve", "gaps").status == 0
