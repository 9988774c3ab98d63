"""Ways around a check of code, one snippet for each kind; each sets RESULT if it got through.

All are harmless in the sandbox.
"""

from tests.support.cases import read_texts

EVASIONS = {name: code.encode() for name, code in read_texts("program_evasions.txt").items()}
EVASIONS |= {
    "deep nesting": b"RESULT = " + b"not " * 5000 + b"1\n",
    "long chain": b"RESULT = 1" + b"+1" * 50_000 + b"\n",
    "too long": b"#" * (1 << 20) + b"\nRESULT = 1\n",
    "an encoding after a lone return": b"#\r# coding: utf-16\rRESULT = 1\n",
    "not UTF-8": b"RESULT = '\xff'\n",
}
