"""Acquire a skill: try its program in the sandbox, then record the skill or the attempt.

Three steps, so that the brain is not locked while a program runs: `plan_acquisition` or
`plan_admission` reads, `try_planned` runs, and `record_planned` writes what was tried and no
other bytes. A process that dies between them leaves nothing behind.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event

from ...errors import InvalidInput, printable_text
from ...objects import paths
from ...programs import PROGRAM_FILE
from ...programs.advice import ADVICE
from ...programs.needs import read_needs
from ...programs.program import Program, is_program_file, slug_of_tool
from ...programs.python_code import find_called_names
from ...results import Decided
from ...running.trial import Trial, refuse_program, try_program
from ...sandbox.job import DEFAULT_LIMITS, Sandbox, SandboxLimits
from ...skills.slug import slugify
from ..open.session import Session
from ..read import skill_lookup
from ..skills.upsert import NO_BASE_VERSION, UpsertRequest
from .admission import find_program, refuse_unusable_program
from .record import (
    ProgramAtVersion,
    read_program_to_try,
    record_acquired,
    record_admission,
    record_rejected,
    record_rejection,
)

WAITING = "a person has to approve what it needs"
"""How the reason of an attempt begins that was not tried for that."""
_MAX_CALLED = 64
_SEED_BITS = 53
"""Bits of a seed: any JSON reader keeps such a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions:
    """How a program is tried: the profile of the static check, the limits and the seed.

    `decided_by` is the rule that decides on the outcome. `seed` makes the unseen payloads;
    None draws one.
    """

    decided_by: str = "trial"
    code_profile: str = ADVICE
    seed: int | None = None
    limits: SandboxLimits = DEFAULT_LIMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquireRequest:
    """A skill to acquire: `files` are skill.py, schema.json and all below tests/.

    Without `are_needs_approved`, a program with needs is not tried: the attempt is kept, and waits.

    `description` and `body` are as for an upsert, and `base` is the version that the author had
    read, "" for the present one.
    """

    name: str
    files: Mapping[str, bytes]
    description: str | None = None
    body: bytes | None = None
    message: str = ""
    base: str = ""
    category: str = ""
    options: TrialOptions = field(default_factory=TrialOptions)
    are_needs_approved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """A program to try: of a skill that is recorded, or of one to write by `request`.

    `called` are the programs of the skills that it may call, by the names of their tools.
    `waits_for` is what a person has to approve before it is tried.
    """

    program: Program
    options: TrialOptions
    called: Mapping[str, Program] = field(default_factory=dict)
    waits_for: tuple[str, ...] = ()
    recorded: ProgramAtVersion | None = None
    request: UpsertRequest | None = None
    message: str = ""


def plan_acquisition(session: Session, request: AcquireRequest) -> TrialPlan:
    """Return the plan to acquire a skill.

    Raises `InvalidInput` (`bad_name`, `no_program`, `bad_program`, `bad_path`, `no_content`).
    """
    skill = skill_lookup.find_skill_or_none(
        session, session.bundle_of(session.head()), request.name
    )
    slug = skill.slug if skill else slugify(request.name)
    others = [path for path in request.files if not is_program_file(paths.check_path(path))]
    if others or PROGRAM_FILE not in request.files:
        reason = (
            f"{printable_text(others[0])} is no part of one" if others else "it has no skill.py"
        )
        raise InvalidInput(
            f"the files are not all those of a program: {reason}",
            code="no_program",
            hint="give skill.py, schema.json and tests/cases.json, and what else is below tests/",
        )
    refuse_unusable_program(slug, list(map(len, request.files.values())))
    if skill is None and not request.description:
        raise InvalidInput(
            f"a new skill, {slug}, needs a description",
            code="no_content",
            hint="say in one line when to use it",
        )
    program = Program(slug=slug, files=dict(request.files))
    needs = read_needs(program)
    return TrialPlan(
        program=program,
        options=request.options,
        called=_find_called(session, program),
        waits_for=() if request.are_needs_approved else tuple(needs.describe()),
        request=UpsertRequest(
            name=request.name,
            description=request.description,
            body=request.body,
            message=request.message,
            base=request.base or (skill.card.version if skill else NO_BASE_VERSION),
            category=request.category,
        ),
    )


def plan_admission(
    session: Session, slug: str, options: TrialOptions, message: str = ""
) -> TrialPlan:
    """Record the folder of a skill, and return the plan to try its program and admit it.

    Raises `NotFound` (`no_skill`, `no_program`), `InvalidInput`, or `Conflict` (`retired`).
    """
    recorded = read_program_to_try(session, slug)
    called = _find_called(session, recorded.program)
    return TrialPlan(
        program=recorded.program,
        options=options,
        called=called,
        recorded=recorded,
        message=message,
    )


def _find_called(session: Session, program: Program) -> dict[str, Program]:
    """Return the programs that a program may call, and those that these may, by tool.

    They need not run on this machine: in a trial they reach no more than the tried one does.
    """
    bundle = session.bundle_of(session.head())
    found: dict[str, Program] = {}
    left = [program]
    while left:
        one = left.pop()
        names = {*find_called_names(one.code), *read_needs(one).skills}
        for name in sorted(names.difference(found)):
            try:
                skill = skill_lookup.find_skill_or_none(session, bundle, slug_of_tool(name))
                called = None if skill is None else find_program(session, bundle, skill)
            except InvalidInput:  # no name of a skill, or a program that cannot run
                continue
            if called is not None and len(found) < _MAX_CALLED:
                found[name] = called
                left.append(called)
    return found


def try_planned(sandbox: Sandbox, plan: TrialPlan, cancel: Event | None = None) -> Trial:
    """Try a planned program; nothing of the brain is read or locked.

    Raises `InvalidInput` for tests that cannot be read, and `SandboxError`, also if `cancel` was
    set (`cancelled`).
    """
    options = plan.options
    if plan.waits_for:
        reason = f"{WAITING}: {', '.join(plan.waits_for)}"
        return refuse_program(
            plan.program, reason, decided_by=options.decided_by, code_profile=options.code_profile
        )
    return try_program(
        sandbox,
        plan.program,
        seed=secrets.randbits(_SEED_BITS) if options.seed is None else options.seed,
        decided_by=options.decided_by,
        code_profile=options.code_profile,
        limits=options.limits,
        find_called=plan.called.get,
        cancel=cancel,
    )


def record_planned(session: Session, plan: TrialPlan, trial: Trial) -> Decided:
    """Record the outcome of a trial: admit the skill, or keep the rejected attempt.

    Raises `Conflict` (`stale_base`, `program_changed`) if the skill was changed meanwhile.
    """
    is_admitted = trial.verdict.decision == "admit"
    if plan.recorded is not None:
        record = record_admission if is_admitted else record_rejection
        return record(session, plan.recorded, trial, plan.message)
    if plan.request is None:
        raise AssertionError("a plan has a recorded program or a request")
    record_new = record_acquired if is_admitted else record_rejected
    return record_new(session, plan.request, trial)
