"""Signing elsewhere: transactions as files, and signers that are other programs."""
