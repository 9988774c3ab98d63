"""Tasks are read as they lie, and what is wrong with one is an error that says so."""

import os

import pytest

from brain.errors import InvalidInput
from brain.tasks.images import Place, Run, TaskFile, list_requirements, read_image
from brain.tasks.task_folders import MAX_TASKS, read_tasks
from tests.support.refusals import raises_code
from tests.support.task_folders import CLAUDE, EVALS, HARBOR, OWN, SKILLSBENCH, make_task


def read_one(folder, files):
    found = read_tasks(make_task(folder, files))
    assert found.broken == ()
    (task,) = found.tasks
    return task


@pytest.mark.parametrize(
    ("files", "format", "seconds", "place"),
    [
        (HARBOR, "harbor", 60, "/app"),
        (SKILLSBENCH, "skillsbench", 90, "/app"),
        (OWN, "harbor", 600, "/app"),
        ({**OWN, "files/in/a.txt": "x"}, "harbor", 600, "/app"),
    ],
)
def test_a_folder_with_a_verifier_is_read_as_it_lies(tmp_path, files, format, seconds, place):
    task = read_one(tmp_path / "hello", files)
    assert (task.name, task.format, task.limits.solver_seconds) == ("hello", format, seconds)
    assert (task.instruction, task.image.folder) == ("Write hello to out.txt.\n", place)
    assert (list(task.tests), list(task.solution)) == (["test.sh"], ["solve.sh"])
    assert not task.missing and not task.is_shared and not task.needs_judge
    assert list(task.files) == [name[6:] for name in files if name.startswith("files/")]


def test_a_task_has_the_category_that_its_metadata_name(tmp_path):
    toml = {**OWN, "task.toml": '[metadata]\ncategory = "text"\n'}
    front = "---\nmetadata: {category: text}\n---\nWrite.\n"
    for name, files in {"toml": toml, "front": {**SKILLSBENCH, "task.md": front}}.items():
        assert read_one(tmp_path / name, files).category == "text"
    assert (
        read_one(tmp_path / "none", {**toml, "task.toml": "[metadata]\ncategory = 1"}).category
        == ""
    )


def test_the_case_of_a_plugin_has_graders_and_what_only_a_judge_decides_is_marked(tmp_path):
    task = read_one(tmp_path, CLAUDE)
    kinds = {grader.name: (grader.kind, grader.weight) for grader in task.graders}
    assert kinds == {
        "runs": ("tool_used", 1),
        "says": ("regex", 3),
        "taste": ("judge", 1),
        "writes": ("file_exists", 1),
    }
    assert (task.needs_judge, task.limits.solver_seconds) == (True, 30)


def test_the_yaml_form_of_a_case_lists_its_graders(tmp_path):
    text = "execution:\n  prompt: Say hi\ngraders:\n  - {type: regex, name: hi, pattern: hi}\n"
    task = read_one(tmp_path, {"case.yaml": text})
    assert (task.instruction, task.graders[0].name, task.needs_judge) == ("Say hi", "hi", False)


def test_evals_of_a_skill_are_tasks_that_a_judge_scores(tmp_path):
    task = read_one(tmp_path, {"evals/evals.json": EVALS, "evals/files/a.txt": "two words"})
    assert (task.name, task.instruction, list(task.files)) == (
        "eval-7",
        "Count.",
        ["files/a.txt", "a.txt"],
    )
    assert [grader.criteria for grader in task.graders] == ["It is 2", "It is short"]


def test_a_skill_has_its_evals_and_task_folders_together(tmp_path):
    make_task(tmp_path / "tasks" / "hello", HARBOR)
    make_task(tmp_path / "evals" / "polite", CLAUDE)
    make_task(tmp_path / "tasks" / "broken", {"instruction.md": "x"})
    make_task(tmp_path, {"evals/evals.json": EVALS, "files/a.txt": "", "SKILL.md": "# Words"})
    found = read_tasks(tmp_path)
    assert [task.name for task in found.tasks] == ["eval-7", "hello", "polite"]
    assert [(one.name, one.error.code) for one in found.broken] == [("broken", "missing_file")]


def test_what_needs_more_than_a_sandbox_is_named(tmp_path):
    settings = (
        '[environment]\ngpus = 1\n[verifier]\nenvironment_mode = "shared"\n[verifier.env]\n'
        'KEY = "${API_KEY}"\nLEVEL = "${LEVEL:-3}"\n[[steps]]\nname = "a"\n'
    )
    docker = "FROM ghcr.io/who/what:1\nCOPY --from=x /a /b\nADD https://x.invalid/a /a\nCOPY no /\n"
    files = {**HARBOR, "task.toml": settings, "environment/Dockerfile": docker}
    task = read_one(tmp_path, {**files, "environment/docker-compose.yaml": "services: {}\n"})
    said = " ".join(task.missing)
    for part in ("Compose", "GPU", "several steps", "API_KEY", "ghcr.io", "another image"):
        assert part in said
    assert "needs a network" in said and "no is not in environment/" in said
    assert (task.is_shared, dict(task.test_environment)) == (True, {"KEY": "", "LEVEL": "3"})


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"README.md": "no task"}, "no_tasks"),
        ({**HARBOR, "tests/test.sh": None}, "missing_file"),
        ({**HARBOR, "instruction.md": " \n"}, "bad_task"),
        ({**HARBOR, "instruction.md": b"\xff\xfe"}, "not_text"),
        ({**HARBOR, "task.toml": "= broken"}, "bad_task"),
        ({**HARBOR, "task.toml": "a = " + "[" * 9000}, "bad_task"),
        ({**HARBOR, "task.toml": "verifier = 3\n"}, "bad_task"),
        ({**HARBOR, "task.toml": "[agent]\ntimeout_sec = -1\n"}, "bad_task"),
        ({**HARBOR, "task.toml": "[agent]\ntimeout_sec = true\n"}, "bad_task"),
        ({**HARBOR, "task.toml": '[environment]\nmemory = "much"\n'}, "bad_task"),
        ({**HARBOR, "task.toml": '[verifier]\nenvironment_mode = "none"\n'}, "bad_task"),
        ({**SKILLSBENCH, "task.md": "---\nagent: [1]\n---\nDo it.\n"}, "bad_task"),
        ({**CLAUDE, "graders/says.md": "---\ntype: magic\n---\n"}, "bad_task"),
        ({**CLAUDE, "graders/says.md": "---\ntype: regex\n---\n"}, "bad_task"),
        ({"prompt.md": "Do it."}, "missing_file"),
        ({"case.yaml": "prompt: [1]\n"}, "bad_task"),
        ({"case.yaml": "prompt: Hi\ngraders: {type: regex}\n"}, "bad_task"),
    ],
)
def test_a_task_that_cannot_be_read_is_refused_as_a_whole(tmp_path, files, code):
    make_task(tmp_path, {name: text for name, text in files.items() if text is not None})
    with raises_code(code, InvalidInput):
        read_tasks(tmp_path)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[", "bad_task"),
        ("[1]", "bad_task"),
        ('{"evals": {}}', "bad_task"),
        ('{"evals": [3]}', "bad_task"),
        ('{"evals": [{"id": true, "prompt": "x", "expected_output": "y"}]}', "bad_task"),
        ('{"evals": [{"prompt": "x"}]}', "bad_task"),
        ('{"evals": [{"prompt": "x", "assertions": [1]}]}', "bad_task"),
        ('{"evals": [{"prompt": "x", "expected_output": 1}]}', "bad_task"),
        ('{"evals": [{"prompt": "x", "expected_output": "y", "files": "a"}]}', "bad_task"),
        ('{"evals": [{"prompt": "x", "expected_output": "y", "files": ["no"]}]}', "missing_file"),
        (
            '{"evals": [{"prompt": "x", "expected_output": "y", "files": ["../out"]}]}',
            "link_outside",
        ),
        ('{"evals": [' + '{"prompt": "x", "expected_output": "y"},' * 9999 + "0]}", "too_many"),
        ('{"evals": ' + "[" * 99 + "]" * 99 + "}", "bad_task"),
        (r'{"evals": [{"prompt": "\ud800", "expected_output": "y"}]}', "not_text"),
    ],
)
def test_evals_of_wrong_types_too_many_or_without_their_files_are_refused(tmp_path, text, code):
    make_task(tmp_path, {"out": "secret", "skill/evals/evals.json": text})
    (broken,) = read_tasks(tmp_path / "skill").broken
    assert broken.error.code == code and broken.error.hint


def test_a_link_out_of_a_task_is_refused_and_one_inside_is_followed(tmp_path):
    folder = make_task(tmp_path / "task", HARBOR)
    os.symlink("test.sh", folder / "tests" / "again.sh")
    assert list(read_tasks(folder).tasks[0].tests) == ["again.sh", "test.sh"]
    for place in ("environment/passwd", "tests/passwd", "solution/passwd"):
        os.symlink("/etc/passwd", folder / place)
        with raises_code("link_outside", InvalidInput):
            read_tasks(folder)
        (folder / place).unlink()
    os.mkfifo(folder / "tests" / "pipe")
    with raises_code("bad_task", InvalidInput):
        read_tasks(folder)


def test_more_tasks_than_may_be_are_refused(tmp_path):
    for number in range(MAX_TASKS + 1):
        (tmp_path / f"t{number}").mkdir()
        (tmp_path / f"t{number}" / "prompt.md").write_text("no grader")
    with raises_code("too_many", InvalidInput):
        read_tasks(tmp_path)


DOCKERFILE = """\
# a comment
ARG DIR=/data
FROM python:3.12-slim AS first
ENV A=1 B="two words"
ENV C three words
FROM first
WORKDIR /app
COPY ["a.txt", "./"]
COPY skills /root/skills
COPY *.csv ${DIR:-/srv}/
COPY <<EOF /app/made.txt
line
EOF
RUN apt-get update && apt-get install -y \\
    curl git \\
    && rm -rf /var/lib/apt/lists/*
RUN python3 - <<'PY'
print("$A")
PY
USER nobody
CMD ["bash"]
"""


def test_a_dockerfile_is_read_into_places_and_runs():
    files = ("a.txt", "b.csv", "skills/x/SKILL.md", "skills/y.md")
    context = {name: TaskFile(f"/t/{name}", 1, False) for name in files}
    image = read_image(DOCKERFILE, context, ["pip3 install -q numpy==1.26.4"], ["x==1 # y"])
    assert (image.base, image.python, image.is_python_exact) == ("python:3.12-slim", "3.12", True)
    assert image.environment["B"] == "two words" and image.environment["C"] == "three words"
    places = [step.target for step in image.steps if isinstance(step, Place)]
    assert places == [
        *("/app/", "/app/a.txt", "/root/skills/x/SKILL.md", "/root/skills/y.md"),
        *("/data/b.csv", "/app/made.txt"),
    ]
    runs = [step.command for step in image.steps if isinstance(step, Run)]
    assert "curl git" in runs[0] and runs[1] == "python3 - <<'PY'\nprint(\"$A\")\nPY"
    assert (image.requirements, image.packages) == (("numpy==1.26.4", "x==1"), ("curl", "git"))
    assert not image.missing and any("USER" in note for note in image.notes)


@pytest.mark.parametrize(
    ("script", "wheels"),
    [
        (
            "uvx \\\n  -p 3.13 \\\n  -w pytest==8.4.1 \\\n  pytest --ctrf x",
            ["pytest==8.4.1", "pytest-json-ctrf"],
        ),
        (
            "pip install --break-system-packages a==1 b[c]>=2 2>/dev/null || true",
            ["a==1", "b[c]>=2"],
        ),
        ("python3 -m pip install 'd<3' && uv pip install e", ["d<3", "e"]),
        ("pip install a; pip install a==2; pip install a", ["a==2"]),
        ("pip install git+https://x.invalid/y.git /opt/z.whl ./w $X -r r.txt", []),
        ("# pip install commented", []),
    ],
)
def test_wheels_are_found_in_scripts(script, wheels):
    assert list(list_requirements([script], ())[0]) == wheels
