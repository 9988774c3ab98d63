"""Reading the history of an untrusted git repository."""
