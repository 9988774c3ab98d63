"""Machines that have no sandbox: what is missing is named, with what to do, and nothing runs."""

import subprocess
import sys

import pytest

from brain.errors import SandboxError
from brain.sandbox import find_sandbox, seccomp, watch
from tests.support.refusals import raises_code

PROBE = """
from brain.errors import SandboxError
from brain.sandbox.find_sandbox import probe_sandbox
try:
    profile = probe_sandbox()
    print("ok", profile.name, dict(profile.versions).get("/proc", ""))
except SandboxError as error:
    print(f"{error.code}: {error.message}; {error.hint}")
"""
AS_USER = ("--unshare-user", "--uid", "1000", "--gid", "1000", "--dev-bind", "/", "/")
AS_ROOT = ("--unshare-user", "--uid", "0", "--gid", "0", "--dev-bind", "/", "/")


def probe(*options: str, before: tuple[str, ...] = ()) -> str:
    """Look for a sandbox within a namespace that bubblewrap makes with these options."""
    command = ["bwrap", *options, *before, sys.executable, "-B", "-c", PROBE]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert not done.stderr
    return done.stdout


@pytest.fixture(autouse=True)
def _here(sandbox):
    """Only where there is a sandbox, it can be taken away."""


def test_a_user_namespace_in_which_others_can_be_made_has_a_sandbox():
    assert probe(*AS_USER) == "ok bubblewrap of their own for sessions\n"


def test_where_parts_of_proc_are_covered_sessions_run_without_one():
    assert probe(*AS_USER, "--tmpfs", "/proc/acpi").startswith("ok bubblewrap sessions have none")


def test_without_bubblewrap_it_is_named_and_how_to_install_it():
    said = probe(*AS_USER, "--ro-bind", "/dev/null", "/usr/bin/bwrap")
    assert said.startswith("no_sandbox: ") and "bwrap is not installed" in said
    assert "apt install bubblewrap" in said


def test_without_libseccomp_it_is_named_and_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    with raises_code("no_sandbox", SandboxError) as caught:
        seccomp.build_filter.__wrapped__(processes=False, locks=True)
    assert "libseccomp" in caught.value.hint


def test_where_no_namespace_can_be_made_the_reason_is_named():
    said = probe("--disable-userns", *AS_USER)
    assert said.startswith("no_sandbox: ") and "Creating new namespace failed" in said


def test_the_number_of_namespaces_that_is_allowed_is_named_if_it_is_zero():
    lower = "echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --ambient-caps=-all"
    script = f'{lower} --inh-caps=-all -- "$@"'
    said = probe("--cap-add", "ALL", *AS_USER, before=("sh", "-c", script, "sh"))
    assert said.startswith("no_sandbox: ") and "sysctl user.max_user_namespaces=" in said


def test_without_proc_the_hint_is_to_mount_it():
    said = probe(*AS_USER, "--tmpfs", "/proc")
    assert said.startswith("no_sandbox: ") and "mount -t proc" in said


def test_where_proc_is_masked_the_reason_is_named():
    said = probe(*AS_USER, "--ro-bind", "/proc/sys", "/proc/sys")
    assert said.startswith("no_sandbox: ") and "max_user_namespaces" in said


def test_the_proc_of_other_processes_is_not_taken_for_that_of_the_sandbox():
    said = probe("--unshare-pid", *AS_USER)
    assert said.startswith("no_sandbox: ") and "/proc shows other processes" in said


def test_root_of_a_namespace_without_user_ids_is_an_error():
    said = probe(*AS_ROOT)
    assert said.startswith("no_uid: ") and "as a user other than root" in said


def test_an_old_bubblewrap_is_an_error(tmp_path):
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho 'bwrap: Unknown option --disable-userns' >&2\nexit 1\n")
    old.chmod(0o755)
    said = probe(*AS_USER, "--ro-bind", str(old), "/usr/bin/bwrap")
    assert said.startswith("no_sandbox: ") and "install bubblewrap 0.8 or later" in said


def test_other_systems_have_no_sandbox_without_one_of_their_own(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with raises_code("no_sandbox", SandboxError) as caught:
        find_sandbox.find_sandbox()
    assert "win32" in caught.value.message


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("user/max_user_namespaces", "0\n", "user.max_user_namespaces="),
        ("kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1\n", "apparmor-profiles"),
    ],
)
def test_the_setting_that_forbids_namespaces_is_named(monkeypatch, tmp_path, name, value, hint):
    (tmp_path / "kernel").mkdir()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(value)
    monkeypatch.setattr(watch, "_SYSCTLS", tmp_path)
    error = watch.explain_failure(b"bwrap: setting up uid map: Permission denied\n")
    assert "setting up uid map" in error.message and hint in error.hint


def test_a_container_that_forbids_namespaces_is_named(monkeypatch, tmp_path):
    (tmp_path / "kernel").mkdir()
    monkeypatch.setattr(watch, "_SYSCTLS", tmp_path)
    monkeypatch.setattr(watch, "_CONTAINER_MARKS", (tmp_path / "kernel",))
    error = watch.explain_failure(b"bwrap: No permissions to create new namespace\n")
    assert "seccomp=unconfined" in error.hint


def test_a_failure_without_a_message_is_an_error_all_the_same():
    gone = watch.explain_failure(b"bwrap: Can't create file at /folders/w/a.key: Read-only\n")
    assert gone.code == "bad_folder" and "try again" in gone.hint
    error = watch.explain_failure(b"")
    assert error.code == "no_sandbox" and error.message and error.hint
