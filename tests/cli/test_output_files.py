"""Files that commands write where a user asks for them."""

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-B", "-m", "brain_cli", "chain", "contract", "-o"]
"""It writes some ten kilobytes, and needs no brain. -B: bytecode would be cut off, too."""


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def write(name: str, folder: Path, *, limited: bool = False) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit_files if limited else None,
    )


def test_a_file_that_cannot_be_written_whole_keeps_its_content(tmp_path):
    file = tmp_path / "input.json"
    file.write_text("what was there")
    done = write("input.json", tmp_path, limited=True)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ") and "Traceback" not in done.stderr
    assert file.read_text() == "what was there"
    assert os.listdir(tmp_path) == ["input.json"]


def test_a_file_keeps_its_mode_and_a_link_leads_to_it(tmp_path):
    file = tmp_path / "input.json"
    file.write_text("what was there")
    file.chmod(0o640)
    (tmp_path / "link").symlink_to("input.json")
    assert write("link", tmp_path).returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert file.read_text().startswith("{")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_standard_output_and_pipes_are_written_to(tmp_path):
    done = write("/dev/stdout", tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("{") and "BrainRegistry" in done.stdout
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        assert write("pipe", tmp_path).returncode == 0
        assert reader.stdout is not None
        assert reader.stdout.read().startswith("{")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
