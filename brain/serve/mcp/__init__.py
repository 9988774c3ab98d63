"""Serve a brain to agents over the Model Context Protocol, by stdio or HTTP.

Only this folder imports the SDK (the extra `serve`), and only when a server starts.
"""
