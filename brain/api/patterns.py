"""`brain.patterns`: sequences of skills that recur in what agents do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..repo.part import Part

if TYPE_CHECKING:
    from .. import results
    from ..experience.store import Store
    from ..receipts import Receipt


class PatternsPart(Part):
    """Which skills were used in which order, and what recurs in that.

    MCP sessions and `Brain.task` record it by themselves. Nothing is recorded while the mode of
    the brain is off, or with SKILL_EVOLUTION_ENABLED=false in the environment.
    """

    def record(
        self, chat: str, skills: Sequence[str], *, context: str = "", at: int | None = None
    ) -> bool:
        """Record the skills that one message of a chat used, in order; tell whether it was.

        Of the text of the message, `context`, only a hash is stored. `at` is in ms since 1970,
        by default now. Raises `StoreError`, or `InvalidInput` (`bad_manifest`, `bad_experience`).
        """
        if not skills or not self._may_record():
            return False
        from ..experience.run_end import make_sequence

        time = self._locked.session.timestamp_ms() if at is None else at
        return self.open_store().record([make_sequence(chat, skills, time, context)])

    def record_run(self, run: Receipt) -> int:
        """Record a run of another program once; return how many messages it had.

        Raises as `record`.
        """
        from ..experience.run_end import split_uses
        from ..programs.program import tool_name
        from ..receipts.uses import list_used_skills

        tools = {tool_name(slug) for slug in self._find_programs()}
        sequences = split_uses(list_used_skills(run.steps, tools), run.agent or "agent", run)
        if not sequences or not self._may_record():
            return 0
        return len(sequences) if self.open_store().record(sequences, once=True) else 0

    def _may_record(self) -> bool:
        from ..experience.patterns import is_enabled
        from ..repo.manifest import OFF, load_mode

        return is_enabled() and self._locked.run(load_mode) != OFF

    def list(self, chat: str = "", *, now: int | None = None) -> results.SkillPatterns:
        """Return the patterns of the last seven days, of all chats or of one.

        `now` is in ms since 1970. Raises `StoreError`, or `InvalidInput` (`bad_setting`).
        """
        from ..experience import patterns
        from ..results import SkillPatterns

        time = self._locked.session.timestamp_ms() if now is None else now
        store = self.open_store()
        mined = patterns.find_in_store(store, time, chat)
        programs = self._find_programs()
        made = patterns.read_made(store.items(patterns.PATTERNS))
        return SkillPatterns(
            patterns=[patterns.describe_pattern(one, programs, made) for one in mined.patterns],
            messages=mined.messages,
            threshold=patterns.read_rules().min_count,
            has_longer=mined.has_longer,
            unrecorded=self._locked.recorder.lost if self._locked.recorder else 0,
            chat=chat,
        )

    def open_store(self) -> Store:
        """Return the store of experience. Raises `StoreError`, `InvalidInput`."""
        return self._locked.open_experience()

    def _find_programs(self) -> dict[str, results.SkillProgram]:
        from ..repo.learning import list_programs

        return {one.slug: one for one in self._locked.run(list_programs.list_programs)}
