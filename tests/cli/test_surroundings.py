"""Where the command runs: no home, no folder, hostile folders, signals (cli-05 to cli-15)."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, environment
from tests.support.processes import TIMEOUT_SECONDS


@pytest.mark.parametrize(
    "settings", [{}, {"HOME": "/nonexistent"}, {"HOME": "", "USER": "", "TMPDIR": "/nonexistent"}]
)
def test_it_works_without_home_user_and_temporary_folder(agent, process, settings):
    assert process("status", cwd=agent, env=settings).status == 0
    (agent / "memory/more.md").write_text("more\n")
    told = process("snapshot", "--json", cwd=agent, env=settings)
    assert (told.status, told.err) == (0, "")


def test_a_user_without_a_name_is_called_brain(agent, tmp_path):
    code = (
        "import pwd, sys; pwd.getpwuid = lambda uid: (_ for _ in ()).throw(KeyError(uid));"
        "from brain_cli.context import login_name; print(login_name())"
    )
    done = subprocess.run([sys.executable, "-c", code], env={}, capture_output=True, check=True)
    assert done.stdout == b"brain\n"


@pytest.mark.parametrize("umask", [0o000, 0o777, 0o022])
def test_the_store_is_for_its_owner_alone_whatever_the_umask(tmp_path, process, umask):
    home = tmp_path / "agent"
    home.mkdir()
    assert process("init", cwd=home, umask=umask).status == 0
    control = home / ".brain"
    assert stat.S_IMODE(control.stat().st_mode) == 0o700
    for path in control.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_deleted_current_folder_is_one_clear_error(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$0" && rmdir "$0" && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, gone, *COMMAND, "status"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "Error: the current folder no longer exists\n"
        "Hint: change to a folder that exists, or name the brain with -C\n"
    )


def test_a_named_brain_works_from_a_deleted_folder(agent, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$0" && rmdir "$0" && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", script, gone, *COMMAND, "-C", str(agent), "status"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("start", ["installed", "module"])
def test_code_in_the_current_folder_is_not_run(agent, start):
    script = shutil.which("brain", path=str(Path(sys.executable).parent))
    assert script is not None
    command = [script] if start == "installed" else [sys.executable, "-m", "brain_cli"]
    for name in ("msgpack", "sqlite3", "json", "click", "brain", "apsw", "sitecustomize"):
        (agent / f"{name}.py").write_text("raise SystemExit('run from the current folder')\n")
    (agent / ".env").write_text("BRAIN_DIR=/nonexistent\n")
    (agent / "brain.toml").write_text("[brain]\ndirectory = '/nonexistent'\n")
    done = subprocess.run([*command, "log"], cwd=agent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "First" in done.stdout


def test_the_named_brain_is_used_and_said_where_another_is_nearer(agent, cli, monkeypatch):
    inner = agent / "inner"
    assert cli("init", "inner").status == 0
    monkeypatch.chdir(inner)
    assert f" in {agent}\n" in cli("status").out  # what lies in a brain is a part of it
    (agent / ".brainignore").write_text("/inner/\n")
    told = cli("-C", str(agent), "status")
    assert told.status == 0 and f" in {agent}\n" in told.out
    assert f"Note: working on the brain in {agent}, not on the one in {inner}\n" in told.err
    assert f" in {inner}\n" in cli("status").out


def test_the_folder_of_the_brain_may_stand_in_the_environment(agent, cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli("status").status == 10
    monkeypatch.setenv("BRAIN_DIR", str(agent))
    assert cli("status").status == 0
    assert cli("-C", str(tmp_path), "status").status == 10


def test_the_author_is_the_option_then_the_variable(agent, cli, monkeypatch):
    monkeypatch.setenv("BRAIN_AUTHOR", "grace")
    cli("skill", "upsert", "one", "-d", "x")
    cli("--author", "edsger", "skill", "upsert", "two", "-d", "x")
    authors = [item["author"] for item in cli("log", "--json").document["snapshots"]]
    assert authors[:2] == ["edsger", "grace"]


def test_a_name_that_is_not_utf_8_is_refused(agent, process):
    told = process("skill", "upsert", b"\xff\xfe", "-d", "x", "--json", cwd=agent)
    assert told.status == 1 and told.error["code"] == "bad_name"


def test_a_huge_name_is_refused_with_a_short_message(agent, cli):
    told = cli("skill", "upsert", "x" * 131_000, "-d", "x")
    assert told.status == 1 and len(told.err) < 600


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_command_cleanly(agent, cli, tmp_path, number, status):
    before = cli("log", "--json").document
    body = tmp_path / "body"
    os.mkfifo(body)
    command = subprocess.Popen(
        [*COMMAND, "skill", "upsert", "reentrancy", "-f", body],
        cwd=agent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with open(body, "wb"):  # returns once the command has opened it too, and reads
        command.send_signal(number)
        out, err = command.communicate(timeout=TIMEOUT_SECONDS)
    word = b"interrupted" if number == signal.SIGINT else b"terminated"
    assert (command.returncode, out, err) == (status, b"", b"Error: " + word + b"\n")
    assert cli("log", "--json").document == before
    assert cli("verify").status == 0


def test_a_hang_up_that_nohup_ignores_stays_ignored(agent):
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "from brain_cli.main import main; main(['status']);"
        "print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=agent, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("True\n")


def test_a_folder_without_rights_is_one_clear_error(agent, process):
    told = process("skill", "upsert", "one", "-f", "/proc/self/mem", cwd=agent)
    assert told.status == 1 and told.err.startswith("Error: ") and told.err.count("\n") <= 2


def test_a_named_file_that_is_missing_is_one_clear_error(agent, cli):
    told = cli("skill", "upsert", "one", "-f", "nothing.md")
    assert (told.status, told.err) == (
        1,
        "Error: nothing.md does not exist\n"
        "Hint: check its name: it is relative to the current folder\n",
    )
    error = (
        "Error: . has no SKILL.md\nHint: name the folder of a skill, or the file with its text\n"
    )
    assert cli("skill", "upsert", "one", "-f", ".").err == error
    error = "Error: . is a folder, not a file\nHint: name a file in it\n"
    assert cli("skill", "merge", "one", "two", "-f", ".").err == error


@pytest.mark.parametrize("files", [3, 4, 5, 6])
def test_too_few_open_files_are_one_clear_error(agent, files):
    code = (
        "import resource, sys; from brain_cli.main import main;"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}));"
        "status = main(['log']); sys.stderr.flush(); import os; os._exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=agent, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    assert (done.returncode == 0) == (done.stderr == "")


def test_debug_shows_where_an_error_came_from(agent, process):
    told = process("show", "ffffff", cwd=agent, env=environment(BRAIN_DEBUG="1"))
    assert "Traceback" in told.err and told.err.splitlines()[-1].startswith(("Error:", "Hint:"))
