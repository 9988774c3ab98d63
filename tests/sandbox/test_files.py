"""What a job sees: its files and approved folders, and nothing of the host."""

import os
import tempfile
from pathlib import Path

import pytest

from brain.errors import SandboxError
from tests.support.cases import read_cases
from tests.support.refusals import raises_code

CASES = read_cases(__file__)


@pytest.fixture
def folder():
    """A folder that every user can read."""
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        os.chmod(path, 0o755)
        yield Path(path)


def test_files_are_read_at_their_paths(run):
    files = {
        "/job/data/a b.bin": bytes(range(256)),
        "/job/modules/helper.py": b"def help(): return 'helped'\n",
        "/job/modules/package/part.py": b"value = 5\n",
    }
    code = (
        "import helper, package.part\n"
        "print(helper.help(), package.part.value)\n"
        "print(open('/job/data/a b.bin', 'rb').read() == bytes(range(256)))\n"
    )
    assert run(code, files=files).stdout == b"helped 5\nTrue\n"


@pytest.mark.parametrize("path", ["/etc/x", "/job", "/job/../x", "/job//x", "job/x", "/job/x\0"])
def test_a_file_is_refused_at_any_other_path(run, path):
    with pytest.raises(ValueError, match="below /job"):
        run("", files={path: b""})


def test_an_argument_with_a_zero_character_is_refused(run):
    with pytest.raises(ValueError, match="zero"):
        run("", "a\0b")


@pytest.mark.parametrize(
    "path", ["/", "/job", "/job/program.py", "/dev", "/usr/bin", "/usr/lib/python3", "/folders/f"]
)
def test_only_tmp_is_writable(run, folder, path):
    folder.chmod(0o777)
    code = (
        "import os, sys\n"
        "path = sys.argv[1]\n"
        "for way in (\n"
        "    lambda: open(os.path.join(path, 'x') if os.path.isdir(path) else path, 'w'),\n"
        "    lambda: os.chmod(path, 0o777),\n"
        "    lambda: os.rename(path, '/tmp/x'),\n"
        "    lambda: os.symlink('x', os.path.join(path, 'x')),\n"
        "):\n"
        "    try:\n"
        "        way()\n"
        "        print('done')\n"
        "    except OSError:\n"
        "        pass\n"
        "open('/tmp/x', 'w').write('x')\n"
    )
    outcome = run(code, path, folders={"f": str(folder)})
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert not list(folder.iterdir())


def test_the_program_starts_in_an_empty_tmp(run):
    assert run("import os; print(os.getcwd(), os.listdir())").stdout == b"/tmp []\n"


def test_the_host_is_not_seen(run):
    code = (
        "import os\n"
        "print(sorted(os.listdir('/')), sorted(os.listdir('/usr')))\n"
        "print(sorted(set(os.environ) - {'HOME', 'PWD', 'LC_CTYPE'}), os.uname().nodename)\n"
    )
    top, rest = run(code).stdout.decode().splitlines()
    for name in ("etc", "home", "proc", "root", "run", "sys", "var", "local"):
        assert f"'{name}'" not in top
    assert rest == "[] sandbox"


def test_a_program_has_five_descriptors_and_cannot_change_its_input(run):
    code = (
        "import os\n"
        "for number in range(64):\n"
        "    try:\n"
        "        os.fstat(number)\n"
        "        print(number)\n"
        "    except OSError:\n"
        "        pass\n"
        "for way in (lambda: os.write(0, b'x'), lambda: os.ftruncate(0, 1 << 20)):\n"
        "    try:\n"
        "        way()\n"
        "        print('done')\n"
        "    except OSError:\n"
        "        pass\n"
    )
    assert run(code, stdin=b"input").stdout == b"0\n1\n2\n3\n4\n"


def test_an_approved_folder_is_read_by_its_name(run, folder):
    (folder / "below").mkdir()
    (folder / "below" / "ä.txt").write_text("text")
    (folder / "out").symlink_to("/etc/passwd")
    code = (
        "import os\n"
        "print(open('/folders/data/below/ä.txt').read(), os.listdir('/folders'))\n"
        "print(os.path.exists('/folders/data/out'))\n"
    )
    outcome = run(code, folders={"data": str(folder)})
    assert outcome.stdout == b"text ['data']\nFalse\n"


@pytest.mark.parametrize(
    ("name", "path"), CASES["test_a_folder_that_cannot_be_offered_is_an_error"]
)
def test_a_folder_that_cannot_be_offered_is_an_error(run, name, path):
    with raises_code("bad_folder", SandboxError) as caught:
        run("", folders={name: path})
    assert caught.value.hint


def test_a_folder_that_the_job_cannot_read_is_an_error(run, folder):
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed").chmod(0o700 if os.geteuid() == 0 else 0)
    with pytest.raises(SandboxError) as caught:
        run("", folders={"f": str(folder / "closed" / "inner")})
    (folder / "closed").chmod(0o700)
    assert caught.value.code == "bad_folder" and caught.value.hint


def test_keys_and_what_is_no_file_are_covered_in_a_folder(run, folder):
    for name in ("a/.ssh/key", "a/id_rsa", "a/open", "own/x"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    os.mkfifo(folder / "a/fifo", 0o666)
    os.link(folder / "own/x", folder / "a/linked")
    (folder / "a/closed").mkdir(mode=0)
    code = (
        "import os\n"
        "for top, _, names in os.walk('/folders'):\n"
        "    for name in names:\n"
        "        for flags in (os.O_RDONLY, os.O_WRONLY):\n"
        "            try:\n"
        "                os.open(os.path.join(top, name), flags | os.O_NONBLOCK)\n"
        "                print(os.path.relpath(os.path.join(top, name), '/folders'))\n"
        "            except OSError:\n"
        "                pass\n"
    )
    outcome = run(code, folders={"f": str(folder)}, hidden=(str(folder / "own"),))
    (folder / "a/closed").chmod(0o700)
    assert outcome.stdout.split() == [b"f/a/open"], outcome


@pytest.mark.parametrize("path", ["/", "/proc", "/dev/shm/..", "~", "~/.ssh"])
def test_a_folder_that_is_everything_is_refused_whenever_it_was_approved(run, path):
    with raises_code("bad_folder", SandboxError):
        run("", folders={"f": os.path.expanduser(path)})
