"""Repositories are adopted from their URL, and nothing of them runs."""

import os
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from brain import Brain
from brain.adopting import clone
from brain.errors import InvalidInput
from tests.support.agent_homes import skill_text
from tests.support.cases import read_cases
from tests.support.git_repositories import LINK_MODE, SUBMODULE_MODE, GitEntry, GitRepository
from tests.support.refusals import raises_code


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


class _Backend(BaseHTTPRequestHandler):
    """Runs `git http-backend` as a web server does."""

    root: Path

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._run(b"")

    def do_POST(self) -> None:
        self._run(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _run(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=environment, capture_output=True, check=True
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serve_repositories(root: Path, *, smart: bool) -> Iterator[str]:
    """Serve the repositories in `root`; yield the URL of that folder."""
    handler = (
        type("Backend", (_Backend,), {"root": root})
        if smart
        else partial(_Quiet, directory=str(root))
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


CASES = read_cases(__file__)

FILES = {
    "plugins/db/skills/migrate/SKILL.md": skill_text("migrate", "Migrate.").encode(),
    "README.md": b"About.\n",
}
MORE = FILES | {"plugins/db/skills/seed/SKILL.md": skill_text("seed", "Seed.").encode()}


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Make a repository with two commits, and settings of a user with none of their own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")
    made = GitRepository(tmp_path / "served/skills.git", "--bare")
    first = made.commit({"README.md": b"About.\n"})
    made.commit(FILES, first, message=b"Add migrate\n")
    return made


@pytest.fixture(params=["file", "smart http", "files over http"])
def url(request, repository):
    if request.param == "file":
        yield f"file://{repository.path}"
        return
    repository.run_git("update-server-info")
    served = repository.path.parent
    with serve_repositories(served, smart=request.param == "smart http") as address:
        yield f"{address}/skills.git"


def test_the_newest_commit_of_a_url_is_adopted_and_again_with_what_is_new(
    url, repository, tmp_path
):
    done = Brain.adopt(url, tmp_path / "brain")
    assert (done.kind, done.source, done.changed) == ("agentskills", url, True)
    assert [place.path for place in done.taken] == ["skills/plugins/db/skills/migrate/SKILL.md"]
    assert not Brain.adopt(url, tmp_path / "brain").changed
    tip = repository.run_git("rev-parse", "HEAD").decode().strip()
    repository.commit(MORE, tip, message=b"Add seed\n")
    repository.run_git("update-server-info")
    assert Brain.adopt(url, tmp_path / "brain").changed
    with Brain.open(tmp_path / "brain") as brain:
        assert {skill.slug for skill in brain.skills.list()} == {"migrate", "seed"}
        assert brain.verify(deep=True).ok and brain.status().clean


def test_a_preview_clones_and_leaves_nothing(repository, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    done = Brain.preview_adoption(f"file://{repository.path}", tmp_path / "brain")
    assert len(done.taken) == 1 and not (tmp_path / "brain").exists()
    assert not os.listdir(tmp_path / "temporary")


def test_a_project_is_known_by_its_files(repository, tmp_path):
    skill = skill_text("fmt", "Format.").encode()
    repository.commit({"CLAUDE.md": b"Be brief.\n", ".claude/skills/fmt/SKILL.md": skill})
    done = Brain.adopt(f"file://{repository.path}", tmp_path / "brain")
    assert {place.path for place in done.taken} == {"CLAUDE.md", "skills/fmt/SKILL.md"}


def test_no_hook_and_no_program_of_the_settings_runs(repository, tmp_path):
    ran = tmp_path / "ran"
    script = f"#!/bin/sh\ntouch {ran}\n"
    for folder in (repository.path / "hooks", tmp_path / "template/hooks", tmp_path / "own"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change"):
            (folder / name).write_text(script)
            (folder / name).chmod(stat.S_IRWXU)
    (tmp_path / ".gitconfig").write_text(
        f"[safe]\n\tdirectory = *\n[init]\n\ttemplateDir = {tmp_path}/template\n"
        f"[core]\n\thooksPath = {tmp_path}/own\n\tfsmonitor = touch {ran}\n"
    )
    assert Brain.adopt(f"file://{repository.path}", tmp_path / "brain").changed
    assert not ran.exists()


@pytest.mark.parametrize(
    "rewritten",
    ["ext::sh -c touch% RAN", "file:///SERVED", "git://127.0.0.1/x", "http://127.0.0.1/"],
)
def test_no_other_transport_is_used_whatever_an_address_is_rewritten_to(
    repository, tmp_path, rewritten
):
    ran = tmp_path / "ran"
    address = rewritten.replace("RAN", str(ran)).replace("/SERVED", str(repository.path))
    settings = f'[url "{address}"]\n\tinsteadOf = https://example.invalid/a/b\n'
    (tmp_path / ".gitconfig").write_text(f"[protocol]\n\tallow = always\n{settings}")
    with raises_code("clone_failed", InvalidInput, match="not allowed"):
        Brain.adopt("https://example.invalid/a/b", tmp_path / "brain")
    assert not ran.exists()
    assert not (tmp_path / "brain").exists()


@pytest.mark.parametrize(
    ("text", "public", "name"), CASES["test_an_address_is_kept_without_its_credentials"]
)
def test_an_address_is_kept_without_its_credentials(text, public, name):
    url = clone.parse_repository_url(text)
    assert url is not None
    assert (url.text, url.public, url.name) == (text, public, name)


@pytest.mark.parametrize("text", ["a", "a/b", "/a/b", "./a:b", "../x", "C:\\x", "a:b", "~/x"])
def test_a_path_is_no_address(text):
    assert clone.parse_repository_url(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("http://example.org/a/b", "git://example.org/a", "ext::sh -c id", "fd::7", "ftp://x/y"),
        *("ssh://-oProxyCommand=id/x", "https://example.org", "https://example.org/", "file:///"),
        *("https://example.org/a b", "https://example.org/a\nb", "https:///a", "https://x:y/z"),
        *("https://example.org/..", "git@example.org:-x"),
    ],
)
def test_addresses_that_are_not_safe_are_refused(text, tmp_path):
    with raises_code("bad_url", InvalidInput) as caught:
        Brain.adopt(text, tmp_path / "brain")
    assert caught.value.hint
    assert not (tmp_path / "brain").exists()


def test_a_failure_shows_what_git_said_but_no_password(tmp_path):
    with raises_code("clone_failed", InvalidInput) as caught:
        Brain.adopt("https://me:hush@127.0.0.1:1/a/b", tmp_path / "brain")
    assert "hush" not in str(caught.value)


def test_a_repository_that_is_too_large_is_not_cloned_to_the_end(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(clone, "MAX_CLONE_BYTES", 10)
    with raises_code("too_large", InvalidInput):
        Brain.adopt(f"file://{repository.path}", tmp_path / "brain")
    assert not (tmp_path / "brain").exists()


def test_a_clone_that_takes_too_long_is_ended(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(clone, "MAX_CLONE_SECONDS", 0.0)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    (tmp_path / "programs").mkdir()
    program = tmp_path / "programs/git"
    program.write_text("#!/bin/sh\nexec /bin/sleep 600\n")
    program.chmod(stat.S_IRWXU)
    with raises_code("git_hangs", InvalidInput):
        Brain.adopt(f"file://{repository.path}", tmp_path / "brain")


def test_a_kind_may_be_chosen_for_an_address(repository, tmp_path):
    skill = skill_text("fmt", "Format.").encode()
    repository.commit({"CLAUDE.md": b"Be brief.\n", "skills/fmt/SKILL.md": skill})
    url = repository.path.as_uri()
    assert [row.path for row in Brain.adopt(url, tmp_path / "one").taken] == ["skills/fmt/SKILL.md"]
    done = Brain.adopt(url, tmp_path / "two", "claude")
    assert {row.path for row in done.taken} == {"CLAUDE.md", "skills/fmt/SKILL.md"}
    with raises_code("bad_kind", InvalidInput, match="no kind of source git"):
        Brain.adopt(url, tmp_path / "three", "git")


def test_a_bare_repository_of_this_machine_is_cloned_too(repository, tmp_path):
    done = Brain.adopt(repository.path, tmp_path / "brain")
    assert (done.source, len(done.taken)) == (repository.path.as_uri(), 1)


def test_a_brain_in_a_repository_is_adopted_whole_and_later_by_its_url_again(repository, tmp_path):
    files = {"skills/fmt/SKILL.md": skill_text("fmt", "Format.").encode(), "memory/a.md": b"a\n"}
    repository.commit({**files, "docs/read.md": b"d\n"})
    url = repository.path.as_uri()
    done = Brain.adopt(url, tmp_path / "brain")
    assert {row.path for row in done.taken} == {*files, "docs/read.md"}
    assert not Brain.adopt(url, tmp_path / "brain").changed


def test_files_have_the_bytes_that_were_committed(repository, tmp_path):
    (tmp_path / ".gitconfig").write_text(
        "[safe]\n\tdirectory = *\n[core]\n\tautocrlf = true\n\teol = crlf\n"
        f'[filter "own"]\n\tsmudge = touch {tmp_path}/ran; cat\n\trequired = true\n'
    )
    attributes = b"* text eol=crlf ident filter=own working-tree-encoding=UTF-16\n"
    skill = skill_text("fmt", "Format $Id$.").encode()
    repository.commit({"fmt/SKILL.md": skill, "fmt/.gitattributes": attributes})
    Brain.adopt(repository.path.as_uri(), tmp_path / "brain")
    assert (tmp_path / "brain/skills/fmt/SKILL.md").read_bytes() == skill
    assert not (tmp_path / "ran").exists()


def test_a_submodule_and_a_link_out_stay_out(repository, tmp_path):
    commit = repository.run_git("rev-parse", "HEAD").strip()
    repository.commit(
        {
            "fmt/SKILL.md": skill_text("fmt", "Format.").encode(),
            "fmt/other": GitEntry(commit, SUBMODULE_MODE),
            "fmt/out": GitEntry(b"/etc/passwd", LINK_MODE),
        }
    )
    done = Brain.adopt(repository.path.as_uri(), tmp_path / "brain")
    assert [row.path for row in done.taken] == ["skills/fmt/SKILL.md"]
    assert {row.path for row in done.left_out} == {"fmt/out"}


@pytest.mark.parametrize("name", [".git/config", "..", "a/../../x", ".GIT/hooks/post-checkout"])
def test_a_name_that_leads_out_of_the_clone_is_not_written(repository, tmp_path, name):
    before = {path for path in tmp_path.rglob("*") if repository.path not in path.parents}
    repository.commit({"fmt/SKILL.md": b"x", name: b"[core]\n"})
    with raises_code("clone_failed", InvalidInput):
        Brain.adopt(repository.path.as_uri(), tmp_path / "brain")
    assert {path for path in tmp_path.rglob("*") if repository.path not in path.parents} == before


def test_a_commit_of_very_many_paths_made_of_few_trees_is_not_checked_out(
    repository, tmp_path, monkeypatch
):
    monkeypatch.setattr(clone, "MAX_FILES", 10_000)
    tree = repository.run_git("rev-parse", "HEAD^{tree}").decode().strip()
    for _ in range(9):
        rows = "".join(f"040000 tree {tree}\t{number}\n" for number in range(10))
        tree = repository.run_git("mktree", stdin=rows.encode()).decode().strip()
    bomb = repository.run_git("commit-tree", tree, "-m", "bomb").decode().strip()
    repository.run_git("update-ref", "refs/heads/main", bomb)
    with raises_code("too_many", InvalidInput):
        Brain.adopt(repository.path.as_uri(), tmp_path / "brain")
    assert not (tmp_path / "brain").exists()


def test_a_repository_without_a_commit_or_a_skill_says_so(repository, tmp_path):
    GitRepository(tmp_path / "empty")
    with raises_code("no_commit", InvalidInput):
        Brain.adopt((tmp_path / "empty").as_uri(), tmp_path / "brain")
    repository.commit({"README.md": b"About.\n"})
    with raises_code("unknown_source", InvalidInput):
        Brain.adopt(repository.path.as_uri(), tmp_path / "brain")
    assert not (tmp_path / "brain").exists()


def test_a_repository_that_becomes_one_of_another_kind_loses_nothing(repository, tmp_path):
    before = {
        ".claude/skills/alpha/SKILL.md": skill_text("alpha", "First.").encode(),
        "CLAUDE.md": b"Be brief.\n",
    }
    url = repository.path.as_uri()
    tip = repository.commit(before)
    assert Brain.adopt(url, tmp_path / "brain").kind == "claude"
    more = before | {"skills/top/SKILL.md": skill_text("top", "Top.").encode()}
    tip = repository.commit(more, tip)
    for changed in (True, False):
        done = Brain.adopt(url, tmp_path / "brain")
        assert (done.kind, done.changed, done.conflicts) == ("agentskills", changed, [])
        assert (tmp_path / "brain/CLAUDE.md").read_text() == "Be brief.\n"
        with Brain.open(tmp_path / "brain") as brain:
            assert {"alpha", "top"} <= {skill.slug for skill in brain.skills.list()}
    repository.commit({path: text for path, text in more.items() if "top" not in path}, tip)
    Brain.adopt(url, tmp_path / "brain")
    assert (tmp_path / "brain/CLAUDE.md").exists()
