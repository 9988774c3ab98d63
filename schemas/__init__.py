"""JSON Schemas of files, one a kind, and of errors; `brain_cli.schemas` loads them."""
