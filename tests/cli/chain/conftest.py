"""The session of a user of a chain, as in `test_on_chain`."""

from tests.cli.test_on_chain import agent, chain, node, use

__all__ = ["agent", "chain", "node", "use"]
