"""The grind: solve a task; if it fails, evolve the workspace, and try the same task again.

For each batch of tasks for practice:

1. Solve: each task in a session, with the skills of the branch in front, scored by its verifier.
2. Observe: what failed, as far as the feedback level lets the evolver see it.
3. Evolve: the evolver edits the workspace in a session of its own; what it may change is recorded
   on the branch as one snapshot between the tags `pre-evo-N` and `evo-N`, which never move.
4. Retry the tasks that failed with what was learned, until they pass or the cycles are spent. If no
   score rose, the branch goes back to where it was best.
5. Promote: what the branch has and the head lacks goes through the gate, on held-out tasks.

Each solve and each step of the evolver is kept with the item before it is used. After a kill the
same course is taken again over what was kept, so nothing is paid twice, and tags show what is done.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed, wait
from contextlib import closing, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from ...digest import blob_id
from ...errors import BrainError, Conflict, InvalidInput, NotFound, printable_text
from ...experience.store import AuditEvent
from ...gating.case_files import encode_case
from ...gating.case_paths import new_case_path, usual_folder
from ...gating.held_out import canonical_json
from ...gating.output_check import TASK_PASSES
from ...repo.learning.change import ProposedChange
from ...results import GateOutcome
from ...skills import skill_layout
from ...solving.solver import Solver
from ...tasks.task import Task
from ..budget import Interrupted, now_ms, require_evolution
from ..task_runner import case_input
from . import feedback, workspace
from .library import Front, count_support, make_front, promote_drafts
from .prompts import answer_finder, evolver_prompt
from .settings import GrindSettings, Split, compute_egl, is_converged, split_tasks
from .solve import (
    HoldoutRunner,
    MemoryItem,
    Row,
    Steps,
    broken_row,
    check_row,
    is_passed,
    score_of,
    sign_task,
)

if TYPE_CHECKING:
    from ...api.brain import Brain
    from ...experience.store import Item
    from ...search.embedder import Embedder

OpenSolver = Callable[[Steps], Solver]
Edit = Callable[[int, str, Mapping[str, bytes]], bytes]
"""Has an evolver edit a workspace; see `LocalEvolver`."""
Propose = Callable[[ProposedChange, HoldoutRunner], GateOutcome]
"""Tries what was learned on held-out tasks, and records what is decided."""
Solve = Callable[[str, Task, Front], Row]
"""Solves a task; the text is where its paid steps are kept."""
_NO_BILL = {"requests": 0, "tokens_in": 0, "tokens_out": 0}
_EVO = re.compile("evo-([0-9]+)")
_BRANCH = "proposed/"


class Grind:
    """One grind of a brain over tasks; `item` keeps what was paid.

    `solve` runs in the threads or processes of `executor`, `edit` here. `observe` gets each
    event: its kind, and its row of the report.
    """

    def __init__(
        self,
        brain: Brain,
        tasks: Sequence[Task],
        settings: GrindSettings,
        item: Item | MemoryItem,
        *,
        name: str,
        solver: str,
        evolver: str,
        solve: Solve,
        edit: Edit,
        executor: Executor,
        propose: Propose,
        split: Split | None = None,
        max_batches: int | None = None,
        embedder: Embedder | None = None,
        compare: bool = False,
        observe: Callable[[str, Mapping[str, Any]], object] = lambda kind, row: None,
    ) -> None:
        self._brain = brain
        self._settings = settings
        self._item = item
        self._name = name
        self._solver_name = solver
        self._solve = solve
        self._executor = executor
        self._edit = edit
        self._propose = propose
        self._max_batches = max_batches
        self._embedder = embedder
        self._compare = compare
        self._observe = observe
        self._signatures = {task.name: sign_task(task) for task in tasks}
        self.split = split or split_tasks(tasks, settings)
        if not self.split.practice:
            raise InvalidInput(
                "there is no task for practice: the hash of its input holds each of them out",
                code="no_tasks",
                hint="about half of all tasks are held out; give more of them",
            )
        if settings.select_by == "embedding" and embedder is None:
            raise InvalidInput(
                "no embedder is configured",
                code="no_embedder",
                hint="name one with `brain config embedder`, or choose by keywords",
            )
        self._author = f"brain evolve ({workspace.EVOLVER})"
        self._branch = brain.proposals.open(name, author=self._author)
        self._started = time.monotonic()
        self._solved = 0
        self._egls: list[float] = []
        self._scores: dict[str, float] = {}
        self._born: dict[str, str] = {}
        self._transfer: dict[tuple[str, str], list[int]] = {}
        self._proposal = ""
        self._start = self._keep_text("start", lambda: brain.history.resolve("@"))
        # What an earlier grind left there, and nobody decided about, is gone on with.
        self._at = self._keep_text("at", lambda: self._branch.history.resolve("@"))
        """Where the course is on the branch; while it is taken again the branch is further on."""
        self._read: tuple[str, dict[str, bytes]] = "", {}
        self._tasks = {
            task.name: {
                "name": task.name,
                "category": task.category,
                "split": place,
                "result": "left out",
                "reason": "",
                "cycles": [],
            }
            for place, group in self.split._asdict().items()
            for task in group
        }
        self.report: dict[str, Any] = {
            "name": name,
            "branch": _BRANCH + name,
            "solver": solver,
            "evolver": evolver,
            "settings": asdict(settings),
            "result": "interrupted",
            "reason": "",
            "tasks": list(self._tasks.values()),
            "steps": [],
            "batches": [],
            "egl": 0.0,
            "converged": False,
            "final_score": None,
            "compare": None,
            "transfer": [],
            "cost": {**_NO_BILL, "seconds": 0.0},
        }

    def run(self) -> dict[str, Any]:
        """Grind all batches, end the item, and return the report.

        With `max_batches` it ends after so many, and as soon as it has converged. With a spent
        budget its `result` is `budget`, and the same call goes on later. Raises `Conflict`
        (`evolution_off`), `ModelError`, `SandboxError`; it goes on after these, too.
        """
        size, tasks = self._settings.batch_size, self.split.practice
        starts = range(0, len(tasks), size)[: self._max_batches]
        counts = {name: len(group) for name, group in self.split._asdict().items()}
        self._observe("begin", {**counts, "batches": len(starts)})
        try:
            for start in starts:
                require_evolution(self._brain)
                self._grind(start // size + 1, tasks[start : start + size])
                if self._max_batches and is_converged(self._egls, self._settings.egl_window):
                    break
            self._sync()
            if self._compare:
                self._compare_sides()
        except Interrupted as error:
            self._item.wait()
            self.report["reason"] = error.message
            return self._finish_report("budget")
        except BaseException:
            with suppress(BrainError):
                self._item.wait()
            self._finish_report("interrupted")
            raise
        finally:
            self._branch.close()
        report = self._finish_report("done")
        summary = {key: report[key] for key in ("result", "final_score", "converged", "cost")}
        event = AuditEvent(now_ms(), workspace.EVOLVER, self._name, "", "done", "success")
        self._item.finish(summary, event)
        return report

    def evolve_once(self, tasks: Sequence[Task], rows: Mapping[str, Row]) -> dict[str, Any]:
        """Have the evolver make one step after results of tasks, and return its row."""
        with closing(self._branch):
            return self._evolve("failure", 1, tasks, rows)

    # One batch

    def _grind(self, number: int, batch: Sequence[Task]) -> None:
        settings, base = self._settings, self._at
        first_step = len(self.report["steps"])
        if settings.task_skills == "pre_generate_and_retry":
            self._evolve("pre_generate", number, batch, {})
        pending, latest, marks = list(batch), dict[str, float](), list[tuple[float, str]]()
        first_passed: list[Task] = []
        first_rows: dict[str, Row] = {}
        for cycle in range(1, settings.max_cycles + 1):
            rows = self._solve_all(f"solve/{number}/{cycle}", pending, self._files())
            for task in pending:
                self._note_cycle(task, cycle, rows[task.name])
                score = score_of(rows[task.name], settings.score_mode)
                latest[task.name] = self._scores[task.name] = score
            marks.append((sum(latest.values()), self._at))
            failed = [task for task in pending if not is_passed(rows[task.name])]
            if cycle == 1:
                first_rows = rows
                first_passed = [task for task in pending if is_passed(rows[task.name])]
                self._note_transfer(pending, rows)
            pending = [task for task in failed if not rows[task.name]["is_broken"]]
            if not pending or cycle == settings.max_cycles:
                break
            self._evolve("failure", number, pending, rows, cycle)
        best = max(score for score, _ in marks)
        back = ""
        if not best == marks[-1][0] > marks[0][0] and marks[-1][1] != marks[0][1]:
            self._at = next(at for score, at in marks if score == best)
            back = self._at if self._at != marks[-1][1] else ""
        if first_passed and settings.success != "off":
            self._evolve("success", number, first_passed, first_rows)
        if settings.distill:
            self._distill(number, batch, best)
        self._solved += self._count_passed(batch)
        made = self.report["steps"][first_step:]
        self._egls.append(compute_egl(sum(len(step["added"]) for step in made), self._solved))
        gate = self._promote(number, base)
        row = {
            "number": number,
            "tasks": [task.name for task in batch],
            "passed": self._count_passed(batch),
            "first_passed": len(first_passed),
            "egl": self._egls[-1],
            "skills": len(workspace.list_slugs(self._files())),
            "went_back_to": back,
            "gate": gate,
        }
        self.report["batches"].append(row)
        self._observe("batch", row)

    def _solve_all(
        self, place: str, tasks: Sequence[Task], files: Mapping[str, bytes]
    ) -> dict[str, Row]:
        """Solve tasks side by side; each result is kept as it comes."""
        rows: dict[str, Row] = {}
        futures: dict[Future[Row], tuple[Task, str]] = {}
        skills = workspace.list_skills(files)
        for task in tasks:
            key = f"{place}/{task.name}"
            if (kept := self._item.find(key)) is not None:
                rows[task.name] = json.loads(kept)
            elif sign_task(task) != self._signatures[task.name]:
                row = broken_row(task, "its folder changed meanwhile")
                rows[task.name] = self._keep(key, row)
            else:
                front = make_front(files, skills, task, self._settings, self._embedder)
                futures[self._executor.submit(self._solve, key, task, front)] = task, key
        try:
            for future in as_completed(futures):
                task, key = futures[future]
                rows[task.name] = self._keep(key, check_row(future.result(), task))
        except BaseException:
            for future in futures:
                future.cancel()
            for future in wait(futures).done:  # what was under way is paid
                task, key = futures[future]
                if not (task.name in rows or future.cancelled() or future.exception()):
                    self._keep(key, check_row(future.result(), task))
            raise
        self._add_cost(rows.values())
        return rows

    def _note_cycle(self, task: Task, cycle: int, row: Row) -> None:
        tests = feedback.read_tests(row["output"])
        shown = {
            "cycle": cycle,
            "score": row["score"],
            "passed": is_passed(row),
            "failure": feedback.classify(row["score"], row["reason"], row["output"]),
            "tests_passed": tests.passed,
            "tests": tests.total,
            "snapshot": self._at,
            **{key: row[key] for key in ("skills", "was_read", "seconds", *_NO_BILL)},
        }
        found = self._tasks[task.name]
        found["cycles"].append(shown)
        found["result"] = "passed" if shown["passed"] else "failed"
        if row["is_broken"]:
            found["result"] = "error"
        found["reason"] = "" if shown["passed"] else row["reason"]
        self._observe("cycle", {"task": task.name, **shown, "reason": row["reason"]})

    # Evolve

    def _evolve(
        self,
        kind: str,
        batch: int,
        tasks: Sequence[Task],
        rows: Mapping[str, Row],
        cycle: int = 1,
    ) -> dict[str, Any]:
        """Have the evolver edit the workspace, and record what it may change as one step."""
        number = self._number_step()
        kept = self._item.find(f"step/{number}")
        if kept is None:
            step = self._make_step(number, kind, batch, tasks, rows, cycle)
            self._item.keep(f"step/{number}", json.dumps(step).encode())
        else:
            step = json.loads(kept)
        self._at = step["snapshot"]
        known = {self._tasks[name]["category"] for name in step["tasks"]}
        for skill in workspace.list_skills(self._files()):
            if skill.slug in step["added"]:  # it says where it belongs, if the step was about that
                born_at = skill.category if skill.category in known else min(known)
                self._born.setdefault(skill.slug, born_at)
        self.report["steps"].append(step)
        self._add_cost([step])
        self._observe("step", step)
        return step

    def _make_step(
        self,
        number: int,
        kind: str,
        batch: int,
        tasks: Sequence[Task],
        rows: Mapping[str, Row],
        cycle: int,
    ) -> dict[str, Any]:
        self._sync()
        names, kept = [task.name for task in tasks], self._item.find(f"evolve/{number}")
        tagged = self._tag(f"pre-evo-{number}", self._at)
        start = self._at if kept is None else tagged  # where what was left began
        before = self._files(start)
        if kept is None:
            prompt = evolver_prompt(kind, self._settings, tasks, rows, before, cycle)
            files = workspace.export(before, self._settings, prompt, self.report["steps"])
            kept = self._edit(number, prompt, files)
            self._item.keep(f"evolve/{number}", kept)
        left = workspace.unpack(kept)
        bill = json.loads(left.pop(workspace.BILL))
        find = answer_finder(tasks, rows)
        after, refused = workspace.take_back(before, left, self._settings, names, find, kind)
        if kind == "success":
            after = count_support(before, after, names)
            if self._settings.success == "gated_promotion":
                after = promote_drafts(after, self._settings.promotion_threshold)
        tag = f"evo-{number}"
        if (done := self._find_tag(tag)) is None:  # else a process was killed after it
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            refused += self._record(before, after, f"Evolve ({kind}) for {names[0]}{more}")
            done = self._branch.history.resolve("@")
            self._tag(tag, done)
        self._at = done
        files = self._files()
        slugs = [set(workspace.list_slugs(side)) for side in (before, files)]
        return {
            "number": number,
            "batch": batch,
            "kind": kind,
            "tasks": names,
            "before": start,
            "snapshot": done,
            "skills_before": len(slugs[0]),
            "skills_after": len(slugs[1]),
            "added": sorted(slugs[1] - slugs[0]),
            "changed": sorted(path for path in files if before.get(path) != files[path]),
            "refused": [one._asdict() for one in refused],
            **bill,
        }

    def _record(
        self, before: Mapping[str, bytes], after: Mapping[str, bytes], message: str
    ) -> list[workspace.Refused]:
        """Record the difference as one snapshot on the branch; a part that cannot be is refused."""
        change, others = workspace.make_change(before, after, message)
        try:
            if change is not None:
                self._branch.gate.record_untried(change)
            elif others:
                self._branch.files.write_all(others, message=message)
            return []
        except (InvalidInput, Conflict, NotFound) as error:
            if error.code == "proposal_is_current":
                raise
            parts = workspace.split_change(before, after)
            if len(parts) < 2:
                return [workspace.Refused(path, error.message) for part in parts for path in part]
            return [
                one for part in parts for one in self._record(before, {**before, **part}, message)
            ]

    def _distill(self, batch: int, tasks: Sequence[Task], score: float) -> None:
        """Shorten bloated skills; the tasks of the batch must score as well afterwards."""
        before, at = self._files(), self._at
        if not (bloated := workspace.find_bloated(before)):
            return
        step = self._evolve("distill", batch, tasks, {})
        files = self._files()
        rows = self._solve_all(f"solve/{batch}/distill", tasks, files)
        total = sum(score_of(row, self._settings.score_mode) for row in rows.values())
        longer = any(len(files.get(path, b"")) >= len(before[path]) for path in bloated)
        if total < score or longer:
            why = "skills are no shorter" if longer else f"the score fell from {score} to {total}"
            step["refused"].append({"path": "", "reason": f"not kept: {why}"})
            self._at = at

    # Promote

    def _promote(self, batch: int, base: str) -> dict[str, Any] | None:
        """Have the gate try what the branch has and the head lacks, on held-out tasks."""
        cost, spent = self.report["cost"], dict(self.report["cost"])
        kept = self._item.find(f"promote/{batch}")
        if kept is None:
            tried = self._try_branch(batch)
            bill = {name: cost[name] - spent[name] for name in _NO_BILL}
            kept = json.dumps([tried, bill]).encode()
            self._item.keep(f"promote/{batch}", kept)
        row, bill = json.loads(kept)
        cost.update((name, spent[name] + bill[name]) for name in bill)
        if row is not None:
            self._at = self._keep_text(f"settle/{batch}", lambda: self._settle(row, base))
            self._proposal = row["proposal"] or self._proposal
        return cast("dict[str, Any] | None", row)

    def _try_branch(self, batch: int) -> dict[str, Any] | None:
        """Return what the gate said, None if nothing was tried."""
        self._sync()
        if not self.split.holdout or not self._brain.gate.is_proposed(self._name):
            return None
        origin = self._brain.gate.read_workspace(self._brain.proposals.show(self._name).base)
        head = self._brain.gate.read_workspace()
        message = f"Grind {self._name}, batch {batch}"
        change = workspace.make_promotion(origin, head, self._files(), message)
        if change is None:
            return None
        slug = skill_layout.slug_from_path(change.name)
        self._add_cases(slug)
        runner = HoldoutRunner(
            self._solver_name,
            self.split.holdout,
            self._solve_all,
            # What a deterministic solver came to once with a workspace, it comes to again.
            "gate" if self._settings.is_deterministic else f"gate/{batch}",
            self._settings.score_mode,
            repeats_itself=self._settings.is_deterministic,
        )
        try:
            return _describe(self._propose(change, runner))
        except (Conflict, InvalidInput, NotFound) as error:
            if error.code in ("evolution_off", "work_lost"):
                raise
            # The head was changed so that this cannot be applied there, or it is too large.
            return _describe(GateOutcome("", "kept", error.message, slug, None, None))

    def _settle(self, row: Mapping[str, Any], base: str) -> str:
        """Return where the branch goes on after what the gate said."""
        at = self._at
        if row["done"] in ("admitted", "provisional", "nothing"):  # nothing: before a kill
            files = self._files()
            own = {path: files[path] for path in files.keys() - workspace.without_own(files)}
            self._move("")
            if own:
                self._branch.files.write_all(own, message=f"Keep what {self._name} drafted")
            at = self._branch.history.resolve("@")
        elif row["done"] == "rejected":
            at = base
        is_covered = row["done"] in ("admitted", "provisional", "proposed")
        if is_covered and self._proposal not in ("", row["proposal"]):
            with suppress(NotFound):  # unless a person has decided
                self._brain.proposals.reject(self._proposal)
        return at

    def _add_cases(self, slug: str) -> None:
        """Let the held-out tasks stand as cases of a skill, in one snapshot."""
        known = {json.dumps(one.input, sort_keys=True) for one in self._brain.gate.list_cases(slug)}
        files = {}
        for task in self.split.holdout:
            value = case_input(task)
            if json.dumps(value, sort_keys=True) not in known:
                name = blob_id(canonical_json(value)).hex()[:12]
                source = f"task {printable_text(task.name, 100)}"
                path = new_case_path(usual_folder(slug), name)
                files[path] = encode_case(value, TASK_PASSES, source)
        if files:
            self._brain.files.write_all(files, message=f"Hold out {len(files)} tasks for {slug}")

    def _compare_sides(self) -> None:
        """Solve the test split once without what was learned and once with it.

        A task that has the same in front both times is solved once: a difference would be chance.
        """
        place = "test" if self.split.test else "holdout"
        tasks: Sequence[Task] = getattr(self.split, place)
        sides = [self._brain.gate.read_workspace(self._start), self._files()]
        skills = [workspace.list_skills(files) for files in sides]

        def front(task: Task, at: int) -> Front:
            return make_front(sides[at], skills[at], task, self._settings, self._embedder)

        changed = [task for task in tasks if front(task, 0) != front(task, 1)]
        old = self._solve_all("compare/before", tasks, sides[0])
        rows = old, {**old, **self._solve_all("compare/after", changed, sides[1])}
        found = []
        for task in tasks:
            before, after = (side[task.name]["score"] for side in rows)
            shown = {"name": task.name, "category": task.category}
            found.append({**shown, "before": before, "after": after})
        gains = [(one["after"] or 0) - (one["before"] or 0) for one in found]
        self.report["compare"] = {
            "split": place,
            "tasks": found,
            "wins": sum(gain > 0 for gain in gains),
            "losses": sum(gain < 0 for gain in gains),
            "ties": sum(gain == 0 for gain in gains),
        }

    # The branch, and the report

    def _files(self, at: str = "") -> dict[str, bytes]:
        """Return the workspace at a snapshot, by default where the course is."""
        at = at or self._at
        if self._read[0] != at:
            self._read = at, self._brain.gate.read_workspace(at)
        return self._read[1]

    def _sync(self) -> None:
        """Let the branch be where the course is: at the head if that has it already.

        What a person recorded on the branch since then becomes part of the course.
        """
        tip = self._branch.history.resolve("@")
        if tip == self._at:
            return
        is_further = self._brain.history.check_ancestry(self._at, tip).descends
        if is_further and self._brain.history.show(tip).info.author != self._author:
            self._at = tip
        else:
            self._move(self._at)
            self._at = self._branch.history.resolve("@")

    def _move(self, to: str) -> None:
        """Let the branch be at a snapshot, or with "" at the head; tags keep what it leaves."""
        with suppress(NotFound):
            self._brain.proposals.reject(self._name)
        if to and not self._brain.history.check_ancestry(to).descends:
            self._brain.branches.create(_BRANCH + self._name, to)

    def _find_tag(self, name: str) -> str | None:
        try:
            return self._brain.history.resolve(name)
        except (InvalidInput, NotFound):
            return None

    def _tag(self, name: str, snapshot: str) -> str:
        """Name a snapshot unless the name is taken; return the one that it names."""
        try:
            return self._brain.tags.create(name, snapshot).snapshot
        except Conflict as error:
            if error.code != "tag_exists":
                raise
            return self._brain.history.resolve(name)

    def _number_step(self) -> int:
        """Return the number of the next step, which no other grind has: tags never move."""
        steps = self.report["steps"]
        key = f"number/{len(steps)}"
        kept = self._item.find(key)
        if kept is not None:
            is_begun = self._item.find(f"evolve/{int(kept)}") is not None
            if is_begun or not self._find_tag(f"evo-{int(kept)}"):
                return int(kept)
        tags = [tag.name for tag in self._brain.tags.list()] if not steps else []
        taken = (int(one[1]) for one in map(_EVO.fullmatch, tags) if one)
        number = 1 + (steps[-1]["number"] if steps else max(taken, default=0))
        while any(self._find_tag(f"{kind}-{number}") for kind in ("pre-evo", "evo")):
            number += 1
        self._item.keep(key, str(number).encode())
        return number

    def _keep_text(self, name: str, make: Callable[[], str]) -> str:
        return self._item.once(name, lambda: make().encode()).decode()

    def _keep(self, key: str, row: Row) -> Row:
        self._item.keep(key, json.dumps(row).encode())
        return row

    def _note_transfer(self, tasks: Sequence[Task], rows: Mapping[str, Row]) -> None:
        for task in tasks:
            for slug in rows[task.name]["skills"]:
                if slug in self._born:
                    counts = self._transfer.setdefault((slug, task.category), [0, 0])
                    counts[0] += 1
                    counts[1] += is_passed(rows[task.name])

    def _add_cost(self, rows: Iterable[Mapping[str, Any]]) -> None:
        cost = self.report["cost"]
        for row in rows:
            for name in _NO_BILL:
                cost[name] += row[name]

    def _count_passed(self, tasks: Sequence[Task]) -> int:
        return sum(self._tasks[task.name]["result"] == "passed" for task in tasks)

    def _finish_report(self, result: str) -> dict[str, Any]:
        report = self.report
        scores = self._scores.values()
        report["result"] = result
        report["egl"] = self._egls[-1] if self._egls else 0.0
        report["converged"] = is_converged(self._egls, self._settings.egl_window)
        report["final_score"] = sum(scores) / len(scores) if scores else None
        report["cost"]["seconds"] = round(time.monotonic() - self._started, 3)
        report["transfer"] = [
            {
                "skill": slug,
                "born_at": self._born[slug],
                "category": category,
                "tasks": tasks,
                "first_passed": passed,
            }
            for (slug, category), (tasks, passed) in sorted(self._transfer.items())
        ]
        return report


def _describe(outcome: GateOutcome) -> dict[str, Any]:
    numbers = outcome.numbers
    counts = ("wins", "losses", "ties", "e_value")
    return {
        "done": outcome.done,
        "reason": outcome.reason,
        "slug": outcome.slug,
        "version": outcome.version,
        **{name: getattr(numbers, name) if numbers else None for name in counts},
        "snapshot": outcome.snapshot,
        "proposal": outcome.proposal,
        "attempt": outcome.attempt,
    }
