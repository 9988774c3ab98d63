"""A Hypothesis state machine: accounts act on a real BrainRegistry beside its model.

After every step all brains and anchors are as the model has them, so nothing moves a head
but the owner or the signer, from the head it had, by one number.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import eth_abi.abi
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.anvil_node import Anvil
from tests.support.chain.eip712_signatures import (
    SignedCommit,
    commit_message,
    compact_signature,
    flip_s,
    permit_message,
    sign_message,
)
from tests.support.chain.registry_contract import (
    ENOUGH_GAS,
    ZERO_ADDRESS,
    ZERO_WORD,
    RegistryContract,
    Reverted,
    abi_types,
    encode_call,
    function_abi,
    wallet_key,
    word_of,
)
from tests.support.chain.registry_model import Refusal, RegistryModel

ACTOR_KEYS = [wallet_key(f"actor {n}") for n in range(4)]
ACTOR_ADDRESSES = [key.address.lower() for key in ACTOR_KEYS]
BRAIN_SALTS = [word_of(f"salt {n}") for n in range(2)]
SNAPSHOT_IDS = [ZERO_WORD, *(word_of(f"snapshot {n}") for n in range(4))]
LOG_IDS = [word_of(f"log {n}") for n in range(2)]
FAR_DEADLINE = 2**40
LONG_AGO = 1
SIGNATURE_MANGLERS = {
    "": lambda by: by,
    "twin": flip_s,
    "compact": compact_signature,
    "low v": lambda by: by[:64] + bytes([by[64] - 27]),
    "other v": lambda by: by[:64] + bytes([55 - by[64]]),
    "bit": lambda by: bytes([by[0] ^ 128]) + by[1:],
    "empty": lambda by: b"",
    "zero": lambda by: bytes(65),
}

brain_numbers = st.integers(0, 3)
actors = st.sampled_from(ACTOR_ADDRESSES)
recipients = st.sampled_from([*ACTOR_ADDRESSES, ZERO_ADDRESS])
senders = st.sampled_from([*["owner"] * 4, *["signer", "pending"] * 2, *ACTOR_ADDRESSES])
"""An account, or one by what it is to the brain."""
snapshot_ids = st.sampled_from([*SNAPSHOT_IDS, *SNAPSHOT_IDS[1:] * 2])
parent_ids = st.sampled_from([*[None] * 12, *SNAPSHOT_IDS])
"""None is the head."""


class RegistryMachine(RuleBasedStateMachine):
    """Every example begins with an empty registry on the node that `use` was given."""

    registry: RegistryContract
    ids: list[bytes]
    start_snapshot: str
    outcome_counts: Counter[str]
    """How often each function was called, by how it ended."""

    @classmethod
    def use_node(cls, node: Anvil) -> None:
        cls.registry = RegistryContract(node)
        cls.ids = [
            cls.registry.call("idOf", who, salt)[0]
            for who in ACTOR_ADDRESSES[:2]
            for salt in BRAIN_SALTS
        ]
        for person in ACTOR_ADDRESSES:
            node.set_balance(person)
            node.call("anvil_impersonateAccount", person)
        cls.start_snapshot = node.snapshot()
        cls.outcome_counts = Counter()

    @initialize()
    def begin(self) -> None:
        node = self.registry.node
        node.revert(self.start_snapshot)
        type(self).start_snapshot = node.snapshot()
        self.model = RegistryModel()
        self.used: list[tuple[str | None, SignedCommit, bytes]] = []
        self.used_signers: list[tuple[str | None, int, int, tuple[Any, ...]]] = []
        for owner, salt in ((0, 0), (0, 1), (1, 0)):
            self.open(owner, salt, SNAPSHOT_IDS[1])

    def send_as_model_says(self, refusal: Refusal, sender: str, name: str, *values: object) -> None:
        """Send a call, which is refused as the model says."""
        try:
            self.registry.call(name, *values, sender=sender)
        except Reverted as error:
            assert error.error == refusal
        else:
            assert refusal is None
        self.outcome_counts[f"{name} {refusal[0] if refusal else 'done'}"] += 1
        data = encode_call(name, *values)
        receipt = self.registry.node.transact(sender, self.registry.address, data, gas=ENOUGH_GAS)
        assert receipt["status"] == ("0x1" if refusal is None else "0x0")

    def resolve_account(self, sender: str, brain: bytes) -> str:
        """Return who is meant; somebody, if there is no such person."""
        named = self.model.state_of(brain)._asdict().get(sender, sender)
        return ACTOR_ADDRESSES[0] if named == ZERO_ADDRESS else named

    @rule(owner=st.integers(0, 1), salt=st.integers(0, 1), snapshot=snapshot_ids)
    def open(self, owner: int, salt: int, snapshot: bytes) -> None:
        sender = ACTOR_ADDRESSES[owner]
        refusal = self.model.open(sender, self.ids[2 * owner + salt], snapshot)
        self.send_as_model_says(refusal, sender, "open", BRAIN_SALTS[salt], snapshot)

    @rule(sender=senders, number=brain_numbers, snapshot=snapshot_ids, parent=parent_ids)
    def commit(self, sender: str, number: int, snapshot: bytes, parent: bytes | None) -> None:
        brain = self.ids[number]
        sender = self.resolve_account(sender, brain)
        parent = self.model.state_of(brain).head if parent is None else parent
        refusal = self.model.commit(sender, brain, snapshot, parent)
        self.send_as_model_says(refusal, sender, "commit", brain, snapshot, parent)

    @rule(
        sender=actors,
        by=senders,
        number=brain_numbers,
        snapshot=snapshot_ids,
        parent=parent_ids,
        ahead=st.sampled_from([*[1] * 8, 0, 2]),
        epoch=st.sampled_from([*[0] * 8, 1]),
        late=st.sampled_from([*[False] * 8, True]),
        mangled=st.sampled_from([*[""] * 12, *SIGNATURE_MANGLERS]),
    )
    def commit_for(
        self,
        sender: str,
        by: str,
        number: int,
        snapshot: bytes,
        parent: bytes | None,
        ahead: int,
        epoch: int,
        late: bool,
        mangled: str,
    ) -> None:
        brain = self.ids[number]
        stored = self.model.state_of(brain)
        parent = stored.head if parent is None else parent
        commit = SignedCommit(
            brain=brain,
            snapshot=snapshot,
            parent=parent,
            seq=stored.seq + ahead,
            epoch=stored.epoch + epoch,
            deadline=LONG_AGO if late else FAR_DEADLINE,
        )
        author = self.resolve_account(by, brain)
        key = ACTOR_KEYS[ACTOR_ADDRESSES.index(author)]
        made = SIGNATURE_MANGLERS[mangled](sign_message(key, commit_message(self.registry, commit)))
        self.used.append((None if mangled else author, commit, made))
        self.send_relayed(sender, *self.used[-1])

    @rule(sender=actors, data=st.data())
    def replay(self, sender: str, data: Any) -> None:
        if self.used:
            self.send_relayed(sender, *data.draw(st.sampled_from(self.used)))

    def send_relayed(
        self, sender: str, author: str | None, commit: SignedCommit, by: bytes
    ) -> None:
        if commit.deadline != FAR_DEADLINE:
            refusal: Refusal = ("Expired",)
        else:
            stored = self.model.state_of(commit.brain)
            good = (commit.seq, commit.epoch) == (stored.seq + 1, stored.epoch)
            author = author if good else None
            refusal = self.model.commit_for(author, commit.brain, commit.snapshot, commit.parent)
        self.send_as_model_says(refusal, sender, "commitFor", *commit.call_arguments(by))

    @rule(sender=senders, number=brain_numbers, signer=recipients)
    def set_signer(self, sender: str, number: int, signer: str) -> None:
        brain = self.ids[number]
        sender = self.resolve_account(sender, brain)
        self.send_as_model_says(
            self.model.set_signer(sender, brain, signer), sender, "setSigner", brain, signer
        )

    @rule(
        sender=actors,
        by=senders,
        number=brain_numbers,
        signer=recipients,
        epoch=st.sampled_from([*[0] * 8, 1]),
        mangled=st.sampled_from([*[""] * 8, *SIGNATURE_MANGLERS]),
    )
    def set_signer_for(
        self, sender: str, by: str, number: int, signer: str, epoch: int, mangled: str
    ) -> None:
        brain = self.ids[number]
        author = self.resolve_account(by, brain)
        epoch += self.model.state_of(brain).epoch
        text = permit_message(self.registry, "SetSigner", brain, signer, epoch, FAR_DEADLINE)
        made = SIGNATURE_MANGLERS[mangled](
            sign_message(ACTOR_KEYS[ACTOR_ADDRESSES.index(author)], text)
        )
        values = (brain, signer, FAR_DEADLINE, made)
        self.used_signers.append((None if mangled else author, number, epoch, values))
        self.send_signer_permit(sender, *self.used_signers[-1])

    @rule(sender=actors, data=st.data())
    def replay_signer(self, sender: str, data: Any) -> None:
        if self.used_signers:
            self.send_signer_permit(sender, *data.draw(st.sampled_from(self.used_signers)))

    def send_signer_permit(
        self, sender: str, author: str | None, number: int, epoch: int, values: tuple[Any, ...]
    ) -> None:
        brain = self.ids[number]
        good = epoch == self.model.state_of(brain).epoch
        refusal = self.model.set_signer(author if good else None, brain, values[1])
        self.send_as_model_says(refusal, sender, "setSignerFor", *values)

    @rule(
        sender=actors,
        owner=st.integers(0, 1),
        salt=st.integers(0, 1),
        snapshot=snapshot_ids,
        mangled=st.sampled_from([*[""] * 8, *SIGNATURE_MANGLERS]),
    )
    def open_for(self, sender: str, owner: int, salt: int, snapshot: bytes, mangled: str) -> None:
        fields = (ACTOR_ADDRESSES[owner], BRAIN_SALTS[salt], snapshot, FAR_DEADLINE)
        text = permit_message(self.registry, "Open", *fields)
        made = SIGNATURE_MANGLERS[mangled](sign_message(ACTOR_KEYS[owner], text))
        author = None if mangled else ACTOR_ADDRESSES[owner]
        refusal = self.model.open(author, self.ids[2 * owner + salt], snapshot)
        self.send_as_model_says(refusal, sender, "openFor", *fields, made)

    @rule(
        sender=senders,
        number=brain_numbers,
        snapshot=snapshot_ids,
        head=parent_ids,
        since=st.integers(0, 5),
    )
    def supersede(
        self, sender: str, number: int, snapshot: bytes, head: bytes | None, since: int
    ) -> None:
        brain = self.ids[number]
        sender = self.resolve_account(sender, brain)
        head = self.model.state_of(brain).head if head is None else head
        refusal = self.model.supersede(sender, brain, snapshot, head, since)
        self.send_as_model_says(refusal, sender, "supersede", brain, snapshot, head, since)

    @rule(
        sender=senders,
        number=brain_numbers,
        to=recipients,
        seconds=st.sampled_from([-1, *[10**6] * 4]),
    )
    def offer(self, sender: str, number: int, to: str, seconds: int) -> None:
        brain = self.ids[number]
        sender = self.resolve_account(sender, brain)
        now = self.registry.node.block_time()
        ends = now + seconds
        refusal = self.model.offer(sender, brain, to, ends, now)
        self.send_as_model_says(refusal, sender, "offerOwnership", brain, to, ends)

    @rule()
    def wait(self) -> None:
        """Let all offers end."""
        node = self.registry.node
        node.set_next_time(node.block_time() + 10**7)
        node.mine()

    @rule(sender=senders, number=brain_numbers)
    def accept(self, sender: str, number: int) -> None:
        brain = self.ids[number]
        sender = self.resolve_account(sender, brain)
        refusal = self.model.accept(sender, brain, self.registry.node.block_time())
        self.send_as_model_says(refusal, sender, "acceptOwnership", brain)

    @rule(sender=actors, log=st.sampled_from(LOG_IDS), checkpoint=snapshot_ids)
    def anchor(self, sender: str, log: bytes, checkpoint: bytes) -> None:
        refusal = self.model.anchor(sender, log, checkpoint)
        self.send_as_model_says(refusal, sender, "anchor", log, checkpoint)

    @invariant()
    def everything_is_as_the_model_has_it(self) -> None:
        wanted: list[tuple[object, ...]] = []
        expected: list[tuple[object, ...]] = []
        for brain in self.ids:
            state = self.model.state_of(brain)
            wanted += [("brain", brain), ("offerOf", brain), ("disownedBy", brain, state.seq)]
            disowned = self.model.disowned.get((brain, state.seq), 0)
            expected += [tuple(state[:6]), tuple(state[6:]), (disowned,)]
        for person in ACTOR_ADDRESSES:
            for log in LOG_IDS:
                wanted.append(("anchorOf", person, log))
                expected.append((self.model.anchors.get((person, log), ZERO_WORD),))
        assert self.batch_ask(wanted) == expected

    def batch_ask(self, wanted: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        calls = [
            {"to": self.registry.address, "data": "0x" + encode_call(name, *values).hex()}
            for name, *values in wanted
        ]
        answers = self.registry.node.batch_call(("eth_call", [call, "latest"]) for call in calls)
        return [
            eth_abi.abi.decode(abi_types(function_abi(name), "outputs"), bytes.fromhex(answer[2:]))
            for (name, *_), answer in zip(wanted, answers, strict=True)
        ]
