"""Titles and texts of documents: without markup of links, entities, navigation, and names that programs have put."""

from __future__ import annotations

from pathlib import Path

import pytest

from tactician.rag import Library, parse_markdown
from tactician.rag.citations import number_citations
from tests.rag.office_files import make_pdf
from tests.support.raw_server import RawServer, head

PAGE = """<!doctype html><html><head><meta charset="utf-8"><title>Guide &#8212; A &mdash; B &amp; C</title></head><body>
<div role="navigation">Next Previous Sitemap</div><nav>Menu of everything</nav>
<div role="main"><h1>Guide<a class="headerlink" href="#g" title="Permalink to this heading">\u00b6</a></h1>
<h2><a href="x.html" title="The x">Using <em>x</em> &lt;fast&gt;</a><a href="#x">#</a></h2>
<p>See <a href="y.html" title="Y page"><code>y</code></a> and\n<a href="z.html"><span>text</span></a> &#8212; caf\u00e9
<img src="http://127.0.0.1/x.png" alt="a lamp" title="tip">.</p><p>%s</p></div>
<footer>Copyright Nobody</footer></body></html>"""
NOT_TEXT = ("Permalink", "\u00b6", "Menu", "Sitemap", "Copyright", "](", ".html", "&#", "&amp;", "tip", "127.0.0.1")


@pytest.mark.parametrize("is_page", [False, True])
async def test_pages_have_no_links_permalinks_navigation_or_entities(is_page: bool, tmp_path: Path) -> None:
    page = (PAGE % ("Read these words well. " * 30)).encode()
    async with Library() as library, RawServer(lambda: [head("Content-Type: text/html"), page]) as server:
        (tmp_path / "guide.html").write_bytes(page)
        location = server.url if is_page else tmp_path / "guide.html"
        assert not (await library.ingest(location, allow_private=True)).failures
        hit = (await library.text("caf\u00e9"))[0]
        (record,) = await library.list_documents()
    shown = f"{hit.text} {' > '.join(hit.chunk.path)} {record.title}"
    assert not [word for word in NOT_TEXT if word in shown]
    assert hit.chunk.path == ("Guide", "Using x <fast>")
    assert "and\ntext \u2014 caf\u00e9" in hit.text or "and text \u2014 caf\u00e9" in hit.text


async def test_a_page_without_a_main_part_and_with_another_heading_keeps_both_titles(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<title>Shop &amp; Co</title><h1>Returns</h1><p>Five days.</p>")
    async with Library() as library:
        await library.ingest(tmp_path)
        assert (await library.text("days"))[0].chunk.path == ("Shop & Co", "Returns")


async def test_sections_of_restructured_text(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text("=====\nTitle\n=====\n\nIntro.\n\nUsing it\n========\n\nTurn the wheel.\n")
    async with Library() as library:
        await library.ingest(tmp_path)
        assert (await library.text("wheel"))[0].chunk.path == ("Title", "Using it")


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ('[Using x](x.html "The x")', "Using x"),
        ("[Using x](x.html 'The x')[\u00b6](#x \"Permalink\")", "Using x"),
        ("Salt &amp; pepper &#8212; `both`", "Salt & pepper \u2014 both"),
        ("C# and F#", "C# and F#"),
        ("Closed ##", "Closed"),
    ],
)
def test_titles_are_plain_text(title: str, path: str) -> None:
    (leaf,) = parse_markdown(f"# Top\n\n## {title}\n\nText.", "a.md").leaves
    assert leaf.path == ("Top", path)


def test_several_headings_of_the_first_level_are_sections_of_the_file() -> None:
    root = parse_markdown("# One\n\nFirst.\n\n# Two\n\nSecond.\n\n## Three\n\nThird.", "notes.md")
    assert root.title == "notes.md"
    assert [leaf.path for leaf in root.leaves] == [
        ("notes.md", "One"), ("notes.md", "Two", "Two"), ("notes.md", "Two", "Three"),
    ]  # fmt: skip


async def test_front_matter_is_facts_and_its_title_is_the_title(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "---\ntitle: My page\ntags: [a, b]\nyear: 2026\nteam: theirs\nnested: {x: 1}\n---\n\n# Other\n\nSome words.\n"
    )
    async with Library() as library:
        await library.ingest(tmp_path, metadata={"team": "sales"})
        (hit,) = await library.text("words", where={"tags": "b", "year": 2026, "team": "sales"})
        assert len(await library.text("nested")) == 0
    assert hit.chunk.path == ("My page", "Other")
    assert hit.chunk.metadata == {"tags": ["a", "b"], "year": 2026, "team": "sales"}


@pytest.mark.parametrize(
    "text",
    ["---\nno mapping\n---\nwords", "---\na: [1\n---\nwords", "---\nnever closed", f"---\n{'[' * 10_000}\n---\n"],
)
def test_what_is_no_front_matter_is_text(text: str) -> None:
    root = parse_markdown(text, "a.md")
    assert root.metadata == {}
    assert "".join(leaf.text for leaf in root.leaves)


async def test_the_title_of_a_file_that_a_program_has_put_there_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "terms.html").write_text("<title>Untitled Document 1</title><h2>Payment</h2><p>In euros.</p>")
    (tmp_path / "manual.pdf").write_bytes(make_pdf("Read me once."))
    async with Library() as library:
        await library.ingest(tmp_path)
        assert (await library.text("euros"))[0].chunk.path[0] == "terms.html"


async def test_citations_show_no_folders_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "my orders.md").write_text("# Orders\n\n## Returns\n\nFive days.\n")
    (tmp_path / "plain.txt").write_text("Some other words.")
    async with Library() as library:
        await library.ingest(tmp_path)
        chunks = [(await library.text(word))[0].chunk for word in ("days", "other")]
    cited = number_citations("".join(f"[cite:{chunk.id}]" for chunk in chunks), chunks)
    assert cited.sources == ("Orders > Returns (my orders.md)", "plain.txt")
    assert str(tmp_path) not in str(cited)
