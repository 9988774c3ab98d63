"""The ledger on an EVM chain: the contract BrainRegistry, spoken to through JSON-RPC.

Importing this package imports neither web3 nor eth_account: `rpc.py` and `account.py`
do, when first used.
"""

from .account import Account
from .config import LedgerConfig
from .fees import Quote
from .ledger import EvmLedger

__all__ = ["Account", "EvmLedger", "LedgerConfig", "Quote"]
