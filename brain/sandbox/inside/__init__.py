"""What runs inside a sandbox; nothing outside imports it."""
