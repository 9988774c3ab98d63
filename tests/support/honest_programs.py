"""Programs as agents write them: name, code, payload.

Each runs with its payload, exits 0 and prints something (a class returns something).
"""

import json
from typing import Any

from tests.support.cases import read_texts

HONEST: list[tuple[str, str, dict[str, Any]]] = [
    (title.partition(" ")[0], code, json.loads(title.partition(" ")[2]))
    for title, code in read_texts("honest_programs.txt").items()
]
"""At least 30; of both shapes."""
