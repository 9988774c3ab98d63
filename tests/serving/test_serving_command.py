"""What `brain mcp` takes and refuses."""

import contextlib
import io
import json
import os
import socket
import subprocess
from pathlib import Path

import jsonschema_rs
import platformdirs
import pytest
from brain_cli import schemas
from brain_cli.invocation import run_cli

from brain import Brain
from tests.support.cases import read_cases
from tests.support.mcp_peers import BRAIN_COMMAND, HttpServer, PipeServer, encode_request
from tests.support.processes import TIMEOUT_SECONDS

CASES = read_cases(__file__)


def refused(folder: Path, *options: str) -> dict[str, str]:
    """Return the error of a call that is refused before it serves anybody."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_cli(["--json", "-C", str(folder), "mcp", *options])
    assert status in (1, 2) and out.getvalue() == ""
    error: dict[str, str] = json.loads(err.getvalue())["error"]
    return error


def refused_process(folder: Path, *options: str) -> dict[str, str]:
    """The same, of a process that a client starts."""
    done = subprocess.run(
        [*BRAIN_COMMAND, "--json", "-C", str(folder), "mcp", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode in (1, 2) and done.stdout == b""
    error: dict[str, str] = json.loads(done.stderr)["error"]
    return error


@pytest.mark.parametrize(("options", "code"), CASES["test_what_cannot_be_served_is_refused"])
def test_what_cannot_be_served_is_refused(folder, options, code):
    assert refused(folder, *options)["code"] == code


def test_one_document_on_a_stream_of_messages_is_refused_in_words_of_its_own(folder):
    assert (
        refused_process(folder)["message"]
        == "--json requires --http: stdout belongs to the client without it."
    )


@pytest.mark.parametrize(
    ("closed", "name"), [("<&-", "input"), (">&-", "output"), ("<&- >&-", "input")]
)
def test_pipes_that_are_closed_are_an_error(folder, closed, name):
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *BRAIN_COMMAND, "-C", str(folder), "mcp"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"Error: standard {name} is closed\n")


def test_a_client_that_closes_standard_error_is_served(folder):
    done = subprocess.run(
        ["sh", "-c", '"$@" 2>&-', "sh", *BRAIN_COMMAND, "-C", str(folder), "mcp"],
        input=encode_request("tools/list", "last"),
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0 and json.loads(done.stdout)["id"] == "last"


def test_a_port_in_use_is_said_so(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refused_process(folder, "--http", str(port))["code"] == "cannot_listen"


def place_of(folder: Path) -> Path:
    """Return where the token of a brain is, the folder of it made."""
    with Brain.open(folder) as opened:
        place = platformdirs.user_config_path("brain") / "tokens" / opened.id
    place.parent.mkdir(parents=True)
    return place


def test_a_token_that_lies_in_the_brain_is_not_used(folder):
    planted = folder / ".brain" / "mcp-token"
    planted.write_text("known-to-others-" * 3 + "\n")
    planted.chmod(0o600)
    with HttpServer(folder) as made:
        assert made.token != planted.read_text().strip()
        assert not made.told["token_file"].startswith(str(folder))
    with HttpServer(folder) as again:
        assert again.token == made.token


def test_a_token_that_has_another_name_elsewhere_is_refused(folder):
    file = place_of(folder)
    file.write_text("x" * 43 + "\n")
    file.chmod(0o600)
    os.link(file, file.with_name("other"))
    assert refused(folder, "--http", "0")["code"] == "token_exposed"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_token_that_others_may_know_is_refused(folder, mode):
    file = place_of(folder)
    file.write_text("x" * 43 + "\n")
    file.chmod(mode)
    assert refused(folder, "--http", "0")["code"] == "token_exposed"


@pytest.mark.parametrize("content", ["", "short", "x" * 31, "x y" * 20, "ü" * 40])
def test_a_file_without_a_token_is_refused(folder, content, tmp_path):
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(0o600)
    assert refused(folder, "--http", "0", "--token-file", str(file))["code"] == "bad_token"


def test_a_link_instead_of_a_token_is_not_followed(folder, tmp_path):
    target = tmp_path / "target"
    os.symlink(target, place_of(folder))
    refused(folder, "--http", "0")
    assert not target.exists()


def test_what_is_told_keeps_its_schema_and_the_token_stays(folder):
    validator = jsonschema_rs.validator_for(schemas.load("mcp serve"))
    with HttpServer(folder, "--approve") as made:
        validator.validate(made.told)
        assert made.told["mode"] == "proposes"
        token = made.token
    with HttpServer(folder, "--read-only") as made:
        assert (made.token, made.told["mode"]) == (token, "reads")
        assert made.is_healthy()


def test_the_token_is_no_part_of_the_brain(folder):
    with HttpServer(folder):
        pass
    with Brain.open(folder) as opened:
        assert opened.status().clean
        assert opened.verify(deep=True).ok


def test_an_author_that_is_given_is_the_author_of_all_clients(folder):
    with PipeServer(folder, env={"BRAIN_AUTHOR": "nightly job"}) as piped:
        piped.initialize()
        given = {"action": "create", "name": "x", "content": "X."}
        assert not piped.call("tools/call", name="skill_manage", arguments=given)["result"][
            "isError"
        ]
    with Brain.open(folder) as opened:
        assert opened.history.show().info.author == "nightly job"


def test_where_there_is_no_brain_a_client_is_told(tmp_path):
    with PipeServer(tmp_path) as piped:
        status, out, err = piped.close()
    assert (status, out) == (10, b"") and b"brain init" in err
