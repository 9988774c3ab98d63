"""Limits on untrusted input, checked before memory is allocated or a file is read."""

MAX_FILES = 1_000_000
"""Files in one brain."""
MAX_FILE_BYTES = 4 << 30
"""Size of one file in a tree; larger ones are refused by their stat, unread."""
MAX_IN_MEMORY_BYTES = 256 << 20
"""Size of a blob that is read into memory as a whole; larger ones are streamed."""
MAX_PATH_BYTES = 1024
"""UTF-8 bytes in one path, its section included."""
MAX_FILE_NAME_BYTES = 255
"""UTF-8 bytes in one name of a path, the limit of most file systems."""
MAX_PATH_DEPTH = 64
"""Nesting of folders."""
MAX_SECTIONS = 4096
"""Top-level folders of one brain."""
MAX_SKILL_BYTES = 4 << 20
"""Size of one SKILL.md that is parsed; the largest seen in public is 294 kB."""
MAX_FRONT_MATTER_BYTES = 64 << 10
"""Size of a front matter block that is parsed."""
MAX_SKILL_NAME_CHARS = 256
"""Characters in the name of a skill."""
MAX_DESCRIPTION_CHARS = 1024
"""Characters in the description of a skill (agentskills.io)."""
MAX_SLUG_CHARS = 64
"""Characters in a slug (agentskills.io)."""
MAX_MESSAGE_BYTES = 64 << 10
"""Size of the message of a snapshot."""
MAX_AUTHOR_BYTES = 1024
"""Size of an author."""
MAX_PROOF_BYTES = 4 << 20
"""Size of a proof that is read; one of a path takes about 2 kB."""
MAX_EVIDENCE_BYTES = 4 << 20
"""Size of evidence that is read, with its proofs; usually about 15 kB."""
MAX_BRANCH_BYTES = 200
"""UTF-8 bytes in the name of a branch."""
MAX_LINE_MERGE_BYTES = 16 << 20
"""Size of a file that is merged by lines; of longer memory files, only additions are united."""
MAX_RPC_BYTES = 16 << 20
"""Size of one response of a chain node."""
MAX_RECEIPT_BYTES = 32 << 20
"""Size of one receipt."""
MAX_RECEIPT_STEPS = 50_000
"""Steps in one receipt."""
MAX_EXCERPT_BYTES = 2048
"""UTF-8 bytes of one excerpt in a receipt."""
MAX_TASK_BYTES = 8 << 10
"""UTF-8 bytes of the task of a receipt, and of the reason of its outcome."""
MAX_STEP_NAME_BYTES = 1024
"""UTF-8 bytes of the name of a step, of an agent, a model or a run."""
MAX_RECEIPT_WRITES = 4096
"""Files that the steps of one receipt name; others are only counted."""
MAX_CALL_BYTES = 8 << 20
"""Size of the arguments of one tool call, as JSON."""
MAX_CALL_TEXT_CHARS = 1_000_000
"""Characters of one text in a tool call."""
MAX_EDIT_BYTES = 16 << 20
"""Size of a file that is read as a whole to be edited."""
MAX_WRITTEN_FILES = 1000
"""Files that one write of a skill takes along."""
MAX_PROGRAM_FILES = 256
"""Files of the program of a skill."""
MAX_PROGRAM_BYTES = 4 << 20
"""Bytes of the program of a skill, all files together."""
MAX_TRANSCRIPT_BYTES = 128 << 20
"""Size of a transcript that is converted to a receipt."""
MAX_RECORD_BYTES = 32 << 20
"""Size of one record of a transcript; longer ones are counted as not understood."""
MAX_RECORD_VALUES = 1_000_000
"""Values and keys of one record of a transcript."""
MAX_RECORD_DEPTH = 64
"""Nesting of lists and objects in one record of a transcript."""
MAX_VERDICT_BYTES = 4 << 20
"""Size of one verdict."""
MAX_VERDICT_FILES = 1024
"""Files of the program that a verdict is about."""
MAX_VERDICT_CASES = 4096
"""Cases of one verdict."""
MAX_VERDICT_HELD_OUT = 256
"""Held-out cases of the skill itself in one verdict."""
MAX_VERDICT_ROUNDS = 12
"""Rounds in which the cases of one verdict were tried before and after a change."""
MAX_VERDICT_CHANGES = 64
"""Files beside the text and the program of the skill that a verdict lists."""
MAX_VERDICT_ROWS = 256
"""Findings, limits, versions, and numbers of one verdict, each."""
MAX_VERDICT_NAME_BYTES = 1024
"""UTF-8 bytes of the name of a case, of who decided, of a profile, or of a version."""
MAX_VERDICT_TEXT_BYTES = 8 << 10
"""UTF-8 bytes of the reason of a verdict, of a finding, or of why a case failed."""
