"""Random calls of BrainRegistry: which there are, and what each means beside the model.

A step says who acts by what they are to a brain, and which head is meant by what it is, so it
keeps its meaning when steps before it are left out.
"""

import random
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tests.support.chain.eip712_signatures import compact_signature, flip_s
from tests.support.chain.permit_signatures import domain_separator, permit_digest, sign_digest
from tests.support.chain.registry_contract import (
    ZERO_ADDRESS,
    ZERO_WORD,
    ContractEvent,
    encode_static_call,
    encode_words,
    wallet_key,
    word_of,
)
from tests.support.chain.registry_model import Refusal, RegistryModel, SignedPermit

ACTOR_KEYS = [wallet_key(f"actor {n}") for n in range(4)]
WALLET_KEYS = [wallet_key(f"wallet {n}") for n in range(2)]
SALTS = [word_of(f"salt {n}") for n in range(2)]
BRAINS = [(0, SALTS[0]), (0, SALTS[1]), (1, SALTS[0]), (1, SALTS[1]), (4, SALTS[0])]
"""By the account that may open it, and its salt."""
SNAPSHOTS = [ZERO_WORD, *(word_of(f"snapshot {n}") for n in range(4))]
LOGS = [word_of(f"log {n}") for n in range(2)]
FIRST_TIME = 4_000_000_000
"""Of the first block, in seconds since 1970."""
FAR = 2**40

SIGNATURE_MANGLERS = {
    "": lambda by: by,
    "twin": flip_s,
    "compact": compact_signature,
    "low v": lambda by: by[:64] + bytes([by[64] - 27]),
    "other v": lambda by: by[:64] + bytes([55 - by[64]]),
    "bit": lambda by: by[:40] + bytes([by[40] ^ 1]) + by[41:],
    "short": lambda by: by[:64],
    "long": lambda by: by + b"\0",
    "empty": lambda by: b"",
    "zero": lambda by: bytes(65),
}
GOOD_FOR_WALLETS = {"", "twin"}
"""What the wallet contract of the tests accepts, which recovers without a look at s."""

FOREIGN_DOMAINS = {
    "chain": lambda version, chain, contract: (version, chain + 1, contract),
    "contract": lambda version, chain, contract: (version, chain, ZERO_ADDRESS),
    "version": lambda version, chain, contract: ("1", chain, contract),
}


class Step(NamedTuple):
    """A method of `RegistryActors`, and what it is called with."""

    name: str
    values: dict[str, Any]

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"{self.name}({shown})"


_ACTORS = range(6)
_ROLES = [*["owner"] * 14, *["signer"] * 4, "offered_to", *_ACTORS]
"""An account by what it is to the brain, or by its number."""
_OTHERS = [*_ACTORS, None]
_BRAINS = [*[0] * 8, *[1, 2] * 2, 3, 4]
_SNAPSHOTS = [*range(5), *[*range(1, 5)] * 4]
_PARENTS = [*["head"] * 12, *range(5)]
_SECONDS = [-1, 0, *[1000] * 4]
"""From now to an end or a deadline."""
_PERMIT = {
    "sender": _ACTORS,
    "seconds": [*_SECONDS, *[FAR] * 4],
    "mangled": [*[""] * 16, *SIGNATURE_MANGLERS],
    "domain": [*[""] * 16, *FOREIGN_DOMAINS],
    "altered": [*[False] * 9, True],
}

STEPS: dict[str, dict[str, Sequence[Any]]] = {
    "open": {"brain": _BRAINS, "snapshot": _SNAPSHOTS},
    "open_for": {
        "by": [*[None] * 12, *_ACTORS],
        "brain": _BRAINS,
        "snapshot": _SNAPSHOTS,
        **_PERMIT,
    },
    "commit": {"sender": _ROLES, "brain": _BRAINS, "snapshot": _SNAPSHOTS, "parent": _PARENTS},
    "commit_for": {
        "by": _ROLES,
        "brain": _BRAINS,
        "snapshot": _SNAPSHOTS,
        "parent": _PARENTS,
        "ahead": [*[1] * 9, 0, 2],
        "epoch": [*[0] * 9, 1, -1],
        **_PERMIT,
    },
    "set_signer": {"sender": _ROLES, "brain": _BRAINS, "signer": _OTHERS},
    "set_signer_for": {
        "by": _ROLES,
        "brain": _BRAINS,
        "signer": _OTHERS,
        "epoch": [*[0] * 9, 1, -1],
        **_PERMIT,
    },
    "replay": {"sender": _ACTORS, "which": range(2**16)},
    "supersede": {
        "sender": _ROLES,
        "brain": _BRAINS,
        "snapshot": _SNAPSHOTS,
        "parent": _PARENTS,
        "since": [*range(6), *[2, 3] * 4],
    },
    "offer": {"sender": _ROLES, "brain": _BRAINS, "to": _OTHERS, "seconds": _SECONDS},
    "accept": {"sender": [*["offered_to"] * 60, *_ROLES], "brain": _BRAINS},
    "anchor": {"sender": _ACTORS, "log": range(2), "checkpoint": _SNAPSHOTS},
    "wait": {"seconds": [1, 1000, 1001, 10**6]},
}
_NAMES = [*STEPS, *["commit", "commit_for"] * 2, *["set_signer", "offer", "accept"]]


def draw_steps(drawn: random.Random, count: int) -> list[Step]:
    """Return three brains opened by their owners, and then random steps."""
    opened = [Step("open", {"brain": brain, "snapshot": 1}) for brain in range(3)]
    names = drawn.choices(_NAMES, k=count)
    rest = [Step(n, {k: drawn.choice(among) for k, among in STEPS[n].items()}) for n in names]
    return [*opened, *rest]


class RegistryCall(NamedTuple):
    """A call as it is sent, and all that has to come of it."""

    function: str
    sender: str
    calldata: bytes
    refusal: Refusal
    events: list[ContractEvent]
    words: bytes
    """What a reader of everything sees afterwards; nothing is read after a refusal."""
    time: int


class _Permit(NamedTuple):
    """A permit once used, to be tried again."""

    function: str
    values: tuple[Any, ...]
    signature: bytes
    signed: SignedPermit


class RegistryActors:
    """Turns steps into calls: six accounts with a model of what they may do.

    Accounts 0 to 3 are keys, 4 a wallet contract that answers honestly, 5 one that answers yes
    with a wrong last byte.
    """

    def __init__(self, chain: int, contract: str, accounts: list[str], ids: list[bytes]) -> None:
        self.domain = ("2", chain, contract)
        self.accounts = accounts
        self.ids = ids
        self.model = RegistryModel(FIRST_TIME)
        self.used: list[_Permit] = []
        self.calls: list[RegistryCall] = []

    def act(self, steps: Iterable[Step]) -> list[RegistryCall]:
        for step in steps:
            getattr(self, step.name)(**step.values)
        return self.calls

    # Steps

    def wait(self, seconds: int) -> None:
        self.model.now += seconds

    def open(self, brain: int, snapshot: int) -> None:
        owner, salt = self._opener(brain)
        refusal = self.model.open(owner, self.ids[brain], salt, SNAPSHOTS[snapshot])
        self._send("open", owner, (salt, SNAPSHOTS[snapshot]), refusal)

    def commit(self, sender: str | int, brain: int, snapshot: int, parent: str | int) -> None:
        values = (self.ids[brain], SNAPSHOTS[snapshot], self._parent(brain, parent))
        account = self._account(sender, brain)
        self._send("commit", account, values, self.model.commit(account, *values))

    def supersede(
        self, sender: str | int, brain: int, snapshot: int, parent: str | int, since: int
    ) -> None:
        values = (self.ids[brain], SNAPSHOTS[snapshot], self._parent(brain, parent), since)
        account = self._account(sender, brain)
        self._send("supersede", account, values, self.model.supersede(account, *values))

    def set_signer(self, sender: str | int, brain: int, signer: int | None) -> None:
        values = (self.ids[brain], self._recipient(signer))
        account = self._account(sender, brain)
        self._send("setSigner", account, values, self.model.set_signer(account, *values))

    def offer(self, sender: str | int, brain: int, to: int | None, seconds: int) -> None:
        values = (self.ids[brain], self._recipient(to), self.model.now + seconds)
        account = self._account(sender, brain)
        self._send("offerOwnership", account, values, self.model.offer(account, *values))

    def accept(self, sender: str | int, brain: int) -> None:
        account = self._account(sender, brain)
        refusal = self.model.accept(account, self.ids[brain])
        self._send("acceptOwnership", account, (self.ids[brain],), refusal)

    def anchor(self, sender: int, log: int, checkpoint: int) -> None:
        values = (LOGS[log], SNAPSHOTS[checkpoint])
        account = self.accounts[sender]
        self._send("anchor", account, values, self.model.anchor(account, *values))

    def open_for(
        self, by: int | None, brain: int, snapshot: int, seconds: int, **permit: Any
    ) -> None:
        owner, salt = self._opener(brain)
        fields = (owner, salt, SNAPSHOTS[snapshot], self.model.now + seconds)
        author = owner if by is None else self.accounts[by]
        self._permit("openFor", "Open", author, fields, fields, **permit)

    def commit_for(
        self,
        by: str | int,
        brain: int,
        snapshot: int,
        parent: str | int,
        ahead: int,
        epoch: int,
        seconds: int,
        **permit: Any,
    ) -> None:
        stored = self.model.state_of(self.ids[brain])
        named = (self.ids[brain], SNAPSHOTS[snapshot], self._parent(brain, parent))
        numbers = (stored.seq + ahead, max(stored.epoch + epoch, 0))
        deadline = self.model.now + seconds
        fields = (*named, *numbers, deadline)
        author = self._account(by, brain)
        self._permit("commitFor", "Commit", author, fields, (*named, deadline), **permit)

    def set_signer_for(
        self, by: str | int, brain: int, signer: int | None, epoch: int, seconds: int, **permit: Any
    ) -> None:
        named = (self.ids[brain], self._recipient(signer))
        number = max(self.model.state_of(self.ids[brain]).epoch + epoch, 0)
        deadline = self.model.now + seconds
        author = self._account(by, brain)
        fields = (*named, number, deadline)
        self._permit("setSignerFor", "SetSigner", author, fields, (*named, deadline), **permit)

    def replay(self, sender: int, which: int) -> None:
        if self.used:
            self._use(self.accounts[sender], self.used[which % len(self.used)])

    # What they are made of

    def _permit(
        self,
        function: str,
        kind: str,
        author: str,
        fields: tuple[object, ...],
        values: tuple[Any, ...],
        *,
        sender: int,
        mangled: str,
        domain: str,
        altered: bool,
    ) -> None:
        """Sign the fields and use the permit, with a later deadline than signed if `altered`."""
        place = self.accounts.index(author)
        key = (*ACTOR_KEYS, *WALLET_KEYS)[place]
        home = FOREIGN_DOMAINS[domain](*self.domain) if domain else self.domain
        made = sign_digest(key, permit_digest(domain_separator(*home), kind, fields))
        good = mangled == "" if place < 4 else mangled in GOOD_FOR_WALLETS and place == 4
        signed = SignedPermit(author if good and not domain else None, fields)
        if altered:
            values = (*values[:-1], values[-1] + 1)
        self.used.append(_Permit(function, values, SIGNATURE_MANGLERS[mangled](made), signed))
        self._use(self.accounts[sender], self.used[-1])

    def _use(self, sender: str, permit: _Permit) -> None:
        function, values, signature, signed = permit
        if function == "openFor":
            owner, salt, *_ = values
            brain = self.ids[BRAINS.index((self.accounts.index(owner), salt))]
            refusal = self.model.open_for(owner, brain, *values[1:], signed)
        elif function == "commitFor":
            refusal = self.model.commit_for(*values, signed)
        else:
            refusal = self.model.set_signer_for(*values, signed)
        self._send(function, sender, (*values, signature), refusal)

    def _send(
        self, function: str, sender: str, values: tuple[object, ...], refusal: Refusal
    ) -> None:
        self.calls.append(
            RegistryCall(
                function=function,
                sender=sender,
                calldata=encode_static_call(function, *values),
                refusal=refusal,
                events=self.model.events,
                words=b"" if refusal else self._expected_words(),
                time=self.model.now,
            )
        )
        self.model.events = []

    def _expected_words(self) -> bytes:
        model = self.model
        values: list[object] = []
        for brain in self.ids:
            state = model.state_of(brain)
            values += state
            values += [model.disowned.get((brain, seq), 0) for seq in range(1, state.seq + 1)]
        for account in self.accounts:
            values += [model.anchors.get((account, log), ZERO_WORD) for log in LOGS]
        return encode_words(values)

    def _account(self, role: str | int, brain: int) -> str:
        """Return who is meant; account 0, if there is no such person."""
        if isinstance(role, int):
            return self.accounts[role]
        named: str = getattr(self.model.state_of(self.ids[brain]), role)
        return self.accounts[0] if named == ZERO_ADDRESS else named

    def _opener(self, brain: int) -> tuple[str, bytes]:
        number, salt = BRAINS[brain]
        return self.accounts[number], salt

    def _recipient(self, number: int | None) -> str:
        return ZERO_ADDRESS if number is None else self.accounts[number]

    def _parent(self, brain: int, parent: str | int) -> bytes:
        if isinstance(parent, int):
            return SNAPSHOTS[parent]
        return self.model.state_of(self.ids[brain]).head
