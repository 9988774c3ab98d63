"""What must never happen, tried from outside: commands, `Brain`, the protocol."""
