"""`tactician rag`: ingest, search, stats."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aiohttp import web

from tests.cli.support import tactician
from tests.support.chat_server import ChatServer, Received


def test_documents_are_ingested_searched_and_counted(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "returns.md").write_text("# Returns\n\nSend the lamp back with the number RMA-1234.\n")
    (docs / "broken.docx").write_bytes(b"nothing")
    at = ("--library", str(tmp_path / "library.db"))
    done = tactician("rag", "ingest", str(docs), *at, "--meta", "team=help", "--meta", "team=sales")
    assert done.code == 1
    assert "1 new, 0 changed, 0 unchanged, 0 removed, 1 failed; 1 chunk" in done.out
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


def test_a_library_with_the_offline_embedder(tmp_path: Path) -> None:
    (tmp_path / "cars.md").write_text("# Cars\n\nThe automobile has four wheels.\n")
    (tmp_path / "cats.md").write_text("# Cats\n\nA cat sleeps on the sofa.\n")
    at = ("--library", str(tmp_path / "library.db"))
    files = [str(tmp_path / name) for name in ("cars.md", "cats.md")]
    assert tactician("rag", "ingest", *files, *at, "--embedder", "wordllama").code == 0
    weight = ("--vector-weight", "0.9")
    found = tactician("rag", "search", "vehicle", *at, "--embedder", "wordllama", "--top", "1", *weight)
    assert ("Cars" in found.out, "1 hit by hybrid search" in found.err) == (True, True)
    assert "vectors of wordllama:256: 2\n" in tactician("rag", "stats", *at).out


async def test_a_library_with_an_embedding_model_of_a_provider(tmp_path: Path) -> None:
    async def embed(_: web.Request, received: Received) -> web.StreamResponse:
        texts = received.body["input"]
        assert isinstance(texts, list)
        data = [
            {"index": number, "embedding": [1.0, float("car" in text.lower() or "vehicle" in text)]}
            for number, text in enumerate(texts)
        ]
        return web.json_response({"object": "list", "data": data, "usage": {"prompt_tokens": 1}})

    (tmp_path / "a.md").write_text("# Cars\n\nThe automobile has four wheels.\n")
    (tmp_path / "b.md").write_text("# Cats\n\nA cat sleeps on the sofa.\n")
    at = ("--library", str(tmp_path / "library.db"), "--embedder", "openai:some-embedder")
    async with ChatServer(embed) as server:
        env = {"OPENAI_BASE_URL": server.url}
        done = await asyncio.to_thread(tactician, "rag", "ingest", str(tmp_path), *at, env=env)
        assert done.code == 0, done.err
        found = await asyncio.to_thread(tactician, "rag", "search", "vehicle", *at, "-k", "1", env=env)
    assert "Cars" in found.out, found.err
    assert [body["model"] for body in server.bodies] == ["some-embedder"] * 2
    unknown = tactician("rag", "search", "vehicle", *at[:2], "--embedder", "no-such-model")
    assert (unknown.code, "no-such-model" in unknown.err) == (2, True)


def test_files_that_are_gone_are_removed(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("a.md", "b.md"):
        (docs / name).write_text("words")
    at = ("--library", str(tmp_path / "library.db"))
    assert "2 new" in tactician("rag", "ingest", str(docs), *at).out
    (docs / "a.md").unlink()
    assert (
        "0 new, 0 changed, 1 unchanged, 0 removed"
        in tactician("rag", "ingest", str(docs), *at, "--refresh", "never").out
    )
    assert "0 new, 0 changed, 1 unchanged, 1 removed" in tactician("rag", "ingest", str(docs), *at).out


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
