"""`tactician skills check`."""

from pathlib import Path

from tests.cli.support import tactician


def write(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: x\n---\n")


def test_valid_skills_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "bills", "bills")
    write(tmp_path / "letters", "letters")
    done = tactician("skills", "check", str(tmp_path))
    assert (done.code, done.out) == (0, "")
    assert "2 skills, nothing is wrong" in done.err


def test_problems_are_listed_with_exit_code_1(tmp_path: Path) -> None:
    write(tmp_path / "bills", "Bills")
    done = tactician("skills", "check", str(tmp_path / "bills"))
    assert done.code == 1
    assert "bills: name: 'Bills' must be in lower case" in done.out
    empty = tactician("skills", "check", str(tmp_path / "missing"))
    assert "it is not a folder" in empty.out
