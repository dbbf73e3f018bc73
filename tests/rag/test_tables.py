"""Long tables: each piece names the columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tactician.rag import Chunking, Library, parse_markdown, split_document
from tactician.rag.chunking import find_tables
from tests.rag.office_files import make_xlsx

HEAD = "| Item | Price |\n|---|--:|\n"
ROWS = [f"| Lamp number {number} | {number} |" for number in range(60)]
SMALL = Chunking(max_chars=300, overlap=50)


def make_table(*rows: str, head: str = HEAD) -> str:
    return head + "\n".join(rows)


def split(text: str, chunking: Chunking = SMALL) -> list[str]:
    chunks = split_document(parse_markdown(f"# Stock\n\n{text}", "stock.md"), chunking)
    assert all(len(chunk.text) <= chunking.max_chars for chunk in chunks)
    return [chunk.text.removeprefix("Stock\n\n") for chunk in chunks]


def test_each_piece_of_a_long_table_begins_with_the_names_of_the_columns() -> None:
    first, *pieces = split(f"Before it.\n\n{make_table(*ROWS)}\n\nAfter it.")
    assert first == "Before it."
    assert len(pieces) > 5
    assert all(piece.startswith(f"{HEAD}| Lamp") and piece.count("Price") == 1 for piece in pieces)
    rows = [row for piece in pieces for row in piece.split("\n")[2:]]
    assert (set(rows), rows[-2:]) == ({*ROWS, "", "After it."}, ["", "After it."])


def test_tables_in_a_row_have_their_own_heads() -> None:
    other = HEAD.replace("Price", "Shelf")
    pieces = split(f"{make_table(*ROWS)}\n\n{make_table(*[row.replace('Lamp', 'Chair') for row in ROWS], head=other)}")
    assert all(("Price" in piece) == ("Lamp" in piece) != ("Shelf" in piece) == ("Chair" in piece) for piece in pieces)


def test_a_short_table_stays_as_it_is() -> None:
    table = make_table(*ROWS[:3])
    assert split(table) == [table]


def test_a_head_that_would_fill_a_piece_is_not_repeated() -> None:
    head = f"| {'Name ' * 40}| Price |\n|---|---|\n"
    assert sum("Name" in piece for piece in split(make_table(*ROWS, head=head))) == 1


def test_a_row_that_is_divided_gets_no_head() -> None:
    pieces = split(make_table(ROWS[0], f"| {'word ' * 200}| 1 |", ROWS[1]))
    assert "".join(pieces).count("word") >= 200
    assert all(piece.startswith(HEAD) == (piece.removeprefix(HEAD)[0] == "|") for piece in pieces)


@pytest.mark.parametrize("text", ["| a | b |", "| a |\n|---|", "a | b\n", "|---|\n|---|\n", "| a |\n|:::|\n| b |\n"])
def test_what_is_not_a_table_with_rows(text: str) -> None:
    assert find_tables(text, 100) == []


@pytest.mark.parametrize("text", ["| a |\n|" + "-" * 200_000 + "x", "|\n" * 200_000, "| a |\n|-|\n" * 100_000])
def test_hostile_tables_are_read_in_a_moment(text: str) -> None:
    assert len(find_tables(text, 100)) <= 1


async def test_rows_of_spreadsheets_and_pages_are_found_with_the_names_of_their_columns(tmp_path: Path) -> None:
    rows = [[f"Lamp number {number}", str(number * 3)] for number in range(100)]
    (tmp_path / "prices.xlsx").write_bytes(make_xlsx("Prices", [["Item", "Cost"], *rows]))
    cells = "".join(f"<tr><td>Chair number {number}</td><td>{number}</td></tr>" for number in range(100))
    (tmp_path / "page.html").write_text(f"<h1>Stock</h1><table><tr><th>Item</th><th>Shelf</th></tr>{cells}</table>")
    async with Library(chunking=Chunking(max_chars=400, overlap=0)) as library:
        assert (await library.ingest(tmp_path)).failures == ()
        (lamp,) = await library.text('"lamp number 97"')
        (chair,) = await library.text('"chair number 97"')
    assert "| Item" in lamp.text
    assert "Cost" in lamp.text
    assert "Shelf" in chair.text
