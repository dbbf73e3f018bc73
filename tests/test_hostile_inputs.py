"""Texts that a model, a file or a stranger wrote: parsers raise nothing but errors of Tactician, and are fast."""

from __future__ import annotations

import json
from collections.abc import Callable
from resource import RUSAGE_SELF, getrusage
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tactician.blueprint import Blueprint
from tactician.documents.document import read_document
from tactician.documents.variables import substitute_variables
from tactician.errors import TacticianError
from tactician.llm import ModelRouter, Responder
from tactician.llm.wire.sse import SseDecoder
from tactician.planning.expressions import ExpressionError, parse_expression
from tactician.rag.text_query import parse_question, parse_text_query
from tactician.text import escape_controls, replace_surrogates, strip_code_fence
from tactician.tools.arguments import repair_arguments
from tactician.tools.builtin.calculator import MAX_LENGTH, calculate
from tactician.tools.builtin.json_query import MAX_DATA, find_value
from tactician.tools.builtin.page_text import extract_text, extract_title
from tactician.trace.json_form import read_nodes
from tests.support.effort import FUZZED, examples

_SECONDS = 1.0
"""Processor time that an input may take."""
_KILOBYTES = 500_000
"""Memory that an input may take."""

_PLAIN = '( ) [ ] { } (( [[[ {{ }} ${ ${A:- $ \' " """ \\ a 1 - = . , : a.b len( 1e999 0x ``` key sk- :// @ *a << #'
_SPACED = (
    "\n",
    "\r",
    "\t",
    " ",
    "not ",
    "null",
    "any(x for x in ",
    "```json\n",
    "-----BEGIN ",
    "&a ",
    "- ",
    "? ",
    "{'a': 1,}",
)
_ODD = ("\ud800", "\udfff", "\x00", "\x1b[31m", "\u202e", "\ufeff", "\u2028", "é", "https://a]b", "://u:p@", "9" * 400)
pieces = st.sampled_from([*_PLAIN.split(), *_SPACED, *_ODD, "!!python/object:os.system "])
texts = st.text(max_size=60) | st.lists(pieces, max_size=30).map("".join)
repeated = st.tuples(st.lists(pieces, min_size=1, max_size=3).map("".join), st.integers(1, 4_000)).map(
    lambda pair: pair[0] * pair[1]
)
hostile = texts | repeated | st.tuples(repeated, texts, repeated).map("".join)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.just(10**400)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)


def run(parse: Callable[[], object], *expected: type[Exception]) -> None:
    """Check that a parser raises only errors that are expected, in a short time."""
    began, most = process_time(), getrusage(RUSAGE_SELF).ru_maxrss
    try:
        parse()
    except Exception as error:
        if not isinstance(error, (TacticianError, *expected)):
            raise
        str(error).encode()  # can be shown
    assert process_time() - began < _SECONDS
    assert getrusage(RUSAGE_SELF).ru_maxrss - most < _KILOBYTES


@examples(FUZZED)
@given(hostile)
@example("(" * 499)
@example("(" * 240 + "a" + ")" * 240)
@example("not " * 120 + "a")
def test_expressions(text: str) -> None:
    run(lambda: parse_expression(text), ExpressionError)


@pytest.mark.parametrize("kind", ["json", "yaml", "toml"])
@examples(FUZZED)
@given(text=hostile)
@example(text="a = " + "[" * 100_000)
@example(text="a" + ".a" * 100_000 + " = 1")
@example(text="[" * 100_000)
@example(text="a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]")
@example(text="9" * 5_000)
def test_documents(kind: str, text: str) -> None:
    run(lambda: read_document(text, kind))  # type: ignore[arg-type]  # one of the three


_ENTRY = {"id": "a", "provider": "openai", "url": "https://a.example", "key": "k", "models": "m"}
_FIELDS = st.sampled_from(
    [
        *_ENTRY,
        "rateLimits",
        "tokenLimits",
        "maxConcurrency",
        "kinds",
        "pricing",
        "apiFormat",
        "apiVersion",
        "region",
        "x",
    ]
)


@examples(FUZZED)
@given(st.dictionaries(_FIELDS, values | st.dictionaries(st.sampled_from(["m", "*"]), values, max_size=2), max_size=4))
@example({"rateLimits": {"m": 10**400}})
@example({"url": "https://a]b"})
@example({"url": "https://user:password@a.example"})
def test_instances(changes: dict[str, object]) -> None:
    run(lambda: ModelRouter.from_json(json.dumps([{**_ENTRY, **changes}])))


@examples(FUZZED)
@given(hostile | hostile.map("https://{}".format))
@example("https://a]b")
@example("https://\ud800")
@example("https://user:password@a.example/v1")
def test_addresses(url: str) -> None:
    run(lambda: Responder(base_url=url).create_model("m", environment={}))


@examples(FUZZED)
@given(st.dictionaries(st.sampled_from(["type", "name", "goal", "model", "members", "responder", "maxTurns"]), values))
def test_blueprints(data: dict[str, object]) -> None:
    run(lambda: Blueprint.from_data({"type": "agent", **data}).build(environment={}))


@examples(FUZZED)
@given(hostile)
@example("-----BEGIN " * 20_000)
@example("${A:-" * 20_000)
@example("```json\n" * 20_000)
@example("{" * 20_000)
def test_texts(text: str) -> None:
    def read() -> None:
        strip_code_fence(text)
        escape_controls(text).encode()
        replace_surrogates(text).encode()
        substitute_variables(text, lambda found: found.text)
        repair_arguments(text)

    run(read)


def test_a_blueprint_with_a_secret_in_a_long_text_is_found_soon() -> None:
    for text in ("-----BEGIN " * 20_000, "eyJa." * 20_000, "://a:" * 20_000, "key " * 20_000):
        run(lambda text=text: Blueprint.from_data({"type": "agent", "name": text}).build(environment={"A_KEY": text}))  # type: ignore[misc]


@pytest.mark.parametrize("path", ["[*].a", "[*][0]", "[*][*]", "[*].a.b"])
@pytest.mark.parametrize("piece", ["1,", "[],", '{"a":1},', '"a",'])
def test_a_query_of_much_json_is_answered_soon(path: str, piece: str) -> None:
    data = json.loads(f"[{piece * (MAX_DATA // len(piece))}0]")
    run(lambda: find_value(data, path))


def test_a_trace_that_is_no_trace_is_refused_soon() -> None:
    for text in ("[" * 200_000, '{"nodes":[{"children":' * 5_000, "9" * 5_000, "\ud800", "{}" * 50_000):
        run(lambda text=text: read_nodes(text))  # type: ignore[misc]


_REPEATED = (
    *("(", "[", "-", "1+", "9**", "a.", "[0]", "..", "<a ", "<div>", "<!--", "&amp;", '"', "+a ", '"a" ', "~"),
    *("data: x\n\n", "data:\n", "\r\n", "\n", "漢", "a-"),
)
_READERS: dict[str, Callable[[str], object]] = {
    "sums": lambda text: calculate(text[:MAX_LENGTH]),
    "paths": lambda text: find_value({"a": [1]}, text[:900]),
    "pages": extract_text,
    "titles": extract_title,
    "queries": parse_text_query,
    "questions": parse_question,
    "events of models": lambda text: [decoder := SseDecoder(), decoder.feed(text.encode()), decoder.close()],
}


@pytest.mark.parametrize("name", _READERS)
@pytest.mark.parametrize("piece", _REPEATED)
def test_what_repeats_for_long_is_read_soon(name: str, piece: str) -> None:
    run(lambda: _READERS[name](piece * (80_000 // len(piece))), ValueError)
