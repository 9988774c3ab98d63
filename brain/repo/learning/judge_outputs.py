"""Compare what came out of cases with what they expect; checks in Python run in the sandbox.

Each output has a job of its own. A check that one output hangs, crashes or takes over, such as by
running it as code, says nothing of another output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...errors import InvalidInput
from ...gating.case_files import Case
from ...gating.output_check import check_row, find_fault
from ...running.run import check_outputs
from ...sandbox.job import DEFAULT_LIMITS, Sandbox

PASSED, FAILED, UNJUDGED = "p", "f", "?"
CHECK_SECONDS = 10.0
"""How long the check of a case may take for one output."""
MAX_SILENT_SECONDS = 300.0
"""How long checks that give no answer may take together."""


class OutputJudge:
    """Judges outputs, each once: the same output of a case passes or fails in every round.

    `find_sandbox` is called only if a case has a check in Python. `time_left` tells how many
    seconds such checks may still take.
    """

    def __init__(self, find_sandbox: Callable[[], Sandbox], time_left: Callable[[], float]) -> None:
        self._find_sandbox = find_sandbox
        self._time_left = time_left
        self._silent_seconds = 0.0
        self._letters: dict[tuple[bytes, bytes], str] = {}

    def judge(self, case: Case, outputs: Sequence[bytes]) -> list[str]:
        """Return for each output whether it passed: a letter, p or f.

        A check that hangs or crashes does not pass the output. `?` stands for one that no time
        was left for. Raises `SandboxError`.
        """
        return [self._judge(case, output) for output in outputs]

    def _judge(self, case: Case, output: bytes) -> str:
        known = self._letters.get((case.blob, output))
        if known is not None:
            return known
        if find_fault(case, output):
            letter = FAILED
        else:
            letter = self._run_check(case, output) if case.expect.check else PASSED
        if letter != UNJUDGED:
            self._letters[case.blob, output] = letter
        return letter

    def _run_check(self, case: Case, output: bytes) -> str:
        before = self._time_left()
        seconds = min(CHECK_SECONDS, before, MAX_SILENT_SECONDS - self._silent_seconds)
        if seconds <= 0:
            return UNJUDGED
        limits = replace(DEFAULT_LIMITS, wall_seconds=seconds)
        code, rows = case.expect.check.encode(), [check_row(case, output)]
        try:
            (refused,) = check_outputs(self._find_sandbox(), code, rows, limits=limits)
        except InvalidInput:  # it hangs, ends early, or is no check
            took = before - self._time_left()
            self._silent_seconds += took
            return UNJUDGED if seconds < CHECK_SECONDS and took >= seconds else FAILED
        return FAILED if refused else PASSED
