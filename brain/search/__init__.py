"""Which of many skills a task needs: one protocol, and several ways to rank by it."""
