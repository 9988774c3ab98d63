"""The command line of `brain`."""
