"""Have solvers work on tasks, score what they did, and prove tasks before they decide anything.

Tests run after the solver and its processes are gone, in a fresh session over a copy of all files,
and are put in only then. Where a task says `shared` they run beside the processes that the solver
left, which can then write the reward: the score says so. A task is proven if its oracle scores 1,
and an empty solution 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..errors import BrainError, ModelError, SandboxError, printable_text
from ..gating.output_check import is_score
from ..models.calls import ANSWER_FAULTS
from ..sandbox.job import Sandbox
from ..sandbox.session import SYSTEM_PATH, SandboxSession
from ..tasks.images import Place
from ..tasks.task import Grader, Task
from ..util import strict_json
from .provisions import STAND_INS_PLACE
from .solver import Attempt, EmptySolver, OracleSolver, Skill, Solver, ToolUse
from .task_session import STAND_IN_PLACES, TaskSessions, pack_state, put_places

if TYPE_CHECKING:
    from .judge import Judge

TaskWord = Literal["proven", "wrong", "unproven", "impossible"]
REWARD_FOLDER = "/logs/verifier"
_MAX_REWARD_BYTES = 64 << 10
_MAX_OUTPUT_BYTES = 64 << 10
_LOOK = """
import glob, json, re, sys
given = json.load(sys.stdin)
texts, path = given.get("texts", []), given.get("path", "")
paths = glob.glob(path, recursive=True) if path else []
if given.get("reads"):
    texts = [open(paths[0], errors="replace").read(1 << 20) if paths else ""]
elif path:
    print(json.dumps([len(paths)]))
    sys.exit()
flags = sum(getattr(re, flag.upper()) for flag in {*"ims"} & {*given.get("flags", "")})
print(json.dumps([len(re.findall(given["pattern"], text, flags)) for text in texts]))
"""
_LOOK_SECONDS = 20.0
_OWN_ENVIRONMENT = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}
"""In which no program of a solver takes the place of one that looks at its work."""
_LEFT = r"""
made() { find . -type f -newermt @1 "$@"; }
made -printf '%s bytes: %P\n' | sort -k 3 | head -n 200
made -print0 | sort -z | xargs -0r grep -IlZ . | head -zn 40 | xargs -0r head -vc 8000
"""
"""Lists the files of a folder that are not those of its image, and shows those that are text."""
_MAX_LEFT_BYTES = 64 << 10
_EARLY = "the verifier ended early: "


class TaskCheck(NamedTuple):
    """What a check of a task found.

    `proven`: the oracle scores 1 and an empty solution 0. `wrong`: one of them does not.
    `unproven`: nothing here can tell, as without an oracle. `impossible`: it cannot run here.
    """

    name: str
    format: str
    result: TaskWord
    oracle: float | None = None
    empty: float | None = None
    is_shared: bool = False
    reason: str = ""
    notes: tuple[str, ...] = ()


class Score(NamedTuple):
    """How good an attempt is, from 0 to 1; `value` is None if it could not be said, and why.

    `parts` are the numbers it was made of. `is_shared` marks a reward that the solver could have
    written.
    `judged_by` is the model that judged a part, `unjudged` names graders that nothing here decides.
    `output` is what the tests printed, cut.
    """

    value: float | None
    reason: str = ""
    parts: Mapping[str, float] = {}
    is_shared: bool = False
    unjudged: tuple[str, ...] = ()
    judged_by: str = ""
    output: bytes = b""


class TaskRun(NamedTuple):
    """What a solver did at a task, and how it was scored."""

    attempt: Attempt
    score: Score


def run_task(
    sessions: TaskSessions,
    solver: Solver,
    skills: Sequence[Skill] = (),
    judge: Judge | None = None,
) -> TaskRun:
    """Have a solver work on a task, and score it. A failure is in the result.

    Raises `BrainError` if the image cannot be built, and `ModelError` if the model of the solver,
    or of the judge, fails as a whole.
    """
    task, built, attempt, early = sessions.task, sessions.built(), Attempt(), ""
    try:
        with sessions.open(built, task.limits.solver_seconds) as session:
            attempt = solver.solve(task, skills, session)
            if task.is_shared:
                early = _EARLY
                score = _score(task, session, attempt, judge)
                return TaskRun(attempt, score._replace(is_shared=True))
            left = pack_state(session)
        early = _EARLY
        with sessions.open(left, task.limits.verifier_seconds) as session:
            return TaskRun(attempt, _score(task, session, attempt, judge))
    except SandboxError as error:
        return TaskRun(attempt, Score(None, early + printable_text(error.message, 300)))


def check_task(sandbox: Sandbox, task: Task) -> TaskCheck:
    """Prove a task; whatever fails is said in the result."""
    found = TaskCheck(task.name, task.format, "impossible", is_shared=task.is_shared)
    if task.missing:
        return found._replace(reason="; ".join(task.missing), notes=task.notes)
    if not task.tests:
        why = "it needs a model to judge it" if task.needs_judge else "it has no oracle"
        return found._replace(result="unproven", reason=why)
    try:
        sessions = TaskSessions(sandbox, task)
        empty = run_task(sessions, EmptySolver())
        oracle = run_task(sessions, OracleSolver()) if task.solution else None
    except BrainError as error:
        return found._replace(reason=error.message)
    notes = (*task.notes, *sessions.notes)
    found = found._replace(empty=empty.score.value, notes=notes)
    if oracle is None:
        result: TaskWord = "unproven" if found.empty == 0 else "wrong"
        return found._replace(result=result, reason="it has no oracle")
    found = found._replace(oracle=oracle.score.value)
    reasons = []
    if found.empty != 0:
        reasons.append(f"an empty solution scores {_show(empty.score)}")
    if found.oracle != 1:
        why = f" ({oracle.attempt.error})" if oracle.attempt.error else ""
        reasons.append(f"its oracle scores {_show(oracle.score)}{why}")
    return found._replace(result="wrong" if reasons else "proven", reason="; ".join(reasons))


def _show(score: Score) -> str:
    return score.reason if score.value is None else f"{score.value:g}"


def _score(task: Task, session: SandboxSession, attempt: Attempt, judge: Judge | None) -> Score:
    """Return the reward of the tests, or the weighted share of graders that pass.

    A grader that nothing decides is named, not counted.
    """
    if task.tests:
        return _run_tests(task, session)
    parts: dict[str, float] = {}
    for grader in task.graders:
        passes = _passes(grader, session, task.image.folder, attempt)
        if passes is not None:
            parts[grader.name] = float(passes)
    failed = {name: "" for name, passed in parts.items() if not passed}
    asked = [one for one in task.graders if one.kind == "judge" and one.criteria]
    if judge is not None and asked:
        left = session.run(
            script=_LEFT,
            cwd=task.image.folder,
            env=_OWN_ENVIRONMENT,
            seconds=_LOOK_SECONDS,
            max_bytes=_MAX_LEFT_BYTES,
        )
        criteria = [one.criteria for one in asked]
        try:
            findings = judge.judge(task, criteria, attempt.output, left.output)
        except ModelError as error:
            if error.code not in ANSWER_FAULTS:
                raise
            return Score(None, error.message, parts, judged_by=judge.name)
        for grader, finding in zip(asked, findings, strict=True):
            parts[grader.name] = float(finding.passed)
            if not finding.passed:
                failed[grader.name] = f" ({finding.evidence})"
    unjudged = tuple(one.name for one in task.graders if one.name not in parts)
    counted = [one for one in task.graders if one.name in parts]
    total = math.fsum(one.weight for one in counted)
    if not total:
        why = "only a judge can score it" + ("" if judge else ", and no model is configured")
        return Score(None, why, parts, unjudged=unjudged)
    value = math.fsum(parts[one.name] * one.weight for one in counted) / total
    shown = printable_text(", ".join(name + why for name, why in failed.items()))
    return Score(
        value,
        f"not passed: {shown}" if failed else "",
        parts,
        unjudged=unjudged,
        judged_by=judge.name if judge and asked else "",
    )


def _run_tests(task: Task, session: SandboxSession) -> Score:
    # A link of the solver must not lead the reward, or the tests, elsewhere, and no program or
    # module of theirs run in place of one that the tests start.
    clear = (
        f"for one in {REWARD_FOLDER} /tests /verifier {STAND_INS_PLACE} /root/.local/bin/env"
        " /root/.local/lib/python*; do chmod -R u+rwx $one; rm -rf $one; done;"
        f" [ -d /logs ] && [ ! -L /logs ] || rm -rf /logs; mkdir -p {REWARD_FOLDER} /tests;"
        " ln -s /tests /verifier"
    )
    session.run("sh", "-c", clear, env={"PATH": SYSTEM_PATH})
    tests = [Place(f"/tests/{name}", file) for name, file in task.tests.items()]
    put_places(session, [*STAND_IN_PLACES, *tests])
    done = session.run(
        *("bash", "/tests/test.sh"),
        cwd=task.image.folder,
        env=task.test_environment,
        seconds=task.limits.verifier_seconds,
        max_bytes=_MAX_OUTPUT_BYTES,
    )
    if done.is_late:
        why = f"the verifier took more than {task.limits.verifier_seconds:.0f} s"
        return Score(None, why, output=done.output)
    return _read_reward(session)._replace(output=done.output)


def _read_reward(session: SandboxSession) -> Score:
    """Return the reward in /logs/verifier: that of reward.json before that of reward.txt."""
    for name in ("reward.json", "reward.txt"):
        try:
            data = session.get(f"{REWARD_FOLDER}/{name}", _MAX_REWARD_BYTES)
        except SandboxError as error:
            if error.code == "absent_inside":
                continue
            return Score(None, f"{name} cannot be read: {error.message}")
        try:
            is_json = name == "reward.json"
            value = strict_json.parse_unbounded_json(data) if is_json else float(data)
        except (ValueError, RecursionError):
            value = None
        parts: dict[str, Any] = value if isinstance(value, dict) else {"reward": value}
        if not parts or not all(map(is_score, parts.values())):
            shown = printable_text(data, 80)
            return Score(None, f"{name} holds no numbers from 0 to 1: {shown}")
        mean = parts.get("reward", math.fsum(parts.values()) / len(parts))
        return Score(float(mean), parts=parts)
    return Score(None, f"the verifier left no reward in {REWARD_FOLDER}/reward.txt")


def _passes(grader: Grader, session: SandboxSession, folder: str, attempt: Attempt) -> bool | None:
    """Tell whether a grader passes; None if only a judge, or a solver that lists its tools, can.

    Patterns, which can take for ever, are searched for in the session.
    """
    settings, tools = grader.settings, attempt.tools
    match grader.kind:
        case "file_exists":
            count = _look(session, folder, path=str(settings["path"]))[0]
            return (count > 0) is (settings.get("exists", True) not in (False, "false"))
        case "regex":
            target = settings.get("target", "last_message")
            where: dict[str, Any] = {"texts": [attempt.output.decode(errors="replace")]}
            if isinstance(target, Mapping) and target.get("source") == "file":
                where = {"path": str(target.get("path", "")), "reads": True}
            elif target != "last_message":  # the trace is in a form of its own
                return None
            pattern, flags = str(settings["pattern"]), str(settings.get("flags", ""))
            count = _look(session, folder, pattern=pattern, flags=flags, **where)[0]
            wanted = str(settings.get("match", "contains"))
            if wanted.startswith("count:"):
                return str(count) == wanted.removeprefix("count:")
            return (count > 0) is (wanted != "not_contains")
        case "tool_used" if tools is not None:
            count = len(_uses(session, folder, tools, settings))
            return int(settings.get("min", 1)) <= count <= int(settings.get("max", 1 << 30))
        case "tool_order" if tools is not None:
            ends = (settings["before"], settings["after"])
            uses = [one if isinstance(one, Mapping) else {"tool": one} for one in ends]
            before, after = (_uses(session, folder, tools, one) for one in uses)
            return bool(before and after and before[0] < after[0])
    return None


def _uses(
    session: SandboxSession, folder: str, tools: Sequence[ToolUse], wanted: Mapping[str, Any]
) -> list[int]:
    """Return the places of the calls of a tool, whose input matches if that is asked for."""
    places = [place for place, use in enumerate(tools) if use.tool == wanted.get("tool")]
    pattern = str(wanted.get("input_match", ""))
    counts = _look(session, folder, pattern=pattern, texts=[tools[place].input for place in places])
    return [place for place, count in zip(places, counts, strict=True) if count]


def _look(session: SandboxSession, folder: str, **asked: Any) -> list[int]:
    """Count in the session: matches of a pattern in each text, or in a file; or files of a path."""
    done = session.run(
        *("python3", "-I", "-c", _LOOK),
        cwd=folder,
        env=_OWN_ENVIRONMENT,
        stdin=json.dumps(asked).encode(),
        seconds=_LOOK_SECONDS,
    )
    try:
        counts = json.loads(done.output)
        return [int(one) for one in counts]
    except (TypeError, ValueError):
        fault = done.output[-200:].decode(errors="replace")
        raise SandboxError(f"a grader failed: {fault}", code="step_failed") from None
