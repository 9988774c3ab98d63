"""Ways around a check of code, one snippet for each kind; each sets RESULT if it got through.

All are refused by the profile `generated`, and harmless in the sandbox.
"""

from __future__ import annotations

from tests.support.cases import read_texts

EVASIONS = {name: code.encode() for name, code in read_texts("program_evasions.txt").items()}
EVASIONS |= {
    "an encoding after a lone return": b"#\r# coding: utf-16\rRESULT = 1\n",
    "not UTF-8": b"RESULT = '\xff'\n",
}
