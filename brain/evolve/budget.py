"""What models may cost, in a day and in a run: forecast before a request, counted after it.

1. Before a request, the most that it can cost is counted: its bytes, each a token at most, and the
   tokens that an answer may have. If that is more than what is left, nothing is asked.
2. After it, what the endpoint reports is counted instead, in the transaction that keeps the answer.
   Where it reports nothing, the bytes of the request and of the answer count.

So a process that is killed loses no count. A request whose answer was lost so counts as its most.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from operator import add, neg, sub
from typing import TYPE_CHECKING, NamedTuple

from ..errors import BrainError
from ..experience.store import RateLimit
from ..repo.manifest import NO_BOUNDS, Bounds, refuse_off
from ..results import BudgetStatus, BudgetUse, EvolverCost
from ..util.text import MILLION
from ..util.utc_time import utc_time

if TYPE_CHECKING:
    from ..api.brain import Brain
    from ..experience.store import Store
    from ..models import Model
    from ..models.calls import Paid, RequestBound, Settle
    from ..models.config import Prices

_KIND, _REFUSED, _COST = "budget", "budget refused", "cost/"
_COUNTS = ("requests", "tokens_in", "tokens_out", "unreported")
_DAY, _DAY_COST = RateLimit("tokens", 86_400, 0), RateLimit("cost", 86_400, 0)
_MOST = 1 << 40
"""An endpoint that reports more counts as this."""
NO_PRICE = (
    "a budget by cost needs to know what tokens cost: set model.price-in and"
    " model.price-out with `brain config`"
)


class Interrupted(BrainError):
    """An attempt cannot go on now; its answers so far are kept for the next one.

    Its item waits `until` then, in ms since 1970, and others go on; 0 if all wait.
    """

    code = "interrupted"
    until = 0

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="the next attempt goes on with the answers so far")


class BudgetSpent(Interrupted):
    """What is left of a budget does not pay the next request, so it is not made."""

    code = "budget_spent"

    def __init__(self, message: str, until: int = 0) -> None:
        super().__init__(message)
        self.until = until
        self.hint = "nothing was asked; see `brain evolve status`, or raise the budget"


class _Amount(NamedTuple):
    tokens: int
    cost: int  # in millionths


def now_ms() -> int:
    """Return the time in ms since 1970."""
    return time.time_ns() // 1_000_000


class Budget:
    """The bounds of a day, which `read_day` returns, and of a run; and what was counted.

    `prices` are those of the model, None if they are not known. Threads may share it. Without
    bounds, what cannot be counted since the store does not answer is lost, and logged.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        read_day: Callable[[], Bounds],
        prices: Prices | None,
        run: Bounds,
        now: Callable[[], int],
    ) -> None:
        self._open_store = open_store
        self._read_day = read_day
        self._prices = prices
        self._run = run
        self._now = now
        self._spent_in_run = _Amount(0, 0)
        self._lock = threading.RLock()
        self.is_run_spent = False

    def meter(self, model: Model, evolver: str, check: Callable[[RequestBound], object]) -> Model:
        """Return a model that is checked before each request, and counted as cost of an evolver."""
        from ..models.paid_once import PaidModel

        def reserve(bound: RequestBound) -> Settle:
            check(bound)
            return self._reserve(evolver, bound)

        return PaidModel(model, [reserve])

    def _reserve(self, evolver: str, bound: RequestBound) -> Settle:
        """Count the most that a request costs, and return what counts what it did cost.

        Raises `BudgetSpent`, or `StoreError`.
        """
        day, at = self._read_day(), self._now()
        self._require_prices(day)
        most = self._price(bound.bytes, bound.max_tokens)
        with self._lock:
            try:
                _require(self._run, self._spent_in_run, most, "this run", 0)
            except BudgetSpent:
                self.is_run_spent = True
                raise
            self._count_in_run(most)

        def take(store: Store) -> None:
            _require(day, _read_spent(store, at), most, "a day", at)
            _add(store, at, most)

        try:
            self._count(day, take, lambda: None)
        except BaseException as error:
            self._count_in_run(map(neg, most))
            if isinstance(error, BudgetSpent) and not error.until:
                note = {"day": _DAY.period(at), "bound": bound}
                self._open_store().change(_REFUSED, lambda _: note)
            raise

        def settle(paid: Paid, keep: Callable[[], object]) -> None:
            tokens_in, tokens_out, unreported = _count_tokens(paid, bound)
            spent = self._price(tokens_in, tokens_out)

            def count(store: Store) -> None:
                kept = map(min, most, _read_spent(store, at))  # less if the store was deleted
                _add(store, at, _Amount(*map(sub, spent, kept)))
                _add_cost(store, evolver, (paid.requests, tokens_in, tokens_out, unreported))
                keep()

            self._count_in_run(map(sub, spent, most))
            self._count(day, count, keep)

        return settle

    def find_obstacle(self) -> str:
        """Say why no request is made now, "" if one may be. Raises `StoreError`."""
        try:
            day, at = self._read_day(), self._now()
            self._require_prices(day)
            _require(self._run, self._spent_in_run, _Amount(1, 1), "this run", 0)
            store = self._open_store()
            note = store.fact(_REFUSED)
            bound = note["bound"] if note.get("day") == _DAY.period(at) else (1, 0)
            _require(day, _read_spent(store, at), self._price(*bound), "a day", at)
        except BudgetSpent as error:
            return error.message
        return ""

    def read_status(self) -> BudgetStatus:
        """Return what counts today. Raises `StoreError`."""
        day, at = self._read_day(), self._now()
        spent = _read_spent(self._open_store(), at)
        return BudgetStatus(
            tokens=_describe(spent.tokens, day.tokens, 1),
            cost=_describe(spent.cost, day.cost, MILLION),
            renewed=utc_time(_DAY.end(at)),
            reason=self.find_obstacle(),
        )

    def _require_prices(self, day: Bounds) -> None:
        if self._prices is None and (day.cost or self._run.cost):
            raise BudgetSpent(NO_PRICE)

    def _price(self, tokens_in: int, tokens_out: int) -> _Amount:
        million_in, million_out = self._prices or (0, 0)
        cost = -(-(tokens_in * million_in + tokens_out * million_out) // MILLION)
        return _Amount(tokens_in + tokens_out, cost)

    def _count_in_run(self, more: Iterable[int]) -> None:
        with self._lock:
            self._spent_in_run = _Amount(*map(add, self._spent_in_run, more))

    def _count(
        self, day: Bounds, count: Callable[[Store], None], otherwise: Callable[[], object]
    ) -> None:
        try:
            store = self._open_store()
            with store.transaction():
                count(store)
        except BrainError as error:
            if any(day) or any(self._run):
                raise
            logging.getLogger(__name__).warning("a cost is not counted: %s", error.message)
            otherwise()


def require_evolution(brain: Brain) -> str:
    """Return the mode. Raises `Conflict` (`evolution_off`) if it is that nothing is learned."""
    return refuse_off(brain.gate.read_mode())


def meter(brain: Brain, model: Model, evolver: str) -> Model:
    """Return a model that is not asked once evolution is off, whose cost is bounded and counted."""
    return open_budget(brain, model).meter(model, evolver, lambda _: require_evolution(brain))


def open_budget(
    brain: Brain,
    model: Model | None,
    prices: Prices | None = None,
    run: Bounds = NO_BOUNDS,
    now: Callable[[], int] = now_ms,
) -> Budget:
    """Return the budget of a brain, by the prices of the model if it has any."""
    known = getattr(model, "prices", prices)
    return Budget(brain.gaps.open_store, brain.gate.read_day_bounds, known, run, now)


def read_costs(store: Store, evolvers: Iterable[str]) -> list[EvolverCost]:
    """Return what these evolvers have cost so far, and any others. Raises `StoreError`."""
    found: dict[str, dict[str, int]] = {**{name: {} for name in evolvers}, **store.facts(_COST)}
    return [EvolverCost(name, *(one.get(key, 0) for key in _COUNTS)) for name, one in found.items()]


def _add_cost(store: Store, evolver: str, paid: Sequence[int]) -> None:
    rows = [*zip(_COUNTS, paid, strict=True)]
    store.change(
        f"{_COST}{evolver}", lambda old: {name: old.get(name, 0) + more for name, more in rows}
    )


def _count_tokens(paid: Paid, bound: RequestBound) -> tuple[int, int, int]:
    """Return the tokens of a request, in and out, and how many requests did not report theirs."""
    tokens_in, tokens_out = min(paid.tokens_in, _MOST), min(paid.tokens_out, _MOST)
    unreported = paid.lost
    if paid.answer_bytes and not (tokens_in or tokens_out):
        tokens_in, tokens_out = bound.bytes, min(paid.answer_bytes, bound.max_tokens)
        unreported += 1
    lost = paid.lost * bound.bytes, paid.lost * bound.max_tokens
    return tokens_in + lost[0], tokens_out + lost[1], unreported


def _read_spent(store: Store, at: int) -> _Amount:
    counted = store.counts(_KIND, (_DAY, _DAY_COST), at)
    return _Amount(counted[_DAY.name], counted[_DAY_COST.name])


def _add(store: Store, at: int, more: _Amount) -> None:
    store.add_count(_KIND, _DAY, at, more.tokens)
    store.add_count(_KIND, _DAY_COST, at, more.cost)


def _require(bounds: Bounds, spent: _Amount, most: _Amount, whose: str, at: int) -> None:
    """Raise `BudgetSpent` if what is left of a bound does not pay a request; `at` is of a day."""
    for limit, used, need, say in zip(bounds, spent, most, (_say_tokens, _say_cost), strict=True):
        if limit is None or used + need <= limit:
            continue
        if need > limit:
            raise BudgetSpent(
                f"one request may take up to {say(need)}, more than the budget of {whose},"
                f" {say(limit)}: raise it",
                until=_DAY.end(at) if at else 0,
            )
        then = f"after {utc_time(_DAY.end(at)).isoformat(timespec='minutes')}" if at else "later"
        up_to = f" and the next request may take up to {say(need)}," if need > 1 else ""
        raise BudgetSpent(
            f"the budget of {whose} is spent: {say(used)} of {say(limit)} are counted,{up_to}"
            f" so it goes on {then}"
        )


def _say_tokens(count: int) -> str:
    return f"{count} tokens"


def _say_cost(millionths: int) -> str:
    return f"a cost of {millionths / MILLION:.4f}"


def _describe(used: int, most: int | None, unit: int) -> BudgetUse:
    if most is None:
        return BudgetUse(used / unit, None, None)
    return BudgetUse(used / unit, most / unit, max(most - used, 0) / unit)
