"""The ledger on an EVM chain: the contract BrainRegistry, called through JSON-RPC.

Importing this package imports neither web3 nor eth_account: `rpc.py` and `account.py`
import them when first used.
"""

from .account import Account
from .evm_config import EvmLedgerConfig
from .evm_ledger import EvmLedger
from .fees import Quote

__all__ = ["Account", "EvmLedger", "EvmLedgerConfig", "Quote"]
