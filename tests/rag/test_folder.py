"""A folder as a library: words and expressions, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tactician.errors import ConfigurationError
from tactician.rag import FolderLibrary, RegexSearch, ResultExpansion, SearchQueryError, TextSearch, VectorSearch
from tests.rag.store_conformance import CARS, CATS, RETURNS, titles


@pytest.fixture
def folder(tmp_path: Path) -> FolderLibrary:
    for name, text in (("orders.md", RETURNS), ("cars.md", CARS), ("cats.txt", CATS), ("x.png", "wheels")):
        (tmp_path / name).write_text(text)
    (tmp_path / "broken.md").write_bytes(b"\0wheels")
    return FolderLibrary(tmp_path)


def test_types_say_what_a_folder_can_do(folder: FolderLibrary) -> None:
    assert isinstance(folder, TextSearch)
    assert isinstance(folder, RegexSearch)
    assert not isinstance(folder, VectorSearch | ResultExpansion)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("gift parcel", {"Gift cards", "Returns"}), ("+gift parcel", {"Gift cards"}),
        ("gift parcel -years", {"Returns"}),
        ('"five days"', {"Returns"}), ('"days five"', set()), ("sof*", {"cats.txt"}), ("sof", set()),
        ("autmoobile~", {"Cars"}), ("RMA-1234", {"Returns"}), ("+gift +wheels", set()), ("WHEELS", {"Cars"}),
    ],
)  # fmt: skip
async def test_operators(query: str, expected: set[str], folder: FolderLibrary) -> None:
    assert set(titles(await folder.text(query))) == expected


async def test_scores_and_limits(folder: FolderLibrary) -> None:
    hits = await folder.text("gift card parcel wheels")
    assert titles(hits)[0] == "Gift cards"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].score == 1
    assert len(await folder.text("gift card parcel wheels", top_k=2)) == 2
    assert len(await folder.text("gift card parcel wheels", threshold=0.99)) == 1


async def test_expressions_and_filters(folder: FolderLibrary) -> None:
    assert titles(await folder.regex(r"RMA-\d{4}")) == ["Returns"]
    assert len(await folder.regex(r".", top_k=2)) == 2
    assert titles(await folder.regex(r"wheels|sofa", where={"ending": "txt"})) == ["cats.txt"]
    with pytest.raises(SearchQueryError):
        await folder.regex("(")


async def test_files_are_read_as_they_are_now(folder: FolderLibrary) -> None:
    (folder.folder / "cars.md").write_text("# Cars\n\nA bicycle.")
    assert titles(await folder.text("bicycle wheels")) == ["Cars"]


def test_a_folder_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not a folder"):
        FolderLibrary(tmp_path / "no")
