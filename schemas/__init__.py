"""JSON Schemas of everything exchanged, one file a kind."""
