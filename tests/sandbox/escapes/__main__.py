"""Run every attempt, or each STEP-th, and print what was reached.

    python -m tests.sandbox.escapes [STEP] [--sessions]

Ends with status 1 if an attempt reached something or was not really made.
"""

import argparse
import sys
from collections import Counter

from .run_attempts import ALL_ATTEMPTS, SESSION_ATTEMPTS, run_all


def main() -> int:
    """Print a line for each attempt that counts, a line for each kind, and effects."""
    parser = argparse.ArgumentParser()
    parser.add_argument("step", nargs="?", type=int, default=1)
    parser.add_argument("--sessions", action="store_true")
    options = parser.parse_args()
    attempts = (SESSION_ATTEMPTS if options.sessions else ALL_ATTEMPTS)[:: options.step]
    findings, effects = run_all(attempts, in_sessions=options.sessions)
    bad = 0
    for attempt, finding in zip(attempts, findings, strict=True):
        if any(finding):
            bad += 1
            print(f"{attempt.kind}: {attempt.name}: {finding}")
    for kind, count in Counter(one.kind for one in attempts).items():
        print(f"{count:6} {kind}")
    print(f"{len(attempts)} attempts, {bad} that reached something or were not made")
    print(f"effects on the host: {effects or 'none'}")
    return 1 if bad or effects else 0


if __name__ == "__main__":
    sys.exit(main())
