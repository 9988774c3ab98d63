"""The benchmark: brain side by side with git, b3sum and pygit2, in one run (`make bench`)."""
