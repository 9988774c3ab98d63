"""Read the history of an untrusted git repository through git's plumbing (docs/adr/0019)."""
