"""Kills processes that learn, at moments drawn by a seed, and counts what was paid for.

    python -m tests.campaigns.killed_learners [--items 24] [--kills 6] [--seed 1]

A brain has hard runs and gaps to learn from, half of each. Two processes work them off with a
scripted model at an endpoint that counts each request; one of them learns, the other waits for its
turn. The one that learns is killed (kill -9) while its answer is on the way, just after it came, or
later, and another process starts. An answer that was not stored yet is asked for again, which
counts as `asked_again`. Prints what happened; ends with status 1 if an item did not end exactly
once, an answer that was stored was paid for again, or the brain is not whole.
"""

import argparse
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from brain import Brain, evolve
from brain.evolve.prompts import SYSTEM_PROMPT
from brain.experience.gaps import GAPS, RATE_PHASE, SCORE_PHASE
from brain.experience.run_end import SYNTHESIS
from brain.models.paid_once import is_answer
from tests.support.gap_answers import NO_SKILL, gap_answer, words_code
from tests.support.killed_scheduler import LoopbackModel
from tests.support.processes import TIMEOUT_SECONDS

MOMENTS = {"asked": 0.0, "answered": 0.02, "later": 0.5}
"""When a process is killed after a request: at most so many seconds after the answer, or before."""
_SPEED = 500_000
"""How much faster than ours the clock of the processes goes, so that no limit makes them wait."""
_MARK = re.compile(r"Work-item (\d{4})")


class Script(NamedTuple):
    """What the model says of an item: nonsense first or not, then a skill or none."""

    kind: str
    is_refused_first: bool
    creates: bool

    @property
    def needed(self) -> int:
        """The requests that it takes."""
        return 1 + self.is_refused_first

    def answer(self, number: int, asked_before: int) -> str:
        """Return the next answer."""
        if self.is_refused_first and not asked_before:
            return "what?"
        if not self.creates:
            return json.dumps(NO_SKILL)
        if self.kind == GAPS:
            name = f"tool_{number}"
            return json.dumps(gap_answer(words_code().replace("count_words", name), name))
        text = f"# Tickets of kind {number}\n\nAsk site {number} first.\n"
        skill = {"name": f"tickets-{number}", "description": f"Use for tickets {number}."}
        return json.dumps({"decision": "create", **skill, "body": text, "reason": "It was wrong."})


class KillResult(NamedTuple):
    """What a run came to; `moments` counts kills.

    `ended` counts the items that ended exactly once, `asked_again` the requests whose first answer
    was lost, `paid_twice` those whose answer was stored already. `problems` says what else is
    wrong.
    """

    items: int
    moments: Counter[str]
    requests: int
    ended: int
    asked_again: int
    paid_twice: int
    problems: list[str]


class Endpoint:
    """The model: it answers one request at a time, and says in `due` when to kill its asker."""

    def __init__(self, scripts: Sequence[Script], plan: Sequence[tuple[int, str]]) -> None:
        self.url = ""
        self.asked: list[tuple[str, int]] = []
        self.due: queue.Queue[str] = queue.Queue()
        self.killed = threading.Event()
        """Nobody is to be killed just now."""
        self.killed.set()
        self.dead: set[str] = set()
        self._scripts, self._plan = scripts, list(plan)

    def hear(self, worker: str, body: dict[str, Any]) -> str | None:
        """Return the answer to a request, None for a worker that was killed before it."""
        system, *said = [message["content"] for message in body["messages"]]
        number = int(_MARK.findall(said[0])[0])
        script = self._scripts[number]
        assert (script.kind == SYNTHESIS) == system.startswith(SYSTEM_PROMPT)
        self.asked.append((worker, number))
        is_next = bool(self._plan) and len(self.asked) >= self._plan[0][0]
        if is_next and self.killed.is_set() and worker not in self.dead:
            self.killed.clear()
            moment = self._plan.pop(0)[1]
            self.due.put(moment)
            if moment == "asked":
                assert self.killed.wait(TIMEOUT_SECONDS)
                return None
        return script.answer(number, len(said) - 1)

    def wait_until_heard(self) -> None:
        """Wait until what killed processes had asked before was heard."""
        urllib.request.urlopen(self.url).close()

    @contextmanager
    def run(self) -> Iterator[None]:
        """Serve on a free port of the loopback device."""
        hear = self.hear

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.reply(b"")

            def do_POST(self) -> None:
                with suppress(ConnectionError):
                    size = int(self.headers["content-length"])
                    asked = self.rfile.read(size)
                    if len(asked) < size:
                        return  # its sender was killed: nobody asked
                    answer = hear(self.path.split("/")[1], json.loads(asked))
                    if answer is not None:
                        message = {"message": {"content": answer}}
                        self.reply(json.dumps({"choices": [message]}).encode())

            def reply(self, content: bytes) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                return

        with HTTPServer(("127.0.0.1", 0), Handler) as server:
            self.url = f"http://127.0.0.1:{server.server_port}"
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            try:
                yield
            finally:
                server.shutdown()
                thread.join()


class _Workers:
    """Two processes that learn from one brain."""

    def __init__(self, folder: Path, url: str) -> None:
        self._command = [sys.executable, "-m", __spec__.name, "--worker", str(folder), url]
        self._command.append(str(time.time()))
        self._count = 0
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        for _ in range(2):
            self.start()

    def start(self) -> None:
        self._count += 1
        name, environment = f"worker{self._count}", {**os.environ, "PYTHONPATH": os.getcwd()}
        self.running[name] = subprocess.Popen([*self._command, name], env=environment)

    def kill(self, name: str) -> bool:
        """Kill one while the other one is stopped; return False if it had ended."""
        process = self.running.pop(name)
        for other in self.running.values():
            other.send_signal(signal.SIGSTOP)
        is_alive = process.poll() is None
        process.kill()
        process.wait()
        return is_alive

    def go_on(self) -> None:
        for other in self.running.values():
            other.send_signal(signal.SIGCONT)
        self.start()


def queue_items(brain: Brain, scripts: Sequence[Script]) -> dict[str, int]:
    """Queue an item for each script; return the numbers by the names that the audit has."""
    numbers: dict[str, int] = {}
    for number, script in enumerate(scripts):
        goal = f"Work-item {number:04}: sort the tickets"
        if script.kind == SYNTHESIS:
            with brain.task(goal) as task:
                task.record_tool_call("sort", error="wrong")
                task.record_tool_call("sort")
            numbers[f"run={task.id}"] = number
        else:
            for _ in range(3):
                brain.gaps.report(goal)
    problems = brain.gaps.wait(TIMEOUT_SECONDS)
    assert not problems, problems
    for gap in brain.gaps.list().gaps:
        found = _MARK.search(gap.goal)
        assert found is not None
        numbers[f"goal={gap.key[:8]}"] = int(found[1])
    assert len(numbers) == len(scripts)
    return numbers


def count_kept(brain: Brain, numbers: dict[str, int]) -> Counter[int]:
    """Return how many answers are kept of each item that is not done."""
    kept: Counter[int] = Counter()
    for key, value in brain.gaps.open_store()._read(
        "SELECT w.key, s.value FROM work w LEFT JOIN steps s ON s.work = w.number"
        " WHERE w.is_done = 0"
    ):
        name = f"run={key}"
        kept[numbers[name if name in numbers else f"goal={key[:8]}"]] += value is not None and (
            is_answer(bytes(value))
        )
    return kept


def run_kills(
    folder: Path, *, items: int, kills: int, seed: int, moments: Sequence[str] = tuple(MOMENTS)
) -> KillResult:
    """Work off `items`, kill `kills` processes on the way, and compare with what was paid."""
    draw = Random(seed)
    scripts = [
        Script((SYNTHESIS, GAPS)[n % 2], draw.random() < 0.4, draw.random() < 0.2)
        for n in range(items)
    ]
    plan = [(at, draw.choice(moments)) for at in sorted(draw.sample(range(1, items + 1), kills))]
    lost, killed, endpoint = Counter[int](), Counter[str](), Endpoint(scripts, plan)
    with Brain.init(folder, author="tester") as brain, endpoint.run():
        numbers = queue_items(brain, scripts)
        workers = _Workers(folder, endpoint.url)
        try:
            for _ in range(kills):
                moment = endpoint.due.get(timeout=TIMEOUT_SECONDS)
                with suppress(subprocess.TimeoutExpired):
                    learner = workers.running[endpoint.asked[-1][0]]
                    learner.wait(draw.uniform(0.0, MOMENTS[moment]))
                name = endpoint.asked[-1][0]
                killed[moment if workers.kill(name) else "after its end"] += 1
                endpoint.dead.add(name)
                endpoint.killed.set()
                endpoint.wait_until_heard()
                asked = Counter(number for _, number in endpoint.asked)
                for number, kept in count_kept(brain, numbers).items():
                    lost[number] = asked[number] - kept
                workers.go_on()
            for process in workers.running.values():
                assert process.wait(TIMEOUT_SECONDS) == 0
        finally:
            for process in workers.running.values():
                process.kill()
                process.wait()
        asked = Counter(number for _, number in endpoint.asked)
        return judge(brain, scripts, numbers, asked, lost, killed)


def judge(
    brain: Brain,
    scripts: Sequence[Script],
    numbers: dict[str, int],
    asked: Counter[int],
    lost: Counter[int],
    killed: Counter[str],
) -> KillResult:
    """Compare the queue, the audit and the proposals with what was asked and lost."""
    store = brain.gaps.open_store()
    ends, problems = Counter[int](), []
    for event in store.events(last=100_000):
        if event.phase not in (SCORE_PHASE, RATE_PHASE):
            (name,) = [one for one in event.trigger_reason.split(",") if one in numbers]
            ends[numbers[name]] += 1
    if store.waiting():
        problems.append(f"{len(store.waiting())} items wait")
    paid_twice = asked_again = 0
    for number, script in enumerate(scripts):
        asked_again += lost[number]
        paid_twice += max(asked[number] - lost[number] - script.needed, 0)
        if asked[number] - lost[number] < script.needed:
            problems.append(
                f"item {number} was asked for {asked[number]} times, {lost[number]} lost"
            )
    proposed = Counter(skill.slug for one in brain.proposals.list() for skill in one.skills)
    wanted = {
        f"{'tool' if script.kind == GAPS else 'tickets'}-{n}"
        for n, script in enumerate(scripts)
        if script.creates
    }
    if proposed != Counter(wanted):
        problems.append(f"proposed are {dict(proposed)}, not {sorted(wanted)}")
    if not brain.verify().ok:
        problems.append("the brain does not verify")
    once = sum(ends[number] == 1 for number in range(len(scripts)))
    return KillResult(len(scripts), killed, asked.total(), once, asked_again, paid_twice, problems)


def work(folder: str, url: str, began: str, name: str) -> None:
    """Learn from a brain until nothing is left, as the scheduler does, on a fast clock."""
    stop = threading.Event()

    def now() -> int:
        return int(1000 * (float(began) + (time.time() - float(began)) * _SPEED))

    with Brain.open(folder, author="tester") as brain:
        store = brain.gaps.open_store()

        def wait(_: float) -> None:
            if store.waiting():
                stop.wait(0.02)
            else:
                stop.set()

        for _ in evolve.run(brain, LoopbackModel(f"{url}/{name}"), stop, now=now, wait=wait):
            pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.killed_learners")
    for name, default in (("items", 24), ("kills", 6), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        work(*given.worker)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        result = run_kills(
            Path(folder, "brain"), items=given.items, kills=given.kills, seed=given.seed
        )
    told = ", ".join(f"{count} {moment}" for moment, count in sorted(result.moments.items()))
    sys.stdout.write(
        f"seed {given.seed}: {result.moments.total()} kills ({told}) over {result.items} items and"
        f" {result.requests} requests: {result.ended} ended once; {result.asked_again} answers that"
        f" were lost were asked for again, {result.paid_twice} that were stored\n"
    )
    for problem in result.problems:
        sys.stdout.write(f"{problem}\n")
    return int(bool(result.paid_twice or result.problems or result.ended < result.items))


if __name__ == "__main__":
    sys.exit(main())
