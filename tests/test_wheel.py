"""The wheel: how large it is, and what is in it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest

ROOT = Path(__file__).parents[1]
DASHBOARD = "tactician/serve/dashboard/"
MOST_BYTES = 2_400_000
MOST_BYTES_OF_THE_DASHBOARD = 150_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("*.whl")
    return built


def list_files(wheel: Path) -> list[ZipInfo]:
    with ZipFile(wheel) as archive:
        return archive.infolist()


def test_it_is_small(wheel: Path) -> None:
    pages = [file.compress_size for file in list_files(wheel) if file.filename.startswith(DASHBOARD)]

    assert wheel.stat().st_size <= MOST_BYTES
    assert 0 < sum(pages) <= MOST_BYTES_OF_THE_DASHBOARD


def test_it_has_the_package_and_nothing_else(wheel: Path) -> None:
    files = [file.filename for file in list_files(wheel) if ".dist-info/" not in file.filename]
    wanted = [
        str(file.relative_to(ROOT / "src"))
        for file in (ROOT / "src" / "tactician").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]

    assert sorted(files) == sorted(wanted)


def test_nothing_is_in_it_twice(wheel: Path) -> None:
    contents = Counter((file.CRC, file.file_size) for file in list_files(wheel) if file.file_size)

    assert [content for content, count in contents.items() if count > 1] == []
