"""Programs that agents live in, and how a brain is entered in their settings."""
