"""Run programs of skills in the sandbox, and try them before they are admitted."""
