"""Where agents meet a brain: the tools that models call, and what offers them."""
