"""Commands of `brain chain` about the rights of a brain in a contract."""
