"""Verification: `verification` lists the numbered steps; the other modules are their checks."""
