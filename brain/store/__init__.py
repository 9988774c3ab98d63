"""The store: objects, refs and the operation log, on disk or in memory."""
