"""The fastest upsert git has in a process: a blob, its line of trees, a commit. Not synced.

`python -m tests.bench.pygit2_worker REPOSITORY LAYOUT SKILLS COUNT SEED` prints a JSON list
of milliseconds. No file is written and no index kept, which brain does do.
"""

import json
import random
import sys
import time

import pygit2

from tests.bench.generate import Corpus, body


def replaced(
    repo: pygit2.Repository, tree: pygit2.Tree, path: list[str], blob: pygit2.Oid
) -> pygit2.Oid:
    """Write the trees along `path` anew with `blob` at its end; return the root's id."""
    builder = repo.TreeBuilder(tree)
    if len(path) == 1:
        builder.insert(path[0], blob, pygit2.enums.FileMode.BLOB)
    else:
        inner = tree[path[0]]
        assert isinstance(inner, pygit2.Tree)
        below = replaced(repo, inner, path[1:], blob)
        builder.insert(path[0], below, pygit2.enums.FileMode.TREE)
    return builder.write()


def upsert(repo: pygit2.Repository, path: str, text: bytes, who: pygit2.Signature) -> None:
    """Commit one changed file on top of the head."""
    head = repo.head.target
    root = replaced(repo, repo[head].tree, path.split("/"), repo.create_blob(text))
    repo.create_commit("refs/heads/main", who, who, "change", root, [head])


def main(repository: str, layout: str, skills: str, count: str, seed: str) -> None:
    """Upsert random skills and print the times."""
    corpus, rng, times = Corpus(layout, int(skills), 0), random.Random(seed), []
    repo = pygit2.Repository(repository)
    who = pygit2.Signature("Bench", "bench@example.org")
    for _ in range(int(count)):
        path, text = corpus.path(rng.randrange(corpus.skills)), body(rng).encode()
        start = time.perf_counter()
        upsert(repo, path, text, who)
        times.append((time.perf_counter() - start) * 1000)
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
