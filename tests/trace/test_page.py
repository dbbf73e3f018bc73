"""The web page of a trace: it is one file, it runs nothing, and it shows what happened."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pydantic import JsonValue

from tactician.trace import Trace
from tactician.trace.node import ModelUse, TraceNode, TraceNote, TracePause
from tests.trace.support import run_newsroom

EVIL = "</pre></style><script>alert('x')</script><img src=x onerror=alert(1)>\" onload=\"alert(2)' {{ 7*7 }} \u202e"
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2", "h3", "h4", "p", "b"),
    *("a", "i", "div", "span", "dl", "dt", "dd", "pre", "details", "summary", "svg", "rect", "table", "thead", "tbody"),
    *("tfoot", "tr", "th", "td", "ol", "li", "defs", "marker", "path", "text", "g"),
}


class Page(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.style = ""
        self._stack: list[str] = []
        self.feed(text)
        self.close()
        assert self._stack == [], "an element has no end"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self._stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._stack and self._stack[-1] == "style":
            self.style += data
        else:
            self.text += data


def evil_node(**changes: object) -> TraceNode:
    """A node in which every text is an attack."""
    content: dict[str, JsonValue] = {
        EVIL: EVIL,
        "prompt": [{"role": EVIL, "text": EVIL, "calls": [{"tool": EVIL, "arguments": EVIL}]}],
        "blackboard": [{"type": EVIL, "name": EVIL, "value": {EVIL: EVIL}, "hidden": True}, EVIL],
    }
    node = TraceNode(
        "id",
        EVIL,
        EVIL,
        0.0,
        1.0,
        EVIL,
        EVIL,
        EVIL,
        EVIL,
        (TracePause(0.2, 0.4),),
        (ModelUse(EVIL, 1, 1, 1),),
        {EVIL: EVIL},
        content,
        (TraceNote(EVIL, 0.5, EVIL, {EVIL: EVIL}), TraceNote("RunSuspended", 0.5, EVIL, {EVIL: EVIL})),
    )
    return replace(node, **changes)  # type: ignore[arg-type]


def test_nothing_that_anybody_said_becomes_an_element_or_an_attribute() -> None:
    kinds = ("run", "task", "review", "model", "tool", "action")
    children = tuple(evil_node(id=str(number), kind=kind) for number, kind in enumerate(kinds))
    page = Page(Trace([evil_node(children=children)]).to_html())
    assert {tag for tag, _ in page.elements} <= ALLOWED
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name.startswith("on")]
    assert {value for _, found in page.elements for name, value in found.items() if name == "href"} <= {
        f"#n{number}" for number in range(7)
    }
    assert "style" not in names
    assert EVIL.replace("\u202e", "\\u202e") in page.text
    assert "\u202e" not in page.text


def test_the_page_may_load_and_run_nothing() -> None:
    page = Page(Trace([evil_node()]).to_html())
    (policy,) = [found["content"] for _, found in page.elements if "http-equiv" in found]
    digest = b64encode(sha256(page.style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not [tag for tag, found in page.elements if {"src", "srcset", "data", "action"} & found.keys()]
    assert "url(" not in page.style
    assert "@import" not in page.style


async def test_the_page_shows_the_timeline_prompts_tools_and_models(tmp_path: Path) -> None:
    path = tmp_path / "trace.html"
    (await run_newsroom()).trace.to_html(path)
    page = Page(path.read_text(encoding="utf-8"))
    for text in ("Newsroom", "research", "Write the report", '{"query":"frogs"}', "Frogs have no ears.", "scripted"):
        assert text in page.text
    assert len([1 for tag, _ in page.elements if tag == "rect"]) > 10


def test_an_empty_trace_has_a_page() -> None:
    assert "Nothing was captured" in Page(Trace().to_html()).text


@pytest.mark.parametrize(
    ("use", "shown"),
    [
        (ModelUse("m", 2, 1000, 234, 0, 0.5, 0), ["1,000", "234", "$0.5000"]),
        (ModelUse("m", 2, 1000, 234, 1, 0.5, 1), ["1,000 + 1 unknown", "$0.5000 + 1 unknown"]),
        (ModelUse("m", 2, None, None, 2, None, 2), ["unknown"]),
    ],
)
def test_what_is_unknown_is_shown_as_unknown(use: ModelUse, shown: list[str]) -> None:
    text = Page(Trace([TraceNode("a", "run", "r", 0.0, 1.0, "completed", used=(use,))]).to_html()).text
    assert all(one in text for one in shown)
    assert "-1" not in text
    assert "None" not in text


def test_a_deep_tree_has_a_page() -> None:
    node = TraceNode("0", "run", "deepest", 0.0)
    for depth in range(1, 2000):
        node = TraceNode(str(depth), "run", "deep", 0.0, children=(node,))
    assert "deepest" in Trace([node]).to_html()


def action_node(number: int, **changes: object) -> TraceNode:
    node = TraceNode(str(number), "action", f"action {number}", float(number), number + 1.0, "completed")
    return replace(node, **changes)  # type: ignore[arg-type]


def test_plans_and_the_blackboard_have_sections() -> None:
    actions = tuple(action_node(number, facts={"outputs": ["Draft"]}) for number in range(50))
    board: JsonValue = [{"type": "shop.Draft", "name": "it", "value": {"text": "frogs"}, "hidden": False}]
    notes = (TraceNote("PlanMade", 0.0, "plans write → publish"), TraceNote("PlanMade", 3.0, "plans ask → publish"))
    root = replace(action_node(99), kind="run", children=actions, content={"blackboard": board}, notes=notes)
    page = Page(Trace([root]).to_html())
    for text in ("Plan", "action 39", "and 10 more", "plans ask → publish", "Blackboard", "Draft", '"text": "frogs"'):
        assert text in page.text
    assert "style" not in {name for _, attributes in page.elements for name in attributes}


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-aBcDeFgHiJkLmNoPqRsTuVwX",
        "ghp_aBcDeFgHiJkLmNoPqRsTuVwX0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "a-password-of-this-machine",
    ],
)
def test_secrets_are_masked(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "a-password-of-this-machine")
    content: dict[str, JsonValue] = {"prompt": [{"role": "user", "text": f"use {secret} now"}], "arguments": secret}
    node = action_node(
        1, error=f"refused: {secret}", name=f"call {secret}", content=content, facts={"outputs": [secret]}
    )
    page = Trace([node]).to_html()
    assert secret not in page
    assert "use *** now" in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"api_key": "hunter22", "size": 3}', '{"api_key": "***", "size": 3}'),
        ("Authorization: Bearer abcdefghijkl", "Authorization: ***"),
        ("postgresql://me:hunter22@db/runs", "postgresql://me:***@db/runs"),
        ("password=hunter22&x=1", "password=***&x=1"),
        ("the password is required, and 42 tokens", "the password is required, and 42 tokens"),
    ],
)
def test_values_that_are_named_secrets_are_masked(text: str, shown: str) -> None:
    page = Page(Trace([action_node(1, content={"arguments": text, "client_secret": "abc"})]).to_html())
    assert shown in page.text
    assert "abc" not in page.text.replace("Bearer abc", "")


def test_the_page_of_a_long_run_is_bounded() -> None:
    content: dict[str, JsonValue] = {"prompt": "p" * 1_500}
    nodes = tuple(action_node(number, content=content) for number in range(6_500))
    page = Trace([replace(action_node(0), kind="run", children=nodes)]).to_html()
    assert len(page) < 12_000_000
    assert "action 5998" in page
    assert "… (1,500 characters)" in page
    assert "501 more nodes left out" in page


def test_an_action_that_gave_nothing_does_not_look_done() -> None:
    root = TraceNode("r", "run", "Traveller", 0.0, 3.0, "completed", "r")
    find = TraceNode("a", "action", "find_train", 0.0, 1.0, "completed", "r", facts={"outputs": []})
    book = TraceNode("b", "action", "book", 1.0, 3.0, "completed", "r", facts={"outputs": ["Ticket"]})
    page = Page(Trace((replace(root, children=(find, book)),)).to_html())

    bars = {
        attrs["aria-label"]: attrs["class"] for tag, attrs in page.elements if "aria-label" in attrs and tag == "svg"
    }
    assert page.text.count("gave nothing") == 4  # in the timeline, the plan, its title and the tree
    assert [("still" in (kind or "")) for name, kind in bars.items() if name and name.startswith(("find", "book"))] == [
        True,
        False,
    ]
