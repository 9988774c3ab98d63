"""How the content of a blob is packed: chunks, prefixes, compression."""
