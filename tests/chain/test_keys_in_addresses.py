"""What a node says of the address it is asked at: providers put keys into addresses."""

import pytest

from brain.chain.evm.rpc import RpcNode
from brain.errors import LedgerError
from tests.support.chain.lying_node import run_lying_node

KEY = "9aa3d95b3bc440fa88ea12eaa4456161"


@pytest.mark.parametrize(
    "words",
    [
        "no project at {url}",
        "POST /v3/{key}: over its limit",
        "{key} is unknown, and so is \u202e{key}",
        "x" * 190 + "{key}",
    ],
)
def test_an_error_never_repeats_the_key_that_a_node_echoes(words):
    with run_lying_node("http://127.0.0.1:1") as liar:
        url = f"{liar.url}/v3/{KEY}"
        liar.refuse("eth_chainId", words.format(url=url, key=KEY))
        with pytest.raises(LedgerError) as caught:
            RpcNode(url).call("eth_chainId")
    assert KEY[:8] not in f"{caught.value.message} {caught.value.hint}"
    assert "refuses eth_chainId" in caught.value.message
    assert caught.value.message.isprintable()


def test_an_error_of_a_node_that_is_not_there_names_its_host_alone():
    with pytest.raises(LedgerError) as caught:
        RpcNode(f"http://127.0.0.1:1/v3/{KEY}").call("eth_chainId")
    assert KEY not in f"{caught.value.message} {caught.value.hint}"
