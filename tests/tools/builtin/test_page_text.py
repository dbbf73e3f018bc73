"""Readable text of HTML, in time that is linear in its length."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.tools.builtin.page_text import extract_text, extract_title


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One</p><p>Two</p>", "One\n\nTwo"),
        ("<p>a\n  b\t c</p>", "a b c"),
        ("<h2>Title</h2>text", "## Title\n\ntext"),
        ("<ul><li>one</li><li>two <b>bold</b></li></ul>", "- one\n- two bold"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2"),
        ("<pre>def f():\n    return 1</pre>", "def f():\n    return 1"),
        ("&lt;b&gt; &amp; &#252; &nbsp;x", "<b> & ü x"),
        ("a < b and b > c", "a < b and b > c"),
        ("<script>var a = '<p>no</p>'</script>yes", "yes"),
        ("<style>p {}</style><noscript>no</noscript><svg><text>no</text></svg>yes", "yes"),
        ("<!-- <p>no</p> -->yes<!DOCTYPE x><?php no ?>", "yes"),
        ("<nav>menu</nav><main>content</main><footer>(c)</footer>", "content"),
        ("<header><h1>Kept</h1></header>", "# Kept"),
        ("<form><input value=a><button>Go</button></form>kept", "kept"),
        ('<p title="a > b">kept</p>', "kept"),
        ("<head><title>no</title><body>kept", "kept"),
        ("<nav>menu<article>kept</article>", "kept"),
        ("<P>big</P><SCRIPT>no</SCRIPT>", "big"),
        ("", ""),
        ("<p", ""),
        ("a<script>never closed", "a"),
        ("a<!-- never closed", "a"),
        ("</p></div>a</nav>b", "ab"),
    ],
)
def test_the_text_is_what_a_reader_sees(html: str, text: str) -> None:
    assert extract_text(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ('<a href="/b">to b</a>', "[to b](http://site/b)"),
        ("<a href='c?x=1&amp;y=2'>c</a>", "[c](http://site/a/c?x=1&y=2)"),
        ("<a href=https://other/>other</a>", "[other](https://other/)"),
        ('<a href="#part">part</a>', "part"),
        ('<a href="javascript:alert(1)">run</a>', "run"),
        ('<a name="x">here</a>', "here"),
        ('<a href="/b"><img src="x"></a>rest', "rest"),
        ('<a href="http://[">broken</a>', "broken"),
        ('<a href="/b">one<a href="/c">two</a>', "[one](http://site/b)[two](http://site/c)"),
        ('<a data-href="/no" class=x href="/b">b</a>', "[b](http://site/b)"),
    ],
)
def test_links_are_written_out_with_their_whole_address(html: str, text: str) -> None:
    assert extract_text(html, "http://site/a/page") == text


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> A &amp;\n B </title>", "A & B"),
        ("<body>no title", ""),
        ("<title></title><title>second</title>", "second"),
        ("<!-- <title>no</title> --><TITLE lang=en>yes</TITLE>", "yes"),
    ],
)
def test_the_title_of_a_page(html: str, title: str) -> None:
    assert extract_title(html) == title


PIECES = [
    *("<!--", "<a ", "<a href=", "<a href='", '<a "', "<", "</", "<script", "<script>", "<title>", "<![CDATA[", "<?"),
    *(
        "<p ",
        "<p a='",
        "&",
        "&#",
        "&amp",
        "<nav>",
        "</nav>",
        "<pre>",
        "</pre>",
        "<li>",
        "<a href='/x'>",
        "<b '\">",
        "<td>",
    ),
    *("<a \"'", "<!", "<a/", "\n", "<a href=' ", "<x " + "y " * 50, "<a href" + " " * 50),
]


@pytest.mark.parametrize("piece", PIECES)
def test_no_page_takes_long(piece: str) -> None:
    def measure(size: int) -> float:
        html = piece * (size // len(piece))
        began = time.process_time()
        extract_text(html, "http://site/")
        extract_title(html)
        return time.process_time() - began

    measure(10_000)
    # A quadratic scan takes 64 times as long for 8 times the length, a linear one 8 times.
    assert measure(800_000) < 24 * measure(100_000) + 0.2


_HTML = st.lists(
    st.one_of(
        st.sampled_from([*PIECES, ">", "/>", "-->", "'", '"', "</script>", "</title>", "</a>"]), st.text(max_size=5)
    ),
    max_size=20,
).map("".join)


@given(_HTML)
def test_every_page_has_a_text(html: str) -> None:
    text = extract_text(html, "http://site/")
    assert len(text) <= 20 * len(html) + 20
    assert extract_title(html) == extract_title(html).strip()


@given(st.lists(st.text("abc ", min_size=1, max_size=10), max_size=5))
def test_paragraphs_keep_their_words_and_their_order(texts: list[str]) -> None:
    html = "".join(f"<div><p>{text}</p></div>" for text in texts)
    assert extract_text(html).split() == " ".join(texts).split()
