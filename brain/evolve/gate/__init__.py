"""Try a change of a skill on held-out cases, and admit, propose, reject or leave it undecided."""
