"""`brain.patterns`: sequences of skills that recur in what agents do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .locked_session import Part

if TYPE_CHECKING:
    from .. import results
    from ..experience.experience_protocol import ExperienceStore
    from ..receipts import Receipt
    from ..repo.open.session import Session


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
        from ..evolve.patterns import recording

        def record(session: Session) -> bool:
            time = session.timestamp_ms() if at is None else at
            return recording.record_sequence(session, chat, skills, at=time, context=context)

        return self._locked.run(record)

    def record_run(self, run: Receipt) -> int:
        """Record a run of another program once; return how many messages it had.

        Raises as `record`.
        """
        from ..evolve.patterns import recording
        from ..programs.program import tool_name

        tools = {tool_name(slug) for slug in self._find_programs()}
        return self._locked.run(recording.record_imported_run, run, tools)

    def list(self, chat: str = "", *, now: int | None = None) -> results.SkillPatterns:
        """Return the patterns of the last seven days, of all chats or of one.

        `now` is in ms since 1970. Raises `StoreError`, or `InvalidInput` (`bad_setting`).
        """
        from ..evolve.patterns import miner, pattern_status, recording

        session = self._locked.session
        time = session.timestamp_ms() if now is None else now
        store = self.open_store()
        mined = self._locked.run(lambda _: miner.find_in_store(store, time, chat))
        from ..results import SkillPatterns

        programs = self._find_programs()
        made = pattern_status.read_made(store.list_work(pattern_status.PATTERNS))
        return SkillPatterns(
            patterns=[
                pattern_status.describe_pattern(pattern, programs, made)
                for pattern in mined.patterns
            ],
            messages=mined.messages,
            threshold=miner.read_rules().min_count,
            has_longer=mined.has_longer,
            unrecorded=recording.count_lost(session),
            chat=chat,
        )

    def open_store(self) -> ExperienceStore:
        """Return the store of experience. Raises `StoreError`, `InvalidInput`."""
        return self._locked.session.experience.store

    def _find_programs(self) -> dict[str, results.SkillProgram]:
        from ..repo.learning import list_programs

        return {one.slug: one for one in self._locked.run(list_programs.list_programs)}
