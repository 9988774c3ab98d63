"""Small tasks of each format, as folders."""

from pathlib import Path

TEST_SCRIPT = """\
if grep -qxs hello out.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
HARBOR = {
    "instruction.md": "Write hello to out.txt.\n",
    "task.toml": "[verifier]\ntimeout_sec = 60.0\n[agent]\ntimeout_sec = 60.0\n",
    "environment/Dockerfile": "FROM debian:12\nWORKDIR /app\n",
    "tests/test.sh": TEST_SCRIPT,
    "solution/solve.sh": "echo hello > out.txt\n",
}
SKILLSBENCH = {
    "task.md": "---\nagent:\n  timeout_sec: 90\n---\nWrite hello to out.txt.\n",
    "environment/Dockerfile": "FROM debian:12\nWORKDIR /app\n",
    "verifier/test.sh": TEST_SCRIPT,
    "oracle/solve.sh": "echo hello > out.txt\n",
}
OWN = {name: text for name, text in HARBOR.items() if name[0] != "e" and name[-1] != "l"}
CLAUDE = {
    "prompt.md": "---\nmax_turns: 3\ntimeout_seconds: 30\n---\nWrite hello to out.txt.\n",
    "graders/says.md": "---\ntype: regex\npattern: 'd[o0]ne'\nflags: i\nweight: 3\n---\n",
    "graders/writes.md": "---\ntype: file_exists\npath: out.txt\n---\n",
    "graders/runs.md": "---\ntype: tool_used\ntool: Bash\ninput_match: echo\n---\n",
    "graders/taste.md": "---\ntype: llm\n---\nPASS if it is polite.\n",
}
EVALS = (
    '{"skill_name": "words", "evals": [{"id": 7, "prompt": "Count.", "files": ["files/a.txt"],'
    ' "expected_output": "A count", "assertions": ["It is 2", {"text": "It is short"}]}]}'
)


def make_task(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write the files of a task into a folder, and return it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
