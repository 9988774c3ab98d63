"""Compare what came out of cases with what they expect; checks in Python run in the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import InvalidInput
from ...gating.case_check import check_row, find_fault
from ...gating.case_types import Case
from ...running.run_program import check_outputs
from ...sandbox.sandbox_protocol import Sandbox

PASSED, FAILED = "p", "f"


class OutputJudge:
    """Judges outputs, each once: the same output of a case passes or fails in every round.

    `find_sandbox` is called only if a case has a check in Python.
    """

    def __init__(self, find_sandbox: Callable[[], Sandbox]) -> None:
        self._find_sandbox = find_sandbox
        self._letters: dict[tuple[bytes, bytes], str] = {}

    def judge(self, case: Case, outputs: Sequence[bytes]) -> list[str]:
        """Return for each output whether it passed: a letter, p or f.

        A check that hangs or crashes passes nothing. Raises `SandboxError`.
        """
        keys = [(case.blob, output) for output in outputs]
        new = [
            output for key, output in zip(keys, outputs, strict=True) if key not in self._letters
        ]
        for output, letter in zip(new, self._judge(case, new), strict=True):
            self._letters[case.blob, output] = letter
        return [self._letters[key] for key in keys]

    def _judge(self, case: Case, outputs: Sequence[bytes]) -> list[str]:
        letters = [FAILED if find_fault(case, output) else PASSED for output in outputs]
        if not case.expect.check or PASSED not in letters:
            return letters
        rows = [
            check_row(case, output)
            for output, letter in zip(outputs, letters, strict=True)
            if letter == PASSED
        ]
        try:
            refused = iter(check_outputs(self._find_sandbox(), case.expect.check.encode(), rows))
        except InvalidInput:  # it hangs, ends early, or is no check
            return [FAILED] * len(letters)
        return [FAILED if letter == PASSED and next(refused) else letter for letter in letters]
