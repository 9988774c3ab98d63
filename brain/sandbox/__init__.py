"""The sandbox: runs a program under limits, apart from the host."""
