"""The Python API: `Brain` and its parts."""
