"""Find the sequences of skills that recur, and make a skill of each that calls them in turn."""
