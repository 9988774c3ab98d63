"""Skills that are packed in a .skill or .zip file."""

import random
import stat
import zipfile
from pathlib import Path

import pytest

from brain import Brain
from brain.adopting import archive
from brain.errors import InvalidInput
from tests.support.agent_homes import skill_text

PDF = skill_text("pdf", "Read PDFs.").encode()
LINK, DEVICE = stat.S_IFLNK | 0o777, stat.S_IFCHR | 0o600
Entries = list[tuple[str, bytes] | tuple[str, bytes, int]]


def pack(place: Path, entries: Entries) -> Path:
    """Write an archive of names with content, and a mode for some; a name may be there twice."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content, *mode in entries:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (mode[0] if mode else stat.S_IFREG | 0o644) << 16
            packed.writestr(entry, content)
    return place


def files_in(brain: Path) -> dict[str, str]:
    """Return the files of skills in a brain, with their kinds."""
    with Brain.open(brain) as opened:
        listed = opened.files.list()
        return {info.path: info.kind for info in listed if info.path.startswith("skills/")}


def test_a_skill_packed_on_a_mac_is_adopted_without_what_the_mac_added(tmp_path):
    extra = [(f"{place}._SKILL.md", b"\0\5\26\7") for place in ("__MACOSX/pdf/", "pdf/")]
    run = ("pdf/scripts/run.sh", b"exit\n", stat.S_IFREG | 0o755)
    link = ("pdf/more.md", b"SKILL.md", LINK)
    packed = pack(tmp_path / "pdf.skill", [("pdf/SKILL.md", PDF), run, link, *extra])
    done = Brain.adopt(packed, tmp_path / "brain")
    assert done.source == str(packed) and done.kind == "agentskills"
    kinds = files_in(tmp_path / "brain")
    assert kinds == {
        "skills/pdf/SKILL.md": "file",
        "skills/pdf/scripts/run.sh": "executable",
        "skills/pdf/more.md": "link",
    }


@pytest.mark.parametrize(
    ("name", "entries", "skills"),
    [
        ("pdf.skill", ["SKILL.md", "a.md"], {"pdf/SKILL.md"}),
        ("a.zip", ["./pdf/SKILL.md", "./csv/SKILL.md"], {"pdf/SKILL.md", "csv/SKILL.md"}),
        ("b.ZIP", ["repo-main/README.md", "repo-main/skills/x/SKILL.md"], {"x/SKILL.md"}),
        ("c.zip", ["p/.claude/skills/y/SKILL.md", "p/.git/config"], {"y/SKILL.md"}),
        ("d.zip", [".claude/skills/z/SKILL.md", "CLAUDE.md"], {"z/SKILL.md"}),
    ],
)
def test_an_archive_has_one_skill_or_several(tmp_path, name, entries, skills):
    packed = pack(tmp_path / name, [(entry, PDF) for entry in entries])
    Brain.adopt(packed, tmp_path / "brain")
    found = files_in(tmp_path / "brain")
    assert {path for path in found if path.endswith("SKILL.md")} == {f"skills/{s}" for s in skills}


def test_a_changed_archive_is_adopted_again_and_merged(tmp_path):
    packed = pack(tmp_path / "pdf.skill", [("pdf/SKILL.md", PDF), ("pdf/old.md", b"Old.\n")])
    Brain.adopt(packed, tmp_path / "brain")
    assert not Brain.adopt(packed, tmp_path / "brain").changed
    (tmp_path / "brain/skills/pdf/mine.md").write_text("Mine.\n")
    pack(packed, [("pdf/SKILL.md", PDF + b"\nMore.\n"), ("pdf/new.md", b"New.\n")])
    done = Brain.adopt(packed, tmp_path / "brain")
    assert done.changed and not done.conflicts
    assert {place.name for place in (tmp_path / "brain/skills/pdf").iterdir()} == {
        "SKILL.md",
        "new.md",
        "mine.md",
    }
    assert "More." in (tmp_path / "brain/skills/pdf/SKILL.md").read_text()


def test_the_brain_is_called_as_the_archive_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pack(tmp_path / "pdf.skill", [("pdf/SKILL.md", PDF)])
    assert Brain.adopt("pdf.skill").path == str(tmp_path / "pdf")


HOSTILE: dict[str, Entries] = {
    "absolute": [("/etc/x", b"x")],
    "above": [("pdf/../../x", b"x")],
    "drive": [("C:/x", b"x")],
    "backslash": [("pdf\\..\\x", b"x")],
    "twice": [("pdf/a.md", b"x"), ("pdf/a.md", b"y")],
    "case": [("pdf/a.md", b"x"), ("pdf/A.md", b"y")],
    "case of a folder": [("pdf/a/b", b"x"), ("pdf/A/c", b"y")],
    "file and folder": [("pdf/a", b"x"), ("pdf/a/b", b"y")],
    "deep": [("a/" * 80 + "b", b"x")],
    "link out": [("pdf/a", b"../../x", LINK)],
    "absolute link": [("pdf/a", b"/etc/passwd", LINK)],
    "link over a link": [("pdf/a", b"..", LINK), ("pdf/b", b"a/../x", LINK)],
    "below a link": [("pdf/a", b"..", LINK), ("pdf/b", b"a/x", LINK)],
    "through a link": [("pdf/a", b"..", LINK), ("pdf/a/x", b"x")],
    "long link": [("pdf/a", b"x" * 5000, LINK)],
    "device": [("pdf/a", b"", DEVICE)],
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_hostile_archive_is_refused_whole_and_names_the_entry(tmp_path, monkeypatch, case):
    monkeypatch.setattr(archive, "_write_entry", None)  # nothing is written before it is refused
    packed = pack(tmp_path / "bad.skill", [("pdf/SKILL.md", PDF), *HOSTILE[case]])
    with pytest.raises(InvalidInput) as caught:
        Brain.adopt(packed, tmp_path / "brain")
    assert caught.value.code == "bad_archive" and caught.value.hint
    assert [place.name for place in tmp_path.iterdir()] == ["bad.skill"]


@pytest.mark.parametrize(
    ("limit", "value", "code"),
    [
        ("MAX_ENTRIES", 1, "too_many"),
        ("MAX_DIRECTORY_BYTES", 66_000, "too_many"),
        ("MAX_UNPACKED_BYTES", 1000, "too_large"),
        ("_MIN_SUSPECT_BYTES", 1000, "too_large"),
    ],
)
def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch, limit, value, code):
    monkeypatch.setattr(archive, limit, value)
    monkeypatch.setattr(archive, "_write_entry", None)
    many = [(f"pdf/{number:0100}.md", b"") for number in range(600)]
    packed = pack(tmp_path / "bomb.zip", [("pdf/SKILL.md", bytes(1 << 26)), *many])
    with pytest.raises(InvalidInput) as caught:
        Brain.adopt(packed, tmp_path / "brain")
    assert caught.value.code == code and not (tmp_path / "brain").exists()


def test_a_damaged_archive_is_refused_whatever_was_damaged(tmp_path):
    packed = pack(tmp_path / "a.zip", [("pdf/SKILL.md", PDF), ("pdf/a.md", b"text " * 99)])
    whole = packed.read_bytes()
    rng = random.Random(5)
    refused = 0
    for number in range(1000):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        packed.write_bytes(data if number else data[: len(data) // 2])
        try:
            with archive.unpack_archive(packed, "a") as folder:
                assert folder.is_dir()
        except InvalidInput as error:
            assert error.code in ("bad_archive", "too_large")
            refused += 1
    assert refused > 300


def test_an_archive_without_a_skill_names_the_file_and_not_where_it_was_unpacked(tmp_path):
    packed = pack(tmp_path / "notes.zip", [("notes.txt", b"x")])
    with pytest.raises(InvalidInput, match="does not look like anything") as caught:
        Brain.adopt(packed, tmp_path / "brain")
    assert caught.value.message.startswith(str(packed))


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "a.skill").write_bytes(PDF)
    with pytest.raises(InvalidInput) as caught:
        Brain.adopt(tmp_path / "a.skill", tmp_path / "brain")
    assert caught.value.code == "bad_archive"
