"""Reading of documents: of every format, once, and again when they change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tactician.rag import (
    IngestionProgress,
    LeafSection,
    Library,
    RefreshPolicy,
    UnreadableDocumentError,
    WordLlamaEmbedder,
)
from tests.rag.embedders import CountingEmbedder
from tests.rag.office_files import make_docx, make_pdf, make_pptx, make_xlsx

HTML = """<html><head><title>Tea</title><meta name="description" content="x"><script>alert("steal")</script>
<style>p { color: red }</style></head><body><h1>Tea</h1><p>Brew it.</p><h2>Green tea</h2><p>Three minutes.</p>
<table><tr><th>Kind</th><th>Minutes</th></tr><tr><td>Black</td><td>5</td></tr></table></body></html>"""
FILES: dict[str, bytes] = {
    "a.md": b"# Rules\n\n## Holidays\n\nThirty days.\n",
    "b.html": HTML.encode(),
    "c.docx": make_docx(
        [(1, "Handbook"), (0, "Welcome."), (2, "Returns"), (0, "Send it back.")], [["Item", "Price"], ["Pen", "3"]]
    ),
    "d.pptx": make_pptx("Plan for autumn", "We open in October."),
    "e.xlsx": make_xlsx("Prices", [["Item", "Price"], ["Lamp", "17"]]),
    "f.pdf": make_pdf("Warranty", "Two years on motors."),
    "g.txt": "Plain text, with an Umlaut: \u00fc.".encode("cp1252"),
    "h.py": b"import os\n\ndef compute_tax(amount: int) -> int:\n    return amount // 5\n\nclass Bill:\n    a = 0\n",
    "i.csv": b"City,Code\nOslo,4711\n",
    "sub/j.ts": b"export function greet(): string { return 'hello' }\n",
}  # fmt: skip
EXPECTED = {
    "thirty": ("Rules", "Holidays"),
    "brew": ("Tea",),
    "black": ("Tea", "Green tea"),
    "october": ("d.pptx", "Plan for autumn"),
    "pen": ("Handbook", "Returns"),
    "lamp": ("e.xlsx", "Prices"),
    "motors": ("f.pdf",),
    "umlaut": ("g.txt",),
    "compute_tax": ("h.py", "compute_tax"),
    "bill": ("h.py", "Bill"),
    "oslo": ("i.csv",),
    "greet": ("j.ts",),
}


def strip_repeated(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(title for number, title in enumerate(path) if number == 0 or title != path[number - 1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.md").write_text("hidden")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    return tmp_path


async def test_documents_of_all_formats_are_read_with_their_sections(folder: Path) -> None:
    async with Library() as library:
        report = await library.ingest(folder)
        assert report.failures == ()
        assert len(report.added) == len(FILES)
        for word, path in EXPECTED.items():
            (hit,) = await library.text(word)
            assert strip_repeated(hit.chunk.path) == path, word
        for refused in ("steal", "color", "hidden", "description"):
            assert list(await library.text(refused)) == []
        (table,) = await library.text("black")
        assert "| Black | 5" in table.text
        (code,) = await library.text("compute_tax")
        assert "def compute_tax(amount: int) -> int:\n    return amount // 5" in code.text


async def test_the_first_pdf_on_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "new").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "new"))  # kreuzberg has unpacked nothing here yet
    (tmp_path / "f.pdf").write_bytes(FILES["f.pdf"])
    async with Library() as library:
        report = await library.ingest(tmp_path / "f.pdf")
        assert report.failures == ()
        assert len(await library.text("motors")) == 1


async def test_a_document_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nold words")
    (tmp_path / "b.md").write_text("# B\n\nstays")
    async with Library() as library:
        first = await library.ingest(tmp_path)
        assert (len(first.added), first.chunks) == (2, 2)
        again = await library.ingest(tmp_path)
        assert (again.added, len(again.unchanged), again.chunks) == ((), 2, 0)
        (tmp_path / "a.md").write_text("# A\n\nfresh words")
        never = await library.ingest(tmp_path, policy=RefreshPolicy.NEVER)
        assert len(never.unchanged) == 2
        changed = await library.ingest(str(tmp_path))
        assert changed.updated == ((tmp_path / "a.md").as_uri(),)
        assert len(changed.unchanged) == 1
        assert [hit.chunk.title for hit in await library.text("fresh old")] == ["A"]
        always = await library.ingest(tmp_path / "b.md", policy=RefreshPolicy.ALWAYS)
        assert len(always.updated) == 1
        labelled = await library.ingest(tmp_path / "b.md", metadata={"team": "x"})
        assert len(labelled.updated) == 1
        assert len(await library.text("stays", where={"team": "x"})) == 1


async def test_a_document_is_ingested_once(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nwords")
    async with Library() as library:
        document = await library.ingest_if_needed(tmp_path / "a.md")
        (hit,) = await library.text("words")
        section = await library.zoom_out(hit.id)
        assert isinstance(section, LeafSection)
        assert section.parent_id == document
        assert await library.ingest_if_needed((tmp_path / "a.md").as_uri()) is None
        with pytest.raises(UnreadableDocumentError, match=r"no\.md: there is no such file"):
            await library.ingest_if_needed(tmp_path / "no.md")


async def test_failures_are_listed_and_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(b"no zip at all")
    (tmp_path / "b.txt").write_bytes(b"\0\1\2binary")
    (tmp_path / "c.md").write_text("")
    (tmp_path / "d.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "e.md").write_text("words")
    async with Library() as library:
        report = await library.ingest(tmp_path, tmp_path / "no.md", "ftp://host/x", tmp_path / "a.exe", "")
        assert [Path(uri).name for uri in report.added] == ["e.md"]
        reasons = {failure.uri.rpartition("/")[2]: failure.reason for failure in report.failures}
        assert reasons.keys() == {"a.docx", "b.txt", "c.md", "d.pdf", "no.md", "x", "a.exe", ""}
        assert "not a text file" in reasons["b.txt"]
        assert "no text in it" in reasons["c.md"]
        assert "no such file" in reasons["no.md"]
        assert "neither a path nor an address" in reasons["x"]


async def test_progress(tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("words")
    steps: list[IngestionProgress] = []
    async with Library() as library:
        await library.ingest(tmp_path, listener=steps.append)
    assert [(step.done, step.total, step.uri.rpartition("/")[2]) for step in steps] == [
        (0, 2, "a.md"), (1, 2, "b.md"), (2, 2, ""),
    ]  # fmt: skip


async def test_links_out_of_a_folder_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.md").symlink_to(tmp_path / "secret.md")
    os.mkfifo(inside / "pipe.md")
    async with Library() as library:
        report = await library.ingest(inside)
        assert report.added == ()
        assert [failure.reason for failure in report.failures] == ["this is not a file"]


async def test_chunks_are_embedded_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nThe feline sleeps.")
    model = CountingEmbedder()
    async with Library(embedder=model) as library:
        await library.ingest(tmp_path)
        assert len(model.texts) == 1
        assert len(await library.vector("cat")) == 1


async def test_the_offline_embedder_knows_meanings() -> None:
    model = WordLlamaEmbedder()
    car, automobile, banana = (await model.embed(["car", "automobile", "banana"])).vectors

    def compare(left: tuple[float, ...], right: tuple[float, ...]) -> float:
        return sum(a * b for a, b in zip(left, right, strict=True))

    assert len(car) == 256
    assert compare(car, automobile) > 0.5 > compare(car, banana)
