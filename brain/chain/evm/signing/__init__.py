"""Signing elsewhere: transactions and permits as files, and signers that are other programs."""
