"""The Model Context Protocol: a brain, served to agents by stdio or HTTP.

Everything that imports the SDK (the extra `serve`) is in here, and loaded late.
"""
