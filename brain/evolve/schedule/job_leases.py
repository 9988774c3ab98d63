"""When jobs run again, and which process runs one: notes in the store of experience.

A clock that was set back makes a job run at once rather than after the lost time, and ends a
lease that would last longer than any does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..stored_notes import Fields, change_fields, read_fields, read_number
from .job_types import Job, JobContext

if TYPE_CHECKING:
    from ...experience.experience_protocol import ExperienceStore

JOB_LEASE_MS = 30 * 60_000
"""A process has a job to itself for so long; after a kill, another one begins then."""
_CLOCK_SLACK_MS = 60_000


class JobLease(NamedTuple):
    """When a job began last, and which process runs it at present, "" for nobody; ms since 1970."""

    last: int | None
    owner: str
    until: int


def read_job_lease(store: ExperienceStore, job: Job, now: int) -> JobLease:
    """Return the state of a job."""
    return _parse(read_fields(store, _note(job)), now)


def take_job(context: JobContext, job: Job, now: int) -> JobLease | None:
    """Begin a job; return None, or the lease of the process that runs it already."""
    busy: list[JobLease] = []

    def take(fields: Fields) -> Fields | None:
        busy.clear()
        lease = _parse(fields, now)
        if lease.owner:
            busy.append(lease)
            return None
        return {"last": now, "owner": context.owner, "until": now + JOB_LEASE_MS}

    change_fields(context.store, _note(job), take)
    return busy[0] if busy else None


def release_job(context: JobContext, job: Job, last: int | None) -> None:
    """End the lease of this process; `last` is when the job was begun that was not broken off."""

    def end(fields: Fields) -> Fields | None:
        if fields.get("owner") != context.owner:
            return None
        return {"last": last, "owner": "", "until": 0}

    change_fields(context.store, _note(job), end)


def make_due(context: JobContext, job: Job) -> None:
    """Let a job be due at once, whenever it ran last."""

    def forget(fields: Fields) -> Fields | None:
        return {**fields, "last": None} if fields.get("last") is not None else None

    change_fields(context.store, _note(job), forget)


def next_time(context: JobContext, job: Job, lease: JobLease, now: int) -> int | None:
    """Return when a job is due, None for one that waits for its queue alone and has none."""
    newest = context.store.newest_work(job.queue) if job.queue else None
    if job.works_off:
        return None if newest is None else now
    if lease.last is None or lease.last > now + _CLOCK_SLACK_MS:
        return now
    if newest is not None and newest > lease.last:
        return now
    return lease.last + job.period


def _parse(fields: Fields, now: int) -> JobLease:
    last = fields.get("last")
    owner, until = str(fields.get("owner", "")), read_number(fields, "until")
    if not now < until <= now + JOB_LEASE_MS:
        owner, until = "", 0
    return JobLease(last if type(last) is int else None, owner, until)


def _note(job: Job) -> str:
    return f"job/{job.evolver}"
