"""What the program of a skill can be allowed, and what it never sees or touches all the same."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest

from brain import Brain
from brain.errors import BrainError, NotFound, SandboxError
from brain.sandbox.find_sandbox import probe_sandbox
from tests.cli.conftest import cli
from tests.support.refusals import raises_code

__all__ = ["cli"]

PROGRAM = """
import json, sys
payload = json.loads(sys.argv[1])
code = payload.get("code", "")
if code.startswith("#!"):
    found = []
    exec(code[2:], {"found": found})
    print(json.dumps({"found": found}))
else:
    print(json.dumps({"words": len(payload["text"].split())}))
"""
CHECK = """
def check(payload, output):
    assert output == {"words": len(payload["text"].split())}
"""
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "code": {"type": "string"}},
    "required": ["text"],
}
SECRET = b"the key of the user"
KEYS = (
    *("id_ed25519", "id_ed25519_work", "id_rsa.old", "deploy_key", "Sign.P8", "AuthKey.p12"),
    *(".env.production", ".npmrc", ".credentials.json", "auth.json", "credentials"),
)
READ_ALL = """
import os
for folder, folders, files in os.walk("/folders", followlinks=True):
    for file in files:
        path = os.path.join(folder, file)
        try:
            found.append([path, open(path).read()])
        except OSError:
            pass
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A home that every user can enter, with keys, a brain with a program, and logs."""
    try:
        probe_sandbox()
    except SandboxError as error:
        pytest.skip(f"no sandbox on this machine: {error.message}")
    with tempfile.TemporaryDirectory(dir="/tmp") as top, pytest.MonkeyPatch.context() as patch:
        os.chmod(top, 0o755)
        home = Path(top, "home")
        patch.setenv("HOME", str(home))
        for name in (".ssh/id_rsa", ".aws/credentials", "work/logs/a.log", "work/.env"):
            file = home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(SECRET if name.startswith(".") or ".env" in name else b"a line")
        source = home / "work" / "program"
        (source / "tests").mkdir(parents=True)
        (source / "skill.py").write_text(PROGRAM)
        (source / "schema.json").write_text(json.dumps(SCHEMA))
        (source / "tests/check.py").write_text(CHECK)
        cases = [{"payload": {"text": text}, "output": {"words": n}} for text, n in WORDS]
        (source / "tests/cases.json").write_text(json.dumps(cases))
        from brain_cli.invocation import run_cli

        brain = str(home / "work" / "brain")
        assert run_cli(["init", brain]) == 0
        acquire = ["evolve", "acquire", "look", "-f", str(source), "-d", "Look around"]
        assert run_cli(["-C", brain, *acquire, "--profile", "script"]) == 0
        yield home


WORDS = (("a b c", 3), ("one two", 2))


@pytest.fixture
def home(made, monkeypatch):
    """The same, as the home of this user, and nothing allowed."""
    monkeypatch.setenv("HOME", str(made))
    with Brain.open(made / "work" / "brain") as brain:
        brain.programs.approve("look")
    yield made


@pytest.fixture
def allow(cli, home):
    return lambda *options: cli("-C", str(home / "work/brain"), "evolve", "allow", "look", *options)


def look(home: Path, code: str) -> list[Any]:
    """Return what code finds inside, run as the program of the skill."""
    with Brain.open(home / "work" / "brain") as brain:
        run = brain.programs.run("look", {"text": "", "code": f"#!{code}"})
    assert run.ok, run.error
    found: list[Any] = run.output["found"]
    return found


@pytest.mark.parametrize(
    "folder",
    [
        *("/", "~", "~/..", "/proc", "/proc/self", "/sys", "/dev", "/run"),
        *("~/.ssh", "~/.aws", "~/work/brain", "~/work/brain/.brain", "~/work/brain/skills"),
        *("~/.config/brain", "~/.local/state/brain", "~/.cache/brain", "~/link"),
    ],
)
def test_what_gives_a_program_everything_or_keys_is_refused(allow, home, folder):
    (home / ".config/brain").mkdir(parents=True, exist_ok=True)
    (home / "link").unlink(missing_ok=True)
    (home / "link").symlink_to(home / ".ssh")
    refused = allow("--json", "--yes", "--read", folder)
    assert (refused.status, refused.error["code"]) == (1, "protected_folder")
    assert refused.error["hint"] and "may reach nothing" in allow().out
    with Brain.open(home / "work/brain") as brain, pytest.raises(BrainError):
        path = os.path.expanduser(folder)
        brain.programs.approve("look", folders={"x": path}, knowingly=True)


def test_a_folder_with_keys_is_allowed_knowingly_and_its_keys_stay_hidden(allow, home):
    work = home / "work"
    asked = allow("--json", "--read", str(work))
    assert (asked.status, asked.error["code"]) == (1, "consequences")
    assert ".env" in asked.error["message"] and "brain" in asked.error["message"]
    assert "--yes" in asked.error["hint"] and "may reach nothing" in allow().out
    assert allow("--read", str(work), "--yes").status == 0
    # Keys under other names, and by way of links, come after the approval.
    (work / "logs/to_keys").symlink_to("../../.ssh")
    (work / "logs/inner").symlink_to("../.env")
    os.link(home / ".ssh/id_rsa", work / "logs/b.log")
    (work / "old/.gnupg").mkdir(parents=True)
    for name in ("old/.gnupg/ring", "old/x.pem", *(f"old/{name}" for name in KEYS)):
        (work / name).write_bytes(b"-----BEGIN PRIVATE KEY-----\n" + SECRET)
    for name in ("cert.pem", "key.py"):
        (work / "old" / name).write_text("seen")
    try:
        found = dict(look(home, READ_ALL))
        assert found["/folders/work/old/cert.pem"] == found["/folders/work/old/key.py"] == "seen"
    finally:
        shutil.rmtree(work / "old")
        for name in ("to_keys", "inner", "b.log"):
            (work / "logs" / name).unlink()
    assert found["/folders/work/logs/a.log"] == "a line"
    assert [path for path, text in found.items() if SECRET.decode() in text] == []
    assert [path for path in found if path.startswith("/folders/work/brain/")] == []


@pytest.mark.parametrize(
    "path", ["logs", "~/work/logs", "/a\0/b", "work/none", "work/program/skill.py"]
)
def test_what_is_no_folder_is_approved_in_python_no_more_than_by_the_command(home, path):
    named = str(home / path) if path.startswith("work") else path
    with Brain.open(home / "work/brain") as brain, raises_code("no_path", NotFound):
        brain.programs.approve("look", folders={"x": named})


def test_a_link_is_approved_for_where_it_leads_now(allow, home):
    link = home / "latest"
    link.symlink_to(home / "work/logs")
    with Brain.open(home / "work/brain") as brain:
        brain.programs.approve("look", folders={"x": str(link)})
    link.unlink()
    link.symlink_to(home / "work/program")
    assert [path for path, _ in look(home, READ_ALL)] == ["/folders/x/a.log"]
    link.unlink()


def test_an_approval_from_before_gives_no_keys_either(allow, home):
    """An older version of brain noted any folder."""
    assert allow("--read", str(home / "work/logs")).status == 0
    (noted,) = (home / ".local/state/brain/admitted").iterdir()
    record = json.loads(noted.read_text())
    for folder in (home, home / "work/brain", home / ".ssh", Path("/")):
        record["folders"] = {"logs": str(folder)}
        noted.write_text(json.dumps(record))
        with raises_code("bad_folder", SandboxError) as caught:
            look(home, READ_ALL)
        assert "--remove" in (caught.value.hint or "")
    assert allow("--remove").status == 0


def test_a_folder_that_is_too_deep_to_be_searched_is_read_by_no_program(allow, home, monkeypatch):
    """A program inside could go on step by step, to a key."""
    deep = home / "deep"
    deep.mkdir()
    assert allow("--read", str(deep)).status == 0
    monkeypatch.chdir(deep)
    for _ in range(25):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    with raises_code("bad_folder", SandboxError):
        look(home, READ_ALL)


def test_what_is_no_file_in_a_folder_can_be_neither_read_nor_written(allow, home):
    logs = home / "work/logs"
    assert allow("--read", str(logs)).status == 0
    os.mkfifo(logs / "fifo")
    os.chmod(logs / "fifo", 0o666)
    reader = os.open(logs / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(logs / "socket"))
        os.chmod(logs / "socket", 0o777)
        try:
            tried = """
import os
for name in ("fifo", "socket"):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try:
            os.open("/folders/logs/" + name, flags | os.O_NONBLOCK)
            found.append(name)
        except OSError:
            pass
"""
            assert look(home, tried) == []
            with pytest.raises(BlockingIOError):
                assert os.read(reader, 1) == b"", "somebody wrote"
                raise BlockingIOError
        finally:
            os.close(reader)
            (logs / "fifo").unlink()
            (logs / "socket").unlink()


def test_a_program_neither_watches_nor_locks_files_of_the_host(allow, home):
    assert allow("--read", str(home / "work/logs")).status == 0
    tried = """
import ctypes, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
path = b"/folders/logs/a.log"
file, folder = os.open(path, os.O_RDONLY), os.open("/folders/logs", os.O_RDONLY)
lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)
watch = libc.inotify_init()
ways = {
    "inotify_init": lambda: watch >= 0,
    "inotify_init1": lambda: libc.inotify_init1(0) >= 0,
    "inotify_add_watch": lambda: libc.inotify_add_watch(watch, path, 2) >= 0,
    "fanotify_init": lambda: libc.fanotify_init(0, 0) >= 0,
    "dnotify": lambda: libc.fcntl(folder, 1026, 2) >= 0,
    "lease": lambda: libc.fcntl(file, 1024, fcntl.F_RDLCK) >= 0,
    "flock": lambda: libc.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB) == 0,
    "flock of the folder": lambda: libc.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB) == 0,
    "mkfifo": lambda: libc.mkfifo(b"/tmp/fifo", 0o600) == 0,
    **{
        f"lock {command}": lambda command=command: libc.fcntl(file, command, lock) == 0
        for command in (5, 6, 7, 36, 37, 38)
    },
}
found += [name for name, way in ways.items() if way()]
"""
    assert look(home, tried) == []


def test_a_program_without_a_folder_locks_what_is_its_own(home):
    code = """
import sqlite3
with sqlite3.connect("/tmp/own.db") as db:
    db.execute("create table t (a)")
    db.execute("insert into t values (1)")
found += db.execute("select a from t").fetchall()
"""
    assert look(home, code) == [[1]]


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "0", "0.0.0.0", "0xa9fea9fe", "169.254.43518", "2852039166"),
        *("localhost", "api.localhost", "metadata.google.internal", "224.0.0.1", "168.63.129.16"),
        *("100.100.100.200", "localhost:8443", "[::1]", "[fe80::1]", "[::ffff:127.0.0.1]"),
    ],
)
def test_what_is_for_this_machine_alone_is_no_host(allow, host):
    refused = allow("--json", "--yes", "--host", host)
    assert refused.status == 1 and refused.error["code"] in ("protected_host", "bad_host")
    assert refused.error["hint"] and "may reach nothing" in allow().out


@pytest.mark.parametrize(
    ("host", "kept"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1:8443", "127.0.0.1:8443"),
        ("0x7f.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("192.168.1.5", "192.168.1.5"),
        ("10.1", "10.0.0.1"),
    ],
)
def test_a_private_address_is_allowed_knowingly_in_its_usual_form(allow, host, kept):
    asked = allow("--json", "--host", host)
    assert (asked.status, asked.error["code"]) == (1, "consequences")
    assert kept in asked.error["message"]
    assert f"may reach {kept}\n" in allow("--host", host, "--yes").out
    assert "services trust all" in allow().out
    assert "may reach nothing" in allow("--remove", "--host", host).out


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "169.254.169.254", "10.0.0.1", "0.0.0.0", "::1", "fe80::1", "fd00::1"),
        *("::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fd00:ec2::254"),
    ],
)
def test_a_name_that_turns_to_a_private_address_is_not_fetched(allow, home, monkeypatch, address):
    """DNS rebinding: the name was public when it was allowed."""
    assert allow("--host", "api.example.org").status == 0
    row = (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [row])
    code = """
import skillapi
try:
    found.append(skillapi.fetch("https://api.example.org/"))
except skillapi.SkillError as error:
    found.append(str(error))
"""
    (said,) = look(home, code)
    assert "is not a public address" in said


def test_the_verdict_says_what_limited_the_memory_of_its_runs(cli, home):
    """Each run has one process: its address space has the limit, and no control group."""
    why = cli("-C", str(home / "work/brain"), "why", "look", "--json")
    text = json.dumps(why.document)
    assert "control group" not in text
    assert '"memory": "address space"' in text or '["memory", "address space"]' in text
