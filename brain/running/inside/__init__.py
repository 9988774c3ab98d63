"""What runs inside the sandbox; nothing outside imports it."""
