"""Nodes that lie, lag, babble or stall, alone and among others."""

import gzip
import itertools
import json
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from brain.chain.evm import EvmLedger
from brain.chain.evm.nodes import NodeQuorum
from brain.chain.evm.rpc import url_host
from brain.chain.ledger_protocol import LedgerHead
from brain.errors import InvalidInput, LedgerError
from brain.limits import MAX_RPC_BYTES
from tests.support.cases import read_cases
from tests.support.chain.evm_ledgers import (
    funded_account,
    ledger_config,
    open_patient_ledger,
    poll_until,
)
from tests.support.chain.lying_node import LyingNode, run_lying_node
from tests.support.chain.registry_contract import RegistryContract, word_of
from tests.support.error_codes import error_code
from tests.support.refusals import raises_code

CASES = read_cases(__file__)

BRAIN = word_of("a brain among liars")
S = [word_of(f"snapshot {n}") for n in range(4)]
NO_HEAD = LedgerHead(0, b"", "", "")
QUICK = 0.4
"""Seconds an answer may take in these tests."""


@pytest.fixture
def liar(node):
    with run_lying_node(node.url) as liar:
        yield liar


@pytest.fixture
def liars(node):
    with ExitStack() as stack:
        yield [stack.enter_context(run_lying_node(node.url)) for _ in range(3)]


@pytest.fixture
def opened(registry, liar, tmp_path, request):
    """A ledger behind one liar, in which `BRAIN` was opened while it was honest."""
    node = registry.node
    key = funded_account(node, request.node.nodeid)
    made = open_patient_ledger(ledger_config(node, registry.address, rpc=liar.url), tmp_path, key)
    made.open(BRAIN, S[0])
    return made


JUNK: dict[str, bytes] = {
    "nothing": b"",
    "HTML": b"<html><body>502</body></html>",
    "bytes that are no text": b"\xff\xfe\x00",
    "a text": b'"0x1"',
    "null": b"null",
    "a number": b"5",
    "a number of many digits": b"9" * 10_000,
    "an empty array": b"[]",
    "an empty object": b"{}",
    "no result and no error": b'{"jsonrpc":"2.0","id":0}',
    "a result and an error": b'{"jsonrpc":"2.0","id":0,"result":1,"error":{"code":1,"message":""}}',
    "the wrong id": b'{"jsonrpc":"2.0","id":77,"result":"0x7a69"}',
    "an id in words": b'{"jsonrpc":"2.0","id":"0","result":"0x7a69"}',
    "an id that is a truth value": b'{"jsonrpc":"2.0","id":false,"result":"0x7a69"}',
    "an error that is a text": b'{"jsonrpc":"2.0","id":0,"error":"no"}',
    "an error with status 200": b'{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"x"}}',
    "an error without a code": b'{"jsonrpc":"2.0","id":0,"error":{"message":"no"}}',
    "deep JSON": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
}


@pytest.mark.parametrize("what", JUNK)
def test_chain_11_an_answer_is_refused_that_is(what, node, liar):
    liar.answer_everything_with(JUNK[what])
    assert error_code(NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag) == "bad_rpc"


@pytest.mark.parametrize(
    "answer",
    ["0x", None, "-0x1", "0x-1", -1, 1, 1.5, "1", "0x01", "0xg", True, [], {}, "0x" + "1" * 65],
)
def test_chain_11_a_number_is_refused_that_is(answer, node, liar):
    liar.answer_with("eth_chainId", answer)
    assert error_code(NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag) == "bad_rpc"


BLOCKS: dict[str, dict[str, Any]] = {
    "a number of 2^64": {"number": hex(2**64)},
    "a negative number": {"number": "-0x1"},
    "no number": {"number": None},
    "a time of zero": {"timestamp": "0x0"},
    "a time of 2^64": {"timestamp": hex(2**64)},
    "no time": {"timestamp": None},
    "a short hash": {"hash": "0x1234"},
    "no hash": {"hash": None},
    "a base fee below zero": {"baseFeePerGas": "-0x1"},
}


@pytest.mark.parametrize("what", BLOCKS)
def test_chain_16_a_block_is_refused_with(what, node, liar):
    node.mine()
    first = node.block(0)
    liar.alter(
        "eth_getBlockByNumber",
        lambda answer, params: answer if answer["hash"] == first["hash"] else answer | BLOCKS[what],
    )
    assert error_code(NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag) == "bad_rpc"


@pytest.mark.parametrize("block", [None, [], "0x0"], ids=repr)
def test_chain_11_a_block_is_refused_that_is(block, node, liar):
    liar.answer_with("eth_getBlockByNumber", block)
    assert error_code(NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag) == "bad_rpc"


def test_chain_11_an_answer_without_end_is_cut_off(node, liar):
    liar.endless = True
    assert (
        error_code(NodeQuorum(ledger_config(node, rpc=liar.url), timeout=20).view_at_tag)
        == "bad_rpc"
    )


def test_chain_11_an_answer_that_is_too_large_is_refused(node, liar):
    liar.answer_everything_with(b'"' + b"x" * MAX_RPC_BYTES + b'"')
    assert error_code(NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag) == "bad_rpc"


def test_chain_11_a_compressed_answer_is_refused(node, liar):
    liar.answer_everything_with(gzip.compress(b" " * 10**6), Content_Encoding="gzip")
    assert error_code(NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag) == "bad_rpc"


def test_a_redirect_is_not_followed(node, liar):
    liar.answer_everything_with(b"", 307, Location=node.url)
    assert error_code(NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag) == "bad_rpc"
    assert node.url not in liar.asked


def test_nodes_are_spoken_to_directly_whatever_the_environment_says(node, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert NodeQuorum(ledger_config(node)).view_at_tag() is not None


def test_a_node_that_drips_is_given_up_on(node, liar):
    liar.drip = threading.Event()
    assert (
        error_code(NodeQuorum(ledger_config(node, rpc=liar.url), QUICK).view_at_tag)
        == "unreachable"
    )


@pytest.mark.parametrize(
    ("status", "code", "words", "attempts"),
    CASES["test_a_status_is_named_and_asked_again_if_that_may_help"],
)
def test_a_status_is_named_and_asked_again_if_that_may_help(
    status, code, words, attempts, node, liar
):
    liar.answer_everything_with(b"<html>", status)
    with raises_code(code, LedgerError, match=words):
        NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag()
    assert liar.asked["eth_chainId"] == attempts


def test_an_error_in_json_counts_more_than_a_status_of_400(node, liar):
    refusal = {"jsonrpc": "2.0", "id": 0, "error": {"code": -32602, "message": "block range"}}
    liar.answer_everything_with(json.dumps(refusal).encode(), 400)
    with pytest.raises(LedgerError, match="block range"):
        NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag()


def test_a_node_that_limits_the_rate_is_asked_again_after_the_pause_it_names(
    node, liar, monkeypatch
):
    monkeypatch.setattr("brain.chain.evm.nodes.RETRY_PAUSE_SECONDS", 1000.0)
    liar.limit_rate(2, Retry_After="0")
    assert NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag() is not None


@pytest.mark.parametrize("pause", ["16", "999999999", "Fri, 31 Dec 2060 23:59:59 GMT"])
def test_a_pause_beyond_the_time_of_an_answer_is_named_and_not_waited_for(pause, node, liar):
    liar.answer_everything_with(b"", 429, Retry_After=pause)
    with pytest.raises(LedgerError, match="asks to wait"):
        NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag()
    assert liar.asked["eth_chainId"] == 1


@pytest.mark.parametrize("pause", ["-5", "soon", "Fri, 31 Dec 1999 23:59:59 GMT", "0"])
def test_a_pause_that_is_none_is_a_short_one(pause, node, liar):
    liar.answer_everything_with(b"", 429, Retry_After=pause)
    assert error_code(NodeQuorum(ledger_config(node, rpc=liar.url)).view_at_tag) == "rate_limited"
    assert liar.asked["eth_chainId"] == 3


def test_a_node_that_is_not_there_is_told_without_the_key_in_its_address(node):
    with raises_code("unreachable", LedgerError) as raised:
        NodeQuorum(ledger_config(node, rpc="http://127.0.0.1:9/secret")).view_at_tag()
    assert "127.0.0.1:9" in raised.value.message
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    ("method", "answer"), [("eth_chainId", "0x5"), ("eth_getBlockByNumber", None)]
)
def test_chain_02_another_chain_is_refused_before_signing(method, answer, registry, liar, tmp_path):
    node = registry.node
    if answer is None:  # the same id, and another first block
        liar.alter(method, lambda block, params: block | {"hash": "0x" + "12" * 32})
    else:
        liar.answer_with(method, answer)
    made = open_patient_ledger(
        ledger_config(node, registry.address, rpc=liar.url),
        tmp_path,
        funded_account(node, "on another"),
    )
    with raises_code("wrong_chain", InvalidInput):
        made.open(BRAIN, S[0])
    assert liar.asked["eth_sendRawTransaction"] == 0
    assert list(tmp_path.rglob("*.json")) == []


def test_chain_02_the_chain_id_is_in_what_is_signed(opened, node):
    sent = node.call("eth_getTransactionByHash", opened.status(BRAIN, S[0]).transaction)
    assert int(sent["chainId"], 16) == node.chain


@pytest.mark.parametrize(("code", "result"), [("0x", "no_code"), ("0x6001", "wrong_code")])
def test_chain_05_nothing_is_sent_where_the_contract_is_not(code, result, opened, liar):
    liar.answer_with("eth_getCode", code)
    sent = liar.asked["eth_sendRawTransaction"]
    assert error_code(opened.commit, BRAIN, S[1], S[0]) == result
    assert error_code(opened.ownership.set_signer, BRAIN, "0x" + "12" * 20) == result
    assert error_code(opened.head, BRAIN) == result
    assert [fault.code for fault in opened.verify()] == [result]
    assert liar.asked["eth_sendRawTransaction"] == sent


def topic(place: int, value: bytes) -> Any:
    def alter(logs: list[dict[str, Any]], params: list[Any]) -> list[dict[str, Any]]:
        for log in logs:
            log["topics"][place] = "0x" + value.hex()
        return logs

    return alter


@pytest.mark.parametrize(
    "alteration",
    [
        topic(1, S[3]),
        topic(2, S[3]),
        topic(3, S[3]),
        lambda logs, params: [],
        lambda logs, params: logs + logs,
        lambda logs, params: [log | {"data": "0x" + "00" * 31 + "07"} for log in logs],
        lambda logs, params: [log | {"removed": True} for log in logs],
        lambda logs, params: [log | {"address": "0x" + "12" * 20} for log in logs],
        lambda logs, params: [log | {"blockHash": "0x" + "12" * 32} for log in logs],
        lambda logs, params: [log | {"transactionHash": "0x" + "12" * 32} for log in logs],
        lambda logs, params: {},
    ],
    ids=[
        "of another brain", "with another snapshot", "with another parent", "that is empty",
        "that says all twice", "with another number", "that was removed", "of another contract",
        "of another block", "of another transaction", "that is none",
    ],
)  # fmt: skip
def test_chain_04_a_log_is_refused(alteration, opened, liar):
    opened.commit(BRAIN, S[1], S[0])
    liar.alter("eth_getLogs", alteration)
    assert error_code(opened.history, BRAIN) == "bad_rpc"


def test_chain_04_a_receipt_with_another_sender_is_refused(opened, liar):
    opened.commit(BRAIN, S[1], S[0])
    liar.alter(
        "eth_getTransactionReceipt", lambda answer, params: answer | {"from": "0x" + "12" * 20}
    )
    assert error_code(opened.status, BRAIN, S[1]) == "bad_rpc"


def test_chain_10_an_estimate_that_lies_costs_nothing(opened, liar):
    liar.answer_with("eth_estimateGas", hex(10**9))
    sent = liar.asked["eth_sendRawTransaction"]
    assert error_code(opened.commit, BRAIN, S[1], S[0]) == "fee_cap"
    assert liar.asked["eth_sendRawTransaction"] == sent


def open_quorum_ledger(
    liars: list[LyingNode], registry: RegistryContract, folder: Path, **options: Any
) -> EvmLedger:
    node = registry.node
    urls = [liar.url for liar in liars]
    key = funded_account(node, folder.name)
    config = ledger_config(node, registry.address, rpc=urls, quorum=2)
    return open_patient_ledger(config, folder, key, **options)


@pytest.fixture
def quorum(liars, registry, tmp_path):
    """A ledger on three lying nodes, of which two have to agree."""
    return open_quorum_ledger(liars, registry, tmp_path)


def other_hash(block: dict[str, Any], params: list[Any]) -> dict[str, Any]:
    return block if params[0] == "0x0" else block | {"hash": "0x" + "12" * 32}


def test_one_node_of_three_that_tells_other_hashes_is_outvoted(liars, quorum):
    for liar in liars:
        liars[0].stop_lying()
        liar.alter("eth_getBlockByNumber", other_hash)
        assert quorum.head(BRAIN) is None
        liar.stop_lying()


def test_two_nodes_that_do_not_agree_are_no_quorum(liars, registry, tmp_path):
    made = open_quorum_ledger(liars[:2], registry, tmp_path)
    registry.node.mine()
    liars[0].alter("eth_getBlockByNumber", other_hash)
    assert error_code(made.head, BRAIN) == "no_quorum"


def test_nodes_that_differ_for_a_moment_are_asked_again(liars, registry, tmp_path):
    made = open_quorum_ledger(liars[:2], registry, tmp_path)
    told: list[Any] = []

    def differ_once(result: Any, params: list[Any]) -> Any:
        told.append(result)
        return "0x" + "11" * 192 if len(told) == 1 else result

    liars[0].alter("eth_call", differ_once)
    assert made.head(BRAIN) is None
    assert len(told) == 2


def test_a_node_that_lags_is_left_out(liars, registry, quorum):
    quorum.open(BRAIN, S[0])
    old = registry.node.block(registry.node.block_number() - 1)
    liars[1].alter("eth_getBlockByNumber", stale(old))
    quorum.commit(BRAIN, S[1], S[0])
    assert quorum.status(BRAIN, S[1]).seq == 2


def stale(head: dict[str, Any]) -> Any:
    """Tell nothing of blocks after `head`, which is the latest."""

    def alter(block: dict[str, Any], params: list[Any]) -> dict[str, Any] | None:
        if params[0] == "latest":
            return head
        return block if int(block["number"], 16) <= int(head["number"], 16) else None

    return alter


def test_a_node_that_runs_ahead_holds_nobody_up(liars, registry, quorum):
    registry.node.mine()
    liars[0].alter(
        "eth_getBlockByNumber",
        lambda block, params: block | {"number": hex(2**60)} if params[0] == "latest" else block,
    )
    quorum.open(BRAIN, S[0])
    assert quorum.status(BRAIN, S[0]).seq == 1


def test_a_quorum_outvotes_a_node_that_tells_another_state(liars, quorum):
    quorum.open(BRAIN, S[0])
    truth = quorum.head(BRAIN)
    for liar in liars:
        liar.alter("eth_call", lambda answer, params: answer[:130] + "12" * 32 + answer[194:])
        assert quorum.head(BRAIN) == truth
        liar.stop_lying()
    for liar in liars[:2]:
        liar.answer_with("eth_call", "0x" + liar.url.encode().hex())
    assert error_code(quorum.head, BRAIN) == "no_quorum"


def test_a_quorum_outvotes_a_node_that_tells_another_log(liars, quorum):
    quorum.open(BRAIN, S[0])
    truth = quorum.history(BRAIN)
    liars[0].answer_with("eth_getLogs", [])
    assert quorum.history(BRAIN) == truth


def test_a_node_that_is_down_is_done_without(liars, quorum):
    liars[2].answer_everything_with(b"<html>", 500)
    quorum.open(BRAIN, S[0])
    liars[1].answer_everything_with(b"<html>", 500)
    assert error_code(quorum.head, BRAIN) == "no_quorum"


def test_a_transaction_is_handed_to_all_nodes(liars, registry, tmp_path):
    open_quorum_ledger(liars, registry, tmp_path).open(BRAIN, S[0])
    assert all(liar.asked["eth_sendRawTransaction"] >= 1 for liar in liars)


@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_node_that_takes_few_calls_at_once_is_asked_one_by_one(most, opened, liar):
    for old, new in itertools.pairwise(S):
        opened.commit(BRAIN, new, old)
    truth = opened.history(BRAIN)
    liar.limit_batch(most)
    assert opened.history(BRAIN) == truth
    assert len(truth) == 4


def cap_log_ranges(liar: LyingNode, widest: int) -> None:
    """Refuse queries of events over more blocks than that."""

    def limited(logs: Any, params: list[Any]) -> Any:
        first, last = (int(params[0][name], 16) for name in ("fromBlock", "toBlock"))
        return logs if last - first < widest else None

    liar.alter("eth_getLogs", limited)


@pytest.mark.parametrize("widest", [1, 10, 100])
def test_history_and_status_are_read_in_ranges_on_nodes_that_cap_them(
    widest, registry, liar, tmp_path, monkeypatch
):
    node = registry.node
    key = funded_account(node, f"in ranges of {widest}")
    config = ledger_config(node, registry.address, rpc=liar.url)
    made = open_patient_ledger(config, tmp_path / "one", key)
    cap_log_ranges(liar, widest)
    made.open(BRAIN, S[0])
    for old, new in itertools.pairwise(S):
        node.mine(20)
        made.commit(BRAIN, new, old)
    another_machine = open_patient_ledger(config, tmp_path / "two", key)
    for ledger in (made, another_machine):
        liar.asked.clear()
        assert [one.snapshot for one in ledger.history(BRAIN)] == S
        assert ledger.status(BRAIN, S[1]).seq == 2
        assert error_code(ledger.status, BRAIN, word_of("never committed")) == "not_committed"
        assert liar.asked["eth_getLogs"] < 3 * 20 * len(S) / widest + 50
    monkeypatch.setattr("brain.chain.evm.registry.MAX_SCAN_QUERIES", 1)
    if widest == 1:
        with raises_code("bad_rpc", LedgerError, match="events of 1 blocks at a time"):
            another_machine.history(BRAIN)


def test_a_log_is_anchored_and_read_on_a_node_that_gives_few_blocks_of_events(
    registry, liar, tmp_path
):
    node = registry.node
    key = funded_account(node, "anchors in ranges")
    config = ledger_config(
        node, registry.address, rpc=liar.url, finality=5, since=node.block_number()
    )
    made = open_patient_ledger(config, tmp_path, key)
    cap_log_ranges(liar, 1)
    log = word_of("a log")
    for checkpoint in S[:2]:
        made.anchors.anchor(log, checkpoint)
        node.mine(50)
    assert [one.checkpoint for one in made.anchors.history(key.address, log)] == S[:2]


def test_what_was_disowned_takes_no_search_of_the_log(registry, liar, tmp_path):
    node = registry.node
    key = funded_account(node, "disowned in ranges")
    config = ledger_config(node, registry.address, rpc=liar.url)
    made = open_patient_ledger(config, tmp_path, key)
    cap_log_ranges(liar, 1)
    made.open(BRAIN, S[0])
    made.commit(BRAIN, S[1], S[0])
    made.supersede(BRAIN, S[2], S[1], 2)
    node.mine(100)
    assert [one.disowned_by for one in made.history(BRAIN)] == [0, 3, 0]


def test_a_transaction_that_all_nodes_refuse_is_given_up_and_the_next_takes_its_nonce(opened, liar):
    liar.refuse("eth_sendRawTransaction", "insufficient funds for gas")
    assert error_code(opened.commit, BRAIN, S[1], S[0]) == "refused"
    assert error_code(opened.status, BRAIN, S[1]) == "not_committed"
    liar.stop_lying()
    assert opened.commit(BRAIN, S[2], S[0]).seq == 2
    assert [one.snapshot for one in opened.history(BRAIN)] == [S[0], S[2]]


@pytest.mark.parametrize("words", ["already known", "nonce too low: next nonce 7", "whatever"])
def test_what_a_node_says_of_a_transaction_counts_less_than_what_became_of_it(words, opened, liar):
    liar.do_and_refuse("eth_sendRawTransaction", words)
    if words == "whatever":
        assert error_code(opened.commit, BRAIN, S[1], S[0]) == "refused"
        poll_until(lambda: (opened.head(BRAIN) or NO_HEAD).seq == 2)
    made = opened.commit(BRAIN, S[1], S[0])
    assert (made.seq, made.snapshot) == (2, S[1])
    assert [one.snapshot for one in opened.history(BRAIN)] == S[:2]


def test_a_transaction_that_one_node_of_three_takes_is_sent(liars, quorum):
    for liar in liars[:2]:
        liar.refuse("eth_sendRawTransaction", "txpool is full")
    assert quorum.open(BRAIN, S[0]).seq == 1


def test_a_node_that_hangs_is_left_out_at_once_and_named(liars, registry, tmp_path):
    warnings: list[str] = []
    made = open_quorum_ledger(liars, registry, tmp_path, warn=warnings.append)
    liars[0].hang()
    made.open(BRAIN, S[0])
    made.commit(BRAIN, S[1], S[0])
    assert [one.seq for one in made.history(BRAIN)] == [1, 2]
    assert liars[0].ignored <= 3  # the first question, and two transactions for all nodes
    (warning,) = warnings
    assert warning.startswith(f"{url_host(liars[0].url)} is left out: ")


def test_a_node_that_limits_the_rate_is_left_out_at_once_and_named(liars, registry, tmp_path):
    warnings: list[str] = []
    made = open_quorum_ledger(liars, registry, tmp_path, warn=warnings.append)
    liars[0].answer_everything_with(b"", 429, Retry_After="1")
    made.open(BRAIN, S[0])
    assert liars[0].asked["eth_chainId"] <= 2  # the first question, and the transaction for all
    (warning,) = warnings
    assert warning.startswith(f"{url_host(liars[0].url)} is left out: ")
    assert "limits the rate of requests (HTTP 429 Too Many Requests)" in warning


def test_nodes_that_limit_the_rate_for_a_moment_are_waited_for_if_the_others_are_too_few(
    liars, quorum
):
    for liar in liars[:2]:
        liar.limit_rate(2, Retry_After="0")
    assert quorum.open(BRAIN, S[0]).seq == 1


def test_a_node_that_lags_behind_what_it_has_included_holds_nobody_up_for_ever(opened, liar, node):
    before = (opened.status(BRAIN, S[0]).block or 0) - 1
    liar.alter("eth_getBlockByNumber", stale(node.block(before)))
    assert error_code(opened.commit, BRAIN, S[1], S[0]) == "pending"
    liar.stop_lying()
    assert opened.commit(BRAIN, S[1], S[0]).seq == 2


def test_nodes_that_fail_are_all_named_if_the_others_are_too_few(liars, quorum):
    for liar in liars[1:]:
        liar.answer_everything_with(b"<html>", 404)
    with raises_code("no_quorum", LedgerError) as raised:
        quorum.head(BRAIN)
    assert all(url_host(liar.url) in raised.value.message for liar in liars[1:])


def test_a_node_of_another_chain_among_others_is_left_out_and_named(liars, registry, tmp_path):
    warnings: list[str] = []
    made = open_quorum_ledger(liars, registry, tmp_path, warn=warnings.append)
    liars[1].answer_with("eth_chainId", "0x5")
    made.open(BRAIN, S[0])
    assert [url_host(liars[1].url) in warning for warning in warnings] == [True]


def test_a_node_that_failed_is_asked_again_if_others_disagree_and_the_liar_is_named(
    liars, registry, tmp_path
):
    warnings: list[str] = []
    made = open_quorum_ledger(liars, registry, tmp_path, warn=warnings.append)
    liars[2].answer_everything_with(b"<html>", 404)
    made.open(BRAIN, S[0])
    liars[2].stop_lying()
    liars[0].answer_with("eth_getLogs", [])
    assert [one.seq for one in made.history(BRAIN)] == [1]
    named = [url_host(liar.url) for liar in (liars[2], liars[0])]
    assert [warning.split()[0] for warning in warnings] == named


@pytest.mark.parametrize("lie", [0, 10**9, 90 * 10**9, 10**30])
def test_chain_10_one_node_of_three_does_not_set_the_tip(lie, liars, quorum):
    honest = quorum.quote_open(BRAIN, S[0])
    liars[1].answer_with("eth_maxPriorityFeePerGas", hex(lie))
    assert quorum.quote_open(BRAIN, S[0]).tip == honest.tip


@pytest.mark.parametrize("lie", [1, 21_000, 2_000_000, 10**9])
def test_chain_10_one_node_of_three_does_not_set_the_gas(lie, liars, quorum):
    honest = quorum.quote_open(BRAIN, S[0])
    liars[1].answer_with("eth_estimateGas", hex(lie))
    assert quorum.quote_open(BRAIN, S[0]).gas == honest.gas
    assert quorum.open(BRAIN, S[0]).seq == 1


def test_one_node_of_three_that_refuses_every_call_prevents_none(liars, quorum):
    liars[0].refuse("eth_estimateGas", "execution reverted")
    assert quorum.open(BRAIN, S[0]).seq == 1
