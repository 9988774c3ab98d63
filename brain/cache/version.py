"""The version of how things are derived; the file of a cache holds it."""

VERSION = 2
