"""Solve tasks and score what was done: images, solvers and verifiers in sessions of the sandbox."""
