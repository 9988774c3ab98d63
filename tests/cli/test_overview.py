"""`brain` alone."""

from pathlib import Path

from tests.cli.conftest import validate


def test_brain_alone_shows_the_status_and_three_hints(agent, cli):
    shown = cli()
    assert shown.status == 0
    assert shown.out == cli("status").out
    assert [line.split("  ")[1] for line in shown.err.splitlines()] == [
        "brain skill list",
        "brain log",
        "brain --help",
    ]
    Path("memory/more.md").write_text("more\n")
    shown = cli()
    assert shown.out.endswith("A memory/more.md\n") and "  brain snapshot  record" in shown.err


def test_brain_alone_outside_of_a_brain_says_how_to_begin(folder, cli):
    shown = cli()
    assert (shown.status, shown.out) == (0, "")
    assert shown.err.startswith("There is no brain here.\n  brain init")
    assert len(shown.err.splitlines()) == 4


def test_brain_alone_with_json_is_the_status(agent, cli, folder):
    shown = cli("--json")
    validate("status", shown.document)
    assert shown.err == ""


def test_brain_alone_with_json_outside_of_a_brain_is_an_error(folder, cli):
    assert (cli("--json").status, cli("--json").error["code"]) == (10, "no_brain")
    assert cli("-C", ".").status == 10


def test_brain_alone_during_a_merge_says_how_to_end_it(agent, cli):
    cli("branch", "idea")
    for name in ("main", "idea"):
        cli("switch", name)
        Path("memory/notes.md").write_text(f"{name}\n")
        cli("snapshot")
    cli("switch", "main")
    assert cli("merge", "idea").status == 12
    assert "brain merge --continue" in cli().err
