"""A real Ethereum node for the tests: anvil, started on a free port and always stopped.

    with anvil.running() as node:
        address = node.deploy(contracts.creation())
        node.reorg(3)

A node that is asked for and not installed skips the test; in CI that is a failure.
"""

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self

import pytest

from tests.support.processes import TIMEOUT_SECONDS

NODE_MODULES = Path(sys.prefix) / "node" / "node_modules"
"""Where `make test` installs the programs of npm, beside this Python."""


class RpcError(Exception):
    """The node answered a call with an error: `code`, its words, and `data`, 0x… or ""."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message", ""))
        self.code = error.get("code")
        data = error.get("data")
        self.data: str = data if isinstance(data, str) else ""


def find_anvil_or_skip() -> Path:
    """Return the path of anvil, or skip the test."""
    found = [*NODE_MODULES.glob("@foundry-rs/anvil-*/bin/anvil")]
    if not found:
        pytest.skip("anvil is not installed; `make test` installs it")
    return found[0]


def port_to_reuse() -> int:
    """Return a free port that no process gets by chance while the node there is stopped."""
    # Linux gives out ports from 32,768 on, macOS from 49,152.
    for port in range(32_000 - os.getpid() % 10_000, 1024, -1):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                taken.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


class Anvil:
    """A node at `url`, with ten unlocked accounts of 10,000 ether that `accounts` names.

    `options` are those of the anvil command. A block is mined for each transaction as
    it comes, until `automine(False)`.
    """

    def __init__(self, *options: object, port: int = 0) -> None:
        words = [str(find_anvil_or_skip()), "--port", str(port), *map(str, options)]
        if setpriv := shutil.which("setpriv"):  # should this process be killed
            words = [setpriv, "--pdeathsig", "KILL", *words]
        self.output_lines: deque[str] = deque(maxlen=200)
        self._connection: http.client.HTTPConnection | None = None
        self._lock = threading.Lock()
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = self._read_port(self.process.stdout)
        threading.Thread(
            target=self._collect_output, args=[self.process.stdout], daemon=True
        ).start()
        self.url = f"http://127.0.0.1:{self.port}"
        self.accounts: list[str] = self.call("eth_accounts")
        self.chain = int(self.call("eth_chainId"), 16)

    def _read_port(self, lines: IO[str]) -> int:
        for line in lines:
            self.output_lines.append(line)
            if line.startswith("Listening on "):
                return int(line.rpartition(":")[2])
        self.process.wait()
        lines.close()
        raise AssertionError("anvil did not start:\n" + "".join(self.output_lines))

    def _collect_output(self, lines: IO[str]) -> None:
        with lines:
            self.output_lines.extend(lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it as a user would, so that it writes its state where `--state` says."""
        self._stop_process(self.process.terminate)

    def kill(self) -> None:
        """End it at once; what it knew is lost."""
        self._stop_process(self.process.kill)

    def _stop_process(self, ask: Any) -> None:
        if self._connection:
            self._connection.close()
        if self.process.poll() is None:
            ask()
        try:
            self.process.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    # Calls

    def call(self, method: str, *params: object) -> Any:
        """Return the result of a call. Raises `Refused`."""
        return self.batch_call([(method, params)])[0]

    def batch_call(self, wanted: Iterable[tuple[str, Sequence[object]]]) -> list[Any]:
        """Return the results of calls that are made at once, in no order. Raises `Refused`."""
        body = [
            {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
            for place, (method, params) in enumerate(wanted)
        ]
        answers = self._post(json.dumps(body).encode())
        for answer in answers:
            if "error" in answer:
                raise RpcError(answer["error"])
        return [answer["result"] for answer in sorted(answers, key=lambda answer: answer["id"])]

    def _post(self, body: bytes) -> list[dict[str, Any]]:
        with self._lock:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(
                    "127.0.0.1", self.port, timeout=TIMEOUT_SECONDS
                )
            try:
                self._connection.request("POST", "/", body, {"Content-Type": "application/json"})
                answer: list[dict[str, Any]] = json.load(self._connection.getresponse())
            except (OSError, http.client.HTTPException):
                self._connection.close()
                self._connection = None
                raise
        return answer

    def eth_call(self, to: str, data: bytes, sender: str | None = None) -> bytes:
        """Return what a contract answers, changing nothing. Raises `Refused`."""
        call = {"to": to, "data": "0x" + data.hex()} | ({"from": sender} if sender else {})
        return bytes.fromhex(self.call("eth_call", call, "latest")[2:])

    def send(self, sender: str, to: str | None, data: bytes, **fields: object) -> str:
        """Send a transaction of an unlocked account; return its hash. Raises `Refused`."""
        call = {"from": sender, "data": "0x" + data.hex()} | ({"to": to} if to else {})
        return str(self.call("eth_sendTransaction", call | fields))

    def receipt(self, transaction: str) -> dict[str, Any] | None:
        """Return the receipt of a transaction, None while it is in no block."""
        receipt: dict[str, Any] | None = self.call("eth_getTransactionReceipt", transaction)
        return receipt

    def transact(
        self, sender: str, to: str | None, data: bytes, **fields: object
    ) -> dict[str, Any]:
        """Send a transaction and return its receipt, whose `status` is 0x0 if it reverted."""
        call = {"from": sender, "data": "0x" + data.hex()} | ({"to": to} if to else {})
        receipt: dict[str, Any] = self.call("eth_sendTransactionSync", call | fields)
        return receipt

    def deploy(self, creation: bytes, sender: str | None = None) -> str:
        """Return the address of a new contract."""
        receipt = self.transact(sender or self.accounts[0], None, creation)
        assert receipt["status"] == "0x1"
        return str(receipt["contractAddress"])

    # The chain

    def block_number(self) -> int:
        """Return the number of the last block."""
        return int(self.call("eth_blockNumber"), 16)

    def block(self, which: str | int = "latest") -> dict[str, Any]:
        """Return a block by number or tag."""
        name = hex(which) if isinstance(which, int) else which
        block: dict[str, Any] = self.call("eth_getBlockByNumber", name, False)
        return block

    def block_time(self) -> int:
        """Return the time of the last block, in seconds since 1970."""
        return int(self.block()["timestamp"], 16)

    def mine(self, blocks: int = 1) -> None:
        """Mine blocks, with what waits in the first of them."""
        self.call("anvil_mine", hex(blocks))

    def set_automine(self, on: bool) -> None:
        """Say whether each transaction is mined as it comes."""
        self.call("evm_setAutomine", on)

    def reorg(self, depth: int, replay: Sequence[str] = ()) -> None:
        """Replace the last `depth` blocks by others, with the raw transactions of `replay`."""
        self.call("anvil_reorg", depth, [[raw, 0] for raw in replay])

    def set_next_time(self, seconds: int) -> None:
        """Set the time of the next block."""
        self.call("evm_setNextBlockTimestamp", seconds)

    def set_next_base_fee(self, wei: int) -> None:
        """Set the base fee of the next block."""
        self.call("anvil_setNextBlockBaseFeePerGas", hex(wei))

    def set_code(self, address: str, code: bytes) -> None:
        """Put code, or none, at an address."""
        self.call("anvil_setCode", address, "0x" + code.hex())

    def set_balance(self, address: str, wei: int = 10**21) -> None:
        """Give an account so much."""
        self.call("anvil_setBalance", address, hex(wei))

    def drop(self, transaction: str) -> None:
        """Forget a transaction that waits."""
        self.call("anvil_dropTransaction", transaction)

    @contextmanager
    def impersonate(self, address: str) -> Generator[str]:
        """Send for `address`, a contract too, without its key; it gets money for that."""
        self.set_balance(address)
        self.call("anvil_impersonateAccount", address)
        try:
            yield address
        finally:
            self.call("anvil_stopImpersonatingAccount", address)

    def snapshot(self) -> str:
        """Return a name of the present state, for `revert`, which can use it once."""
        return str(self.call("evm_snapshot"))

    def revert(self, name: str) -> None:
        """Go back to a snapshot."""
        assert self.call("evm_revert", name) is True

    def dump_state(self) -> str:
        """Return the whole state, as `load` takes it, also in another node."""
        return str(self.call("anvil_dumpState"))

    def load_state(self, state: str) -> None:
        """Take over the state of a `dump`."""
        assert self.call("anvil_loadState", state) is True


@contextmanager
def run_anvil(*options: object, port: int = 0) -> Generator[Anvil]:
    """Run a node as long as the block runs. For a restart: `--state FILE`, and the same port."""
    with Anvil(*options, port=port) as node:
        yield node
