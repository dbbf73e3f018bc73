"""Documents that were made to take time and memory: reading them is linear, bounded, and ends when it is cancelled."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from subprocess import run
from time import process_time

import pytest

from tactician.rag import Library, ParserLimits, parse_markdown
from tactician.rag.chunking import divide_text, split_document

HOSTILE = {
    "words.txt": "word " * 600_000,
    "letters.txt": "a" * 2_000_000,
    "json.json": json.dumps({str(number): number for number in range(150_000)}),
    "log.log": "2026-11-23 12:00:00 INFO something has happened\n" * 60_000,
    "spaces.md": ("# " + " " * 20_000 + "x\n") * 50,
    "closings.md": ("# a" + " #" * 20_000 + " x\n") * 50,
    "headings.md": "# a\n" * 100_000,
    "tables.md": "| a | b |\n|---|---|\n| 1 | 2 |\n\n" * 40_000,
    "heads.md": "| a | b |\n" * 200_000,
    "wide.csv": "\n".join(",".join(str(cell) for cell in range(3_000)) for _ in range(120)),
    "long.csv": "\n".join("a,b,c" for _ in range(200_000)),
    "front.md": "---\n" + "a: [" * 500_000,
    "nested.py": "(" * 400_000,
    "tree.py": "a," * 240_000,
    "links.md": "[" * 500_000 + "a](" * 100_000,
    "links.html": "<a href='#'>x" * 50_000,
    "deep.html": "<div>" * 100_000 + "words",
    "deep.rst": "* a\n" * 100_000,
}

_PROGRAM = """
import asyncio, json, sys, time
from tactician.rag import Library, ParserLimits

async def main():
    async with Library() as library:
        began, cpu = time.monotonic(), time.process_time()
        report = await library.ingest(sys.argv[1], limits=ParserLimits(seconds=float(sys.argv[2])))
        usage = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        reasons = [failure.reason for failure in report.failures]
        print(json.dumps([time.process_time() - cpu, int(usage.split()[1]) // 1_000, len(report.added), reasons]))

asyncio.run(main())
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_each_parser_has_bounds(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(HOSTILE[name])
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path / name), "20"]
    result = run(command, capture_output=True, text=True, timeout=100, check=True)
    seconds, megabytes, added, reasons = json.loads(result.stdout)
    assert added + len(reasons) == 1
    assert seconds < 10
    assert megabytes < 500


@pytest.mark.parametrize("name", ["words.txt", "wide.csv", "headings.md"])
async def test_the_time_for_a_document_holds_for_its_division_too(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(HOSTILE[name] * 3)
    async with Library() as library:
        report = await library.ingest(tmp_path, limits=ParserLimits(seconds=0.2))
        assert await library.list_documents() == ()
    assert [failure.reason for failure in report.failures] == ["reading it took more than 0.2 seconds"]


async def test_a_cancellation_ends_the_work(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("word " * 4_000_000)
    library = Library()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(library.ingest(tmp_path), 0.5)
    began = time.monotonic()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("text", ["word " * 60_000, "a" * 200_000, "| " + " | ".join(["a"] * 70_000) + " |"])
def test_twice_the_text_takes_twice_the_time(text: str) -> None:
    def measure(content: str) -> float:
        began = process_time()
        root = parse_markdown(f"# A\n\n{content}", "a.md")
        split_document(root)
        return process_time() - began

    measure(text[:100_000])
    assert measure(text * 4) < 10 * max(0.05, measure(text))


def test_blocks_are_divided_where_least_is_torn_apart() -> None:
    text = "One. Two words.\n\nThree\nfour five"
    assert [text[start:end] for start, end in divide_text(text, 20)] == ["One. Two words.\n\n", "Three\nfour five"]
