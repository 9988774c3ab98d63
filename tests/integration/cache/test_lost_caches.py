"""Whatever becomes of a cache, the answers are the same."""

import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from brain.repo import derived_db
from brain.repo import derived_db as folders
from tests.support.derived_data import QUESTIONS, answer_all_questions, open_brain

NOBODY = 65534


def file_of(caches: Path) -> Path:
    """Return the file of the one cache that is there, all of its log copied into it."""
    (file,) = caches.glob("*/derived.db")
    with closing(apsw.Connection(str(file))) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return file


def test_with_a_cache_the_answers_are_those_without_one(grown, caches):
    for _ in range(2):
        assert answer_all_questions(grown.root) == grown.truth
    names = {name.partition("-")[0] for name in os.listdir(file_of(caches).parent)}
    assert "derived.db" in names and "words.db" not in names


def test_what_an_earlier_version_left_is_removed_without_a_word(grown, caches, capsys):
    answer_all_questions(grown.root)
    folder = file_of(caches).parent
    for name in ("words.db", "words.db-wal", "vectors-0a1b.bin"):
        (folder / name).write_bytes(b"words of before")
    assert answer_all_questions(grown.root) == grown.truth
    left = [*folder.glob("words*"), *folder.glob("vectors*")]
    assert left == [] and capsys.readouterr() == ("", "")


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    file.write_bytes(b"")


def cut(size: int) -> Callable[[Path], None]:
    return lambda file: os.truncate(file, size)


def noise(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(9000))


def folder(file: Path) -> None:
    file.unlink()
    (file / "inside").mkdir(parents=True)


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def link(file: Path) -> None:
    file.symlink_to(file.rename(file.with_name("elsewhere")))


def hollow(file: Path) -> None:
    """Keep the tables, and nothing in some of them."""
    with closing(apsw.Connection(str(file))) as db:
        for table in ("cards", "lines", "states"):
            db.execute(f"DELETE FROM {table}").fetchall()


def statement(sql: str) -> Callable[[Path], None]:
    def run(file: Path) -> None:
        with closing(apsw.Connection(str(file))) as db:
            db.execute(sql).fetchall()

    return run


DAMAGES: dict[str, Callable[[Path], None]] = {
    "removed": remove,
    "empty": empty,
    "noise": noise,
    "a folder": folder,
    "a pipe": pipe,
    "a link": link,
    "hollow": hollow,
    **{f"cut at {size}": cut(size) for size in (1, 100, 4096, 8192, 20_000)},
    "of a version to come": statement("PRAGMA user_version=99"),
    "of no version": statement("PRAGMA user_version=0"),
    "without a table": statement("DROP TABLE facts"),
    "without words": statement("DROP TABLE keys"),
    "with other columns": statement("ALTER TABLE facts RENAME COLUMN generation TO rank"),
    "with a wrong version": statement("UPDATE facts SET label = '77' WHERE label != ''"),
    "with a wrong merge": statement("UPDATE facts SET generation = 1 WHERE key = '/merges'"),
    "with wrong cards": statement("UPDATE cards SET data = x'00'"),
    "with wrong lines": statement(
        "UPDATE lines SET line = 'x'; DELETE FROM states WHERE name = 'text'"
    ),
    "with a wrong text": statement("UPDATE states SET state = x'00' WHERE name = 'text'"),
    "with a wrong sum": statement("UPDATE states SET checksum = checksum + 1"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_changes_no_answer(grown, caches, damage):
    assert answer_all_questions(grown.root) == grown.truth
    DAMAGES[damage](file_of(caches))
    for _ in range(2):
        assert answer_all_questions(grown.root) == grown.truth


def test_the_doctor_names_a_cache_that_cannot_be_read_beside_all_other_checks(grown, caches):
    with open_brain(grown.root) as brain:
        whole = [one.check for one in brain.doctor()]
    statement("DROP TABLE states")(file_of(caches))
    with open_brain(grown.root) as brain:
        found = brain.doctor()
        (cache,) = (one for one in found if one.check == "cache")
        assert not cache.ok and "states" in cache.message and "doctor --repair" in cache.hint
        assert [one.check for one in found] == whole
        brain.repair()
    with open_brain(grown.root) as brain:
        assert all(one.ok for one in brain.doctor() if one.check == "cache")


@pytest.mark.parametrize("table", derived_db.CONTENT_TABLES)
def test_a_table_that_is_missing_is_there_again_after_a_few_commands(grown, caches, table):
    answer_all_questions(grown.root)
    statement(f"DROP TABLE {table}")(file_of(caches))
    with open_brain(grown.root) as brain:
        brain.skills.upsert("Alpha", "Once more.\n", description="Otherwise.")
    with open_brain(grown.root) as brain:
        assert [row.version for row in brain.skills.history("alpha")] == [4, 3, 2, 1]
        brain.prompt.build_index()
        brain.merge.start("@~1")
    with closing(apsw.Connection(str(file_of(caches)))) as db:
        assert db.execute(f"SELECT count(*) FROM {table}").fetchall()
    with open_brain(grown.root) as brain:
        assert brain.repair() == [] and brain.verify(deep=True).ok


def test_a_table_of_cards_that_is_missing_is_made_again_by_whoever_reads(grown, caches):
    answer_all_questions(grown.root)
    statement("DROP TABLE cards")(file_of(caches))
    with open_brain(grown.root) as brain:
        assert brain.skills.list() == grown.truth["skills"]
    with closing(apsw.Connection(str(file_of(caches)))) as db:
        ((count,),) = db.execute("SELECT count(*) FROM cards").fetchall()
    assert count >= len(grown.truth["skills"])


def beneath_its_log(file: Path) -> None:
    """Make noise of a file whose log still holds pages that fit."""
    with closing(apsw.Connection(str(file))) as db:
        db.execute("PRAGMA journal_mode=WAL; DELETE FROM states").fetchall()
        log = file.with_name(file.name + "-wal").read_bytes()
    file.write_bytes(random.Random(1).randbytes(100))
    file.with_name(file.name + "-wal").write_bytes(log)


@pytest.mark.parametrize("damage", [*DAMAGES, "beneath its log"])
def test_a_repair_makes_a_damaged_cache_whole(grown, caches, damage):
    assert answer_all_questions(grown.root) == grown.truth
    {**DAMAGES, "beneath its log": beneath_its_log}[damage](file_of(caches))
    with open_brain(grown.root) as brain:
        brain.repair()
        assert all(one.ok for one in brain.doctor() if one.check == "cache")
    with open_brain(grown.root) as brain:
        assert brain.verify(deep=True).findings == []
    assert answer_all_questions(grown.root) == grown.truth


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_cache_damaged_under_an_open_brain_changes_no_answer(grown, caches, damage):
    answer_all_questions(grown.root)
    with open_brain(grown.root) as brain:
        assert {name: ask(brain) for name, ask in QUESTIONS.items()} == grown.truth
        DAMAGES[damage](file_of(caches))
        assert {name: ask(brain) for name, ask in QUESTIONS.items()} == grown.truth
        done = brain.skills.upsert("Alpha", "Once more.\n")
        assert [row.version for row in brain.skills.history("alpha")] == [4, 3, 2, 1]
        assert done.version == 4
    with open_brain(grown.root) as brain:
        assert [row.version for row in brain.skills.history("alpha")] == [4, 3, 2, 1]
        assert {one.code for one in brain.verify(deep=True).findings} <= {"wrong_cache"}


@pytest.mark.parametrize("seed", range(3))
def test_no_flipped_bit_of_the_cache_changes_an_answer_unless_verifying_names_it(
    grown, caches, seed
):
    """A bit in the key of a row can hide the row; nothing else may be said wrongly."""
    assert answer_all_questions(grown.root) == grown.truth
    file = file_of(caches)
    whole = file.read_bytes()
    rng = random.Random(seed)
    lost = 0
    for _ in range(40):
        place, bit = rng.randrange(len(whole)), 1 << rng.randrange(8)
        for beside in file.parent.glob("derived.db-*"):
            beside.unlink()
        file.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        found = answer_all_questions(grown.root)
        wrong = [name for name in found if found[name] != grown.truth[name]]
        if wrong:
            with open_brain(grown.root) as brain:
                codes = {one.code for one in brain.verify(deep=True).findings}
            assert codes == {"wrong_cache"}, (place, bit, wrong)
            lost += 1
    assert lost <= 2


def test_another_process_that_holds_the_cache_changes_no_answer(grown, caches, monkeypatch):
    answer_all_questions(grown.root)
    monkeypatch.setattr(derived_db, "_CACHE", derived_db._CACHE._replace(timeout=0.0))
    with closing(apsw.Connection(str(file_of(caches)))) as other:
        other.execute("BEGIN IMMEDIATE").fetchall()
        assert answer_all_questions(grown.root) == grown.truth
        with open_brain(grown.root) as brain:
            assert brain.skills.upsert("Alpha", "Once more.\n").version == 4
            assert [row.version for row in brain.skills.history("alpha")] == [4, 3, 2, 1]
            assert brain.prompt.build_index().index == grown.truth["index"]
        other.execute("ROLLBACK").fetchall()
    with open_brain(grown.root) as brain:
        assert [row.version for row in brain.skills.history("alpha")] == [4, 3, 2, 1]
        assert brain.verify(deep=True).ok


def test_another_process_that_holds_an_empty_cache_changes_no_answer(grown, caches, monkeypatch):
    monkeypatch.setattr(derived_db, "_CACHE", derived_db._CACHE._replace(timeout=0.0))
    with open_brain(grown.root) as brain:
        assert brain.skills.list()
    with closing(apsw.Connection(str(file_of(caches)))) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
        other.execute("BEGIN EXCLUSIVE").fetchall()
        assert answer_all_questions(grown.root) == grown.truth
        other.execute("ROLLBACK").fetchall()


FULL = """
import resource, signal, sys
from pathlib import Path
from tests.support.derived_data import QUESTIONS, open_brain
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open_brain(Path(sys.argv[1])) as brain:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    found = {name: ask(brain) for name, ask in QUESTIONS.items()}
print(sorted(found.items()))
"""


@pytest.mark.parametrize("room", [0, 4096, 20_000, 60_000])
def test_a_full_disk_changes_no_answer(grown, caches, project, room):
    command = [sys.executable, "-B", "-W", "error", "-c", FULL, str(grown.root), str(room)]
    done = subprocess.run(command, cwd=project, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == str(sorted(grown.truth.items()))
    assert done.stderr == ""
    assert answer_all_questions(grown.root) == grown.truth


@pytest.fixture
def place():
    """A folder that other users can reach, which the folders of tests are not."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    for inside in (made, *made.rglob("*")):
        if inside.is_dir():
            inside.chmod(0o755)
    shutil.rmtree(made)


def unprivileged(work: Callable[[], object]) -> object:
    """Return what `work` gives in a child that is not root."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setuid(NOBODY)
            said = pickle.dumps(work())
        except BaseException as error:  # noqa: BLE001  a child of a test must not go on
            said = pickle.dumps(repr(error))
        with open(writing, "wb") as out:
            out.write(said)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as heard:
        found: object = pickle.loads(heard.read())
    os.waitpid(child, 0)
    return found


def give_away(*folders: Path) -> None:
    """Let the unprivileged user own folders and all in them."""
    for path in (inside for folder in folders for inside in (folder, *folder.rglob("*"))):
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def settled(root: Path) -> None:
    """Copy the log of a store into it and remove it, as for a medium that cannot be written."""
    with closing(apsw.Connection(str(root / ".brain/store.db"))) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@pytest.mark.parametrize("state", ["empty", "filled", "filled, and the file too"])
def test_a_cache_folder_that_cannot_be_written_changes_no_answer(grown, place, monkeypatch, state):
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(place / "caches"))
    root = Path(shutil.move(grown.root, place / "agent"))
    assert answer_all_questions(root) == grown.truth
    settled(root)
    file = file_of(place / "caches")
    folder = file.parent
    if state == "empty":
        shutil.rmtree(folder)
        folder.mkdir()
    give_away(root, place / "caches")
    if state == "filled, and the file too":
        file.chmod(0o400)
    folder.chmod(0o500)
    before = sorted(os.listdir(folder))
    assert unprivileged(lambda: answer_all_questions(root)) == grown.truth
    assert sorted(os.listdir(folder)) == before


def test_a_brain_that_cannot_be_written_is_read_with_the_cache_of_its_reader(
    grown, place, monkeypatch
):
    root = Path(shutil.move(grown.root, place / "agent"))
    assert answer_all_questions(root) == grown.truth  # so that all modules are there already
    settled(root)
    (place / "caches").mkdir()
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(place / "caches"))
    give_away(root, place / "caches")
    for file in (root / ".brain").iterdir():
        file.chmod(0o400)
    before = sorted(os.listdir(root / ".brain"))
    (root / ".brain").chmod(0o500)
    for _ in range(2):
        assert unprivileged(lambda: answer_all_questions(root)) == grown.truth
    assert sorted(os.listdir(root / ".brain")) == before
    assert file_of(place / "caches").stat().st_size > 4096


def test_a_cache_folder_of_another_user_is_not_used(grown, caches, monkeypatch):
    assert answer_all_questions(grown.root) == grown.truth
    planted = file_of(caches)
    with closing(apsw.Connection(str(planted))) as db:
        db.execute("DELETE FROM facts").fetchall()
    before = planted.read_bytes()
    with open_brain(grown.root) as brain:
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
        assert brain._session.cache.folder is None
        assert {name: ask(brain) for name, ask in QUESTIONS.items()} == grown.truth
    assert planted.read_bytes() == before


@pytest.mark.parametrize("way", ["a file", "a link", "a name too long", "a NUL"])
def test_where_no_cache_folder_can_be_had_the_answers_are_the_same(
    grown, tmp_path, monkeypatch, way
):
    folder = tmp_path / "caches"
    if way == "a file":
        folder.write_text("in the way")
    elif way == "a link":
        (tmp_path / "elsewhere").mkdir()
        folder.mkdir()
        with open_brain(grown.root) as brain:
            (folder / brain.id).symlink_to(tmp_path / "elsewhere")
    elif way == "a name too long":
        folder = tmp_path / ("x" * 300)
    monkeypatch.setenv("BRAIN_CACHE_DIR", str(folder))
    if way == "a NUL":  # which no environment holds, but a folder may be given otherwise
        monkeypatch.setattr(folders, "cache_root", lambda: "/tmp/a\0b")
    assert answer_all_questions(grown.root) == grown.truth
    if way == "a link":
        assert os.listdir(tmp_path / "elsewhere") == []
