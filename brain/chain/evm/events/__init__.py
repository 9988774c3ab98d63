"""The events of the contract, found in the log of the chain and in receipts."""
