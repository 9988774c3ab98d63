"""Accounts that do what they like with a real BrainRegistry; a model says what may come of it.

After every step all brains and anchors are as the model has them, so nothing moves a head
but the owner or the signer, from the head it had, by one number.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import eth_abi.abi
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.anvil import Anvil
from tests.chain.model import Kept, Model, Refusal
from tests.chain.registry import (
    ENOUGH,
    NOBODY,
    ZERO,
    Registry,
    Reverted,
    encoded,
    function,
    types,
    wallet,
    word,
)
from tests.chain.signing import Commit, compact, message, signature, twin

KEYS = [wallet(f"actor {n}") for n in range(4)]
PEOPLE = [key.address.lower() for key in KEYS]
SALTS = [word(f"salt {n}") for n in range(2)]
SNAPSHOTS = [ZERO, *(word(f"snapshot {n}") for n in range(4))]
LATER = 2**40
MANGLED = {
    "": lambda by: by,
    "twin": twin,
    "compact": compact,
    "low v": lambda by: by[:64] + bytes([by[64] - 27]),
    "other v": lambda by: by[:64] + bytes([55 - by[64]]),
    "bit": lambda by: bytes([by[0] ^ 128]) + by[1:],
    "empty": lambda by: b"",
    "zero": lambda by: bytes(65),
}

numbers = st.integers(0, 3)
people = st.sampled_from(PEOPLE)
anyone = st.sampled_from([*PEOPLE, NOBODY])
senders = st.sampled_from([*["owner"] * 4, *["signer", "pending"] * 2, *PEOPLE])
"""An account, or one by what it is to the brain."""
snapshots = st.sampled_from([*SNAPSHOTS, *SNAPSHOTS[1:] * 2])
parents = st.sampled_from([*[None] * 12, *SNAPSHOTS])
"""None is the head."""


class RegistryMachine(RuleBasedStateMachine):
    """Every example begins with an empty registry on the node that `use` was given."""

    registry: Registry
    ids: list[bytes]
    begun: str
    met: Counter[str]
    """How often each function was called, by how it ended."""

    @classmethod
    def use(cls, node: Anvil) -> None:
        cls.registry = Registry(node)
        cls.ids = [cls.registry.ask("idOf", who, salt)[0] for who in PEOPLE[:2] for salt in SALTS]
        for person in PEOPLE:
            node.set_balance(person)
            node.call("anvil_impersonateAccount", person)
        cls.begun = node.snapshot()
        cls.met = Counter()

    @initialize()
    def begin(self) -> None:
        node = self.registry.node
        node.revert(self.begun)
        type(self).begun = node.snapshot()
        self.model = Model()
        self.used: list[tuple[str | None, Commit, bytes]] = []
        for owner, salt in ((0, 0), (0, 1), (1, 0)):
            self.open(owner, salt, SNAPSHOTS[1])

    def sent(self, refusal: Refusal, sender: str, name: str, *values: object) -> None:
        """Send a call, which is refused as the model says."""
        try:
            self.registry.ask(name, *values, sender=sender)
        except Reverted as error:
            assert error.error == refusal
        else:
            assert refusal is None
        self.met[f"{name} {refusal[0] if refusal else 'done'}"] += 1
        data = encoded(name, *values)
        receipt = self.registry.node.transact(sender, self.registry.address, data, gas=ENOUGH)
        assert receipt["status"] == ("0x1" if refusal is None else "0x0")

    def account(self, sender: str, brain: bytes) -> str:
        """Return who is meant; somebody, if there is no such person."""
        named = self.model.kept(brain)._asdict().get(sender, sender)
        return PEOPLE[0] if named == NOBODY else named

    @rule(owner=st.integers(0, 1), salt=st.integers(0, 1), snapshot=snapshots)
    def open(self, owner: int, salt: int, snapshot: bytes) -> None:
        sender = PEOPLE[owner]
        refusal = self.model.open(sender, self.ids[2 * owner + salt], snapshot)
        self.sent(refusal, sender, "open", SALTS[salt], snapshot)

    @rule(sender=senders, number=numbers, snapshot=snapshots, parent=parents)
    def commit(self, sender: str, number: int, snapshot: bytes, parent: bytes | None) -> None:
        brain = self.ids[number]
        sender = self.account(sender, brain)
        parent = self.model.kept(brain).head if parent is None else parent
        refusal = self.model.commit(sender, brain, snapshot, parent)
        self.sent(refusal, sender, "commit", brain, snapshot, parent)

    @rule(
        sender=people,
        by=senders,
        number=numbers,
        snapshot=snapshots,
        parent=parents,
        ahead=st.sampled_from([*[1] * 8, 0, 2]),
        late=st.sampled_from([*[False] * 8, True]),
        mangled=st.sampled_from([*[""] * 12, *MANGLED]),
    )
    def commit_for(
        self,
        sender: str,
        by: str,
        number: int,
        snapshot: bytes,
        parent: bytes | None,
        ahead: int,
        late: bool,
        mangled: str,
    ) -> None:
        brain = self.ids[number]
        kept = self.model.kept(brain)
        parent = kept.head if parent is None else parent
        commit = Commit(brain, snapshot, parent, kept.seq + ahead, 1 if late else LATER)
        author = self.account(by, brain)
        key = KEYS[PEOPLE.index(author)]
        made = MANGLED[mangled](signature(key, message(self.registry, commit)))
        self.used.append((None if mangled else author, commit, made))
        self.relayed(sender, *self.used[-1])

    @rule(sender=people, data=st.data())
    def replay(self, sender: str, data: Any) -> None:
        if self.used:
            self.relayed(sender, *data.draw(st.sampled_from(self.used)))

    def relayed(self, sender: str, author: str | None, commit: Commit, by: bytes) -> None:
        if commit.deadline != LATER:
            refusal: Refusal = ("Expired",)
        else:
            good = commit.seq == self.model.kept(commit.brain).seq + 1
            author = author if good else None
            refusal = self.model.commit_for(author, commit.brain, commit.snapshot, commit.parent)
        self.sent(refusal, sender, "commitFor", *commit.values(by))

    @rule(sender=senders, number=numbers, signer=anyone)
    def set_signer(self, sender: str, number: int, signer: str) -> None:
        brain = self.ids[number]
        sender = self.account(sender, brain)
        self.sent(self.model.set_signer(sender, brain, signer), sender, "setSigner", brain, signer)

    @rule(sender=senders, number=numbers, to=anyone)
    def offer(self, sender: str, number: int, to: str) -> None:
        brain = self.ids[number]
        sender = self.account(sender, brain)
        self.sent(self.model.offer(sender, brain, to), sender, "offerOwnership", brain, to)

    @rule(sender=senders, number=numbers)
    def accept(self, sender: str, number: int) -> None:
        brain = self.ids[number]
        sender = self.account(sender, brain)
        self.sent(self.model.accept(sender, brain), sender, "acceptOwnership", brain)

    @rule(sender=people, root=snapshots, size=st.integers(0, 2**64 - 1))
    def anchor(self, sender: str, root: bytes, size: int) -> None:
        self.sent(self.model.anchor(sender, root), sender, "anchor", root, size)

    @invariant()
    def everything_is_as_the_model_has_it(self) -> None:
        wanted: list[tuple[str, object]] = []
        for brain in self.ids:
            wanted += [("brain", brain), ("pendingOwner", brain)]
        wanted += [("anchorOf", person) for person in PEOPLE]
        found = self.asked(wanted)
        for place, brain in enumerate(self.ids):
            assert Kept(*found[2 * place], *found[2 * place + 1]) == self.model.kept(brain)
        for person, (root,) in zip(PEOPLE, found[2 * len(self.ids) :], strict=True):
            assert root == self.model.anchors.get(person, ZERO)

    def asked(self, wanted: list[tuple[str, object]]) -> list[tuple[Any, ...]]:
        calls = [
            {"to": self.registry.address, "data": "0x" + encoded(name, value).hex()}
            for name, value in wanted
        ]
        answers = self.registry.node.calls(("eth_call", [call, "latest"]) for call in calls)
        return [
            eth_abi.abi.decode(types(function(name), "outputs"), bytes.fromhex(answer[2:]))
            for (name, _), answer in zip(wanted, answers, strict=True)
        ]
