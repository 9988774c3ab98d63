"""What is imported when: short commands are mostly start-up."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from brain_cli.main import main

from brain._version import __version__


def loaded(*arguments: str, cwd: Path) -> set[str]:
    """Return the modules that a call of the command line has imported at its end."""
    code = (
        "import sys; from brain_cli.main import main; status = main(sys.argv[1:]);"
        "sys.stderr.write('\\n' + ' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())


def test_the_installed_command_is_the_function_main():
    (entry,) = entry_points(group="console_scripts", name="brain")
    assert entry.load() is main


def test_a_process_that_is_the_command_ends_with_it(tmp_path):
    code = "from brain_cli.main import main; main(); print('still there')"
    for arguments, status in ((["--version"], 0), (["no-such-command"], 2)):
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status
        assert (done.stdout or done.stderr) and "still there" not in done.stdout


def test_the_version_is_printed_without_click(tmp_path):
    modules = loaded("--version", cwd=tmp_path)
    assert not modules & {"click", "brain_cli.invocation", "brain.errors"}


def test_the_version_is_that_of_the_library(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"brain {__version__}\n"


def test_the_version_is_also_an_option_among_others(capsys):
    assert main(["--no-color", "--version"]) == 0
    assert capsys.readouterr().out == f"brain {__version__}\n"


def test_help_imports_no_command(tmp_path):
    modules = loaded("--help", cwd=tmp_path)
    assert not [name for name in modules if name.startswith("brain_cli.commands.")]


def test_a_command_imports_no_other_command(tmp_path):
    modules = loaded("completion", "bash", cwd=tmp_path)
    commands = [name for name in modules if name.startswith("brain_cli.commands.")]
    assert commands == ["brain_cli.commands.keep"]


@pytest.mark.parametrize(
    "command", [["status"], ["log"], ["index"], ["skill", "list"], ["diff"], ["show"]]
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reading_command_that_nobody_watches_imports_no_rich(agent, command, form):
    assert not loaded(*command, *form, cwd=agent) & {"rich", "web3", "sqlite3"}


def test_an_upsert_of_an_untouched_skill_imports_neither_scan_nor_zstandard(agent):
    arguments = ("skill", "upsert", "fresh", "-d", "Fresh.")
    loaded(*arguments, cwd=agent)
    modules = loaded(*arguments, cwd=agent)
    assert "brain.ops.write_skill" in modules
    unneeded = {
        *("brain.folder.scan", "zstandard", "yaml", "json", "brain.results.trust"),
        *("brain.skills.frontmatter"),
        "brain_cli.settings.user_ledgers",
    }
    assert not modules & unneeded


@pytest.mark.parametrize("command", [["list"], ["view", "fresh"]])
def test_reading_skills_loads_neither_yaml_nor_what_writes_or_signs(agent, command):
    loaded("skill", "upsert", "fresh", "-d", "Fresh.", cwd=agent)
    modules = loaded("skill", *command, cwd=agent)
    assert "brain.ops.skills" in modules
    assert not modules & {
        *("yaml", "zstandard", "brain.repo.transaction"),
        *("brain.ops.log", "brain.repo.signing.sign", "brain.skills.skill_document"),
    }


def test_a_status_loads_no_archive_libraries_and_no_signatures(agent):
    modules = loaded("status", cwd=agent)
    assert "brain.ops.snapshot" in modules
    assert not modules & {"shutil", "lzma", "brain.repo.signing.sign", "brain_cli.revision_paths"}


def test_a_verification_of_a_brain_without_a_trust_file_loads_no_yaml(folder):
    loaded("init", cwd=folder)
    modules = loaded("verify", cwd=folder)
    assert "brain.verify.signature_check" in modules
    assert not modules & {"yaml", "cryptography", "brain.proofs.json_fields"}


def test_a_diff_of_snapshots_does_not_load_what_scans_or_writes_skills(agent):
    modules = loaded("diff", "@~1", "@", cwd=agent)
    assert "brain.ops.diff" in modules
    assert not modules & {
        "brain.folder.scan",
        "brain.skills.skill_document",
        "brain.results.trust",
    }


def test_a_write_imports_nothing_of_ledgers_unless_it_is_committed(tmp_path):
    loaded("init", ".", cwd=tmp_path)
    call = ("skill", "upsert", "a", "-d")
    modules = loaded(*call, "One", cwd=tmp_path)
    of_ledgers = {name for name in modules if name.startswith("brain.chain")}
    assert "brain.ops.write_skill" in modules
    assert not of_ledgers | modules & {
        "brain.repo.ledgers.commit_policy",
        "brain.repo.ledgers.commit",
    }
    modules = loaded(*call, "Two", "--commit", cwd=tmp_path)
    assert "brain.chain.tlog.embedded_ledger" in modules and not modules & {"web3", "eth_account"}
