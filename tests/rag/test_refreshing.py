"""Ingestion again: files that are gone, and pages that are fetched at once."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from aiohttp import web

from tactician.rag import Library, RefreshPolicy
from tests.rag.embedders import CountingEmbedder
from tests.rag.store_conformance import titles
from tests.support.chat_server import ChatServer, Received


async def test_documents_whose_files_are_gone_are_removed(tmp_path: Path) -> None:
    docs, others = tmp_path / "docs", tmp_path / "docs-of-others"
    for folder in (docs / "deep", others):
        folder.mkdir(parents=True)
    for file in (docs / "a.md", docs / "b.md", docs / "deep" / "c.md", others / "d.md"):
        file.write_text(f"# {file.stem}\n\nwords")
    async with Library(embedder=CountingEmbedder()) as library:
        assert len((await library.ingest(docs, others)).added) == 4
        (docs / "b.md").unlink()
        (docs / "deep" / "c.md").unlink()
        (others / "d.md").unlink()
        kept = await library.ingest(docs, policy=RefreshPolicy.NEVER)
        assert (kept.removed, len(await library.list_documents())) == ((), 4)
        report = await library.ingest(docs)
        assert set(report.removed) == {(docs / "b.md").as_uri(), (docs / "deep" / "c.md").as_uri()}
        assert set(titles(await library.text("words"))) == {"a", "d"}
        assert set(titles(await library.vector("words"))) == {"a", "d"}
        assert (await library.ingest(docs)).removed == ()


async def test_a_file_that_the_folder_does_not_list_is_not_gone(tmp_path: Path) -> None:
    (tmp_path / ".notes").mkdir()
    for file in (tmp_path / "a.md", tmp_path / ".notes" / "b.md"):
        file.write_text("words")
    async with Library() as library:
        await library.ingest(tmp_path, tmp_path / ".notes" / "b.md")
        assert (await library.ingest(tmp_path)).removed == ()
        assert len(await library.list_documents()) == 2


async def test_a_folder_that_is_empty_all_at_once_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("words")
    async with Library() as library:
        await library.ingest(tmp_path)
        (tmp_path / "a.md").unlink()
        report = await library.ingest(tmp_path)
        assert report.removed == ()
        assert "it has no documents now; 1 of the library are kept" in report.failures[0].reason
        assert len(await library.list_documents()) == 1
        shutil.rmtree(tmp_path)
        assert "no such file or folder" in (await library.ingest(tmp_path)).failures[0].reason
        assert len(await library.list_documents()) == 1


async def test_pages_are_fetched_at_once_but_not_all_of_them() -> None:
    began: list[str] = []
    most = open_now = 0
    together = asyncio.Event()

    async def answer(request: web.Request, _: Received) -> web.StreamResponse:
        nonlocal most, open_now
        open_now += 1
        most = max(most, open_now)
        began.append(request.path)
        if len(began) == 8:
            together.set()
        await asyncio.wait_for(together.wait(), 30)
        open_now -= 1
        if request.path == "/3":
            return web.Response(status=404)
        return web.Response(text=f"words of {request.path}", content_type="text/plain")

    async with ChatServer(answer) as server, Library() as library:
        pages = [f"{server.url}/{number}" for number in range(20)]
        report = await library.ingest(*pages, allow_private=True)
        assert list(report.added) == [page for page in pages if not page.endswith("/3")]
        assert [failure.uri for failure in report.failures] == [f"{server.url}/3"]
        assert most == 8
        again = await library.ingest(*pages, allow_private=True)
        assert len(again.unchanged) == 19


async def test_what_is_being_fetched_ends_with_the_ingestion() -> None:
    async with ChatServer() as server, Library() as library:
        server.will(server.stall())
        ingestion = asyncio.ensure_future(library.ingest(f"{server.url}/a", f"{server.url}/b", allow_private=True))
        await asyncio.wait_for(server.reached.wait(), 30)
        ingestion.cancel()
        await asyncio.wait([ingestion])
        assert ingestion.cancelled()
        await asyncio.wait_for(server.abandoned.wait(), 30)
