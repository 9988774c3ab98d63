"""Run every attempt, or each STEP-th, and print what was reached.

    python -m tests.sandbox.escapes [STEP]

Ends with status 1 if an attempt reached something or was not really made.
"""

import sys
from collections import Counter

from .run_attempts import ALL_ATTEMPTS, run_all


def main() -> int:
    """Print a line for each attempt that counts, a line for each kind, and effects."""
    attempts = ALL_ATTEMPTS[:: int(sys.argv[1]) if len(sys.argv) > 1 else 1]
    findings, effects = run_all(attempts)
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
