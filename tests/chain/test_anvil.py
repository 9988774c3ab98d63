"""The node of the tests does what the tests rely on."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import anvil_node
from tests.support.chain.registry_contract import RegistryContract, encode_call, word_of
from tests.support.processes import TIMEOUT_SECONDS

ROOTS = [word_of("root 0"), word_of("root 1")]
LOG = word_of("log")


def alive(process: int) -> bool:
    """Say whether a process runs; one that ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


@pytest.mark.parametrize(
    "end", [anvil_node.Anvil.stop, anvil_node.Anvil.kill], ids=["stop", "kill"]
)
def test_a_node_that_ended_is_gone_and_ends_only_once(end):
    with anvil_node.run_anvil() as node:
        end(node)
        assert node.process.returncode is not None
        with pytest.raises(OSError):
            node.block_number()


def test_a_node_ends_with_the_process_that_started_it():
    anvil_node.find_anvil_or_skip()  # the other process could not skip this test
    code = (
        "from tests.support import anvil_node; n = anvil_node.Anvil();"
        " print(n.process.pid, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as starter:
        assert starter.stdout is not None
        node = int(starter.stdout.readline())
        assert alive(node)
        handle = os.pidfd_open(node)
        starter.send_signal(signal.SIGKILL)
    assert waited(handle)
    assert not alive(node)


def waited(handle: int) -> bool:
    """Wait for a process that is not ours to end."""
    ready, _, _ = select.select([handle], [], [], TIMEOUT_SECONDS)
    os.close(handle)
    return bool(ready)


def test_a_node_started_again_with_its_state_knows_what_it_knew(tmp_path):
    state = "--state", tmp_path / "state.json"
    with anvil_node.run_anvil(*state, port=anvil_node.port_to_reuse()) as node:
        registry = RegistryContract(node)
        registry.send(node.accounts[1], "anchor", LOG, ROOTS[0])
        number, port = node.block_number(), node.port
    with anvil_node.run_anvil(*state, port=port) as again:
        assert (again.port, again.block_number()) == (port, number)
        answer = again.eth_call(registry.address, encode_call("anchorOf", again.accounts[1], LOG))
        assert answer == ROOTS[0]


def test_a_state_can_be_carried_to_another_node(registry):
    account = registry.node.accounts[1]
    registry.send(account, "anchor", LOG, ROOTS[1])
    state = registry.node.dump_state()
    with anvil_node.run_anvil() as other:
        other.load_state(state)
        assert other.eth_call(registry.address, encode_call("anchorOf", account, LOG)) == ROOTS[1]


def test_a_reorg_takes_back_what_was_mined_and_changes_the_hashes(registry):
    node, account = registry.node, registry.node.accounts[2]
    node.mine(2)
    registry.send(account, "anchor", LOG, ROOTS[0])
    before = node.block()
    assert registry.call("anchorOf", account, LOG) == (ROOTS[0],)
    node.reorg(1)
    after = node.block()
    assert registry.call("anchorOf", account, LOG) == (bytes(32),)
    assert after["number"] == before["number"]
    assert after["hash"] != before["hash"]


def test_what_is_not_mined_at_once_waits_until_it_is(registry):
    node, account = registry.node, registry.node.accounts[3]
    node.set_automine(False)
    data = encode_call("anchor", LOG, ROOTS[0])
    gone, stored = (node.send(sender, registry.address, data) for sender in node.accounts[3:5])
    assert node.receipt(stored) is None
    node.drop(gone)
    node.mine()
    node.set_automine(True)
    receipt = node.receipt(stored)
    assert receipt is not None
    assert receipt["status"] == "0x1"
    assert node.receipt(gone) is None
    assert registry.call("anchorOf", account, LOG) == (bytes(32),)


def test_the_next_block_has_the_time_and_the_base_fee_that_were_set(node):
    moment = node.block_time() + 1000
    node.set_next_time(moment)
    node.set_next_base_fee(12_345_678_901)
    node.mine()
    assert node.block_time() == moment
    assert int(node.block()["baseFeePerGas"], 16) == 12_345_678_901


def test_code_can_be_put_anywhere_and_taken_away(registry):
    node, place = registry.node, "0x" + "ab" * 20
    code = bytes.fromhex(node.call("eth_getCode", registry.address, "latest")[2:])
    node.set_code(place, code)
    assert node.eth_call(place, encode_call("anchorOf", node.accounts[0], LOG)) == bytes(32)
    node.set_code(place, b"")
    assert node.eth_call(place, encode_call("anchorOf", node.accounts[0], LOG)) == b""


def test_a_snapshot_brings_back_what_was(registry):
    node, account = registry.node, registry.node.accounts[6]
    name = node.snapshot()
    registry.send(account, "anchor", LOG, ROOTS[0])
    node.revert(name)
    assert registry.call("anchorOf", account, LOG) == (bytes(32),)


def test_a_node_that_cannot_start_says_why():
    with pytest.raises(AssertionError, match="--no-such-option"):
        anvil_node.Anvil("--no-such-option")
