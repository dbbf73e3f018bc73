"""`tactician rag`: ingest, search, stats."""

from __future__ import annotations

from pathlib import Path

from tests.cli.support import tactician


def test_documents_are_ingested_searched_and_counted(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "returns.md").write_text("# Returns\n\nSend the lamp back with the number RMA-1234.\n")
    (docs / "broken.docx").write_bytes(b"nothing")
    at = ("--library", str(tmp_path / "library.db"))
    done = tactician("rag", "ingest", str(docs), *at, "--meta", "team=help", "--meta", "team=sales")
    assert done.code == 1
    assert "1 new, 0 changed, 0 unchanged, 1 failed; 1 chunks" in done.out
    assert "broken.docx" in done.err

    found = tactician("rag", "search", "Where do I send a lamp?", *at, "--where", "team=sales")
    assert found.code == 0
    assert "Returns" in found.out
    assert "RMA-1234" in found.out
    assert "no embedder" in found.err
    assert tactician("rag", "search", "lamp", *at, "--where", "team=other").out == ""
    assert "RMA-1234" in tactician("rag", "search", r"RMA-\d+", "--regex", *at).out
    assert "RMA-1234" in tactician("rag", "search", "+lamp -chair", "--text", *at).out
    wrong = tactician("rag", "search", "--text", *at, "--", "-lamp")
    assert (wrong.code, "needs a word" in wrong.err) == (2, True)

    assert "documents: 1\nsections: 1\nchunks: 1\n" in tactician("rag", "stats", *at).out


def test_a_library_that_is_not_there_is_not_created(tmp_path: Path) -> None:
    done = tactician("rag", "stats", "--library", str(tmp_path / "no.db"))
    assert done.code == 2
    assert "There is no library" in done.err
    assert not (tmp_path / "no.db").exists()


def test_options_are_checked(tmp_path: Path) -> None:
    at = ("--library", str(tmp_path / "library.db"))
    assert "choose one of changed, never, always" in tactician("rag", "ingest", "x", *at, "--refresh", "often").err
    assert "NAME=VALUE" in tactician("rag", "ingest", "x", *at, "--meta", "team").err
    assert "shorter than a chunk" in tactician("rag", "ingest", "x", *at, "--chunk", "100").err


def test_the_sizes_of_chunks(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("# Lamps\n\n" + "A lamp gives light. " * 60)
    counts = []
    for number, sizes in enumerate(([], ["--chunk", "200", "--overlap", "0"])):
        at = ("--library", str(tmp_path / f"{number}.db"))
        assert tactician("rag", "ingest", str(tmp_path / "long.md"), *at, *sizes).code == 0
        counts.append(tactician("rag", "stats", *at).out)
    assert "chunks: 1\n" in counts[0]
    assert "chunks: 7\n" in counts[1]
