"""Libraries as references: the tools of a model, citations, and what a user may see."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tactician import Agent, Ai, Platform, UserInput, achieves_goal, action, planned_agent
from tactician.errors import DeclarationError, ToolError
from tactician.llm.messages import SystemMessage
from tactician.process import Blackboard
from tactician.rag import (
    Chunk,
    ChunkHit,
    CitationCheck,
    Filter,
    HypotheticalDocument,
    Library,
    RagSearch,
    RagTools,
    SearchMethod,
    SearchResults,
    VectorLibrary,
    Where,
    find_citations,
    format_citation,
    parse_markdown,
)
from tactician.rag.operations import TOP_K
from tactician.runs import OutputError, RunContext
from tactician.testing import ScriptedModel, ToolCall
from tests.rag.embedders import CountingEmbedder
from tests.support.effort import examples

HANDBOOK = """# Handbook

## Returns

Goods come back within 30 days. The parcel needs the number RMA-1234.

## Refunds

The refund comes within five days.
"""
SALARIES = "# Salaries\n\nAda earns 1000 gold pieces.\n"


@pytest.fixture
async def library() -> Library:
    library = Library()
    await library.add(parse_markdown(HANDBOOK, "handbook.md", metadata={"readers": "all"}))
    await library.add(parse_markdown(SALARIES, "salaries.md", metadata={"readers": ["boss", "owner"]}))
    return library


@pytest.fixture
async def vectors(library: Library) -> VectorLibrary:
    return Library(library.store, embedder=CountingEmbedder())


def names(rag: RagTools) -> list[str]:
    return [tool.name for tool in rag.named_tools]


async def call(rag: RagTools, name: str, **arguments: object) -> str:
    tool = next(tool for tool in rag.named_tools if tool.name.endswith(name))
    result = await tool.call(json.dumps(arguments), RunContext.over(ScriptedModel()))
    return str(result)


@dataclass
class VectorsOnly:
    """A library of somebody else that finds everything by meaning, and ignores filters."""

    chunks: Sequence[Chunk]
    queries: list[str] = field(default_factory=list)

    async def vector(
        self, query: str, *, top_k: int = TOP_K, threshold: float = 0.0, where: Where = None
    ) -> SearchResults:
        self.queries.append(query)
        hits = tuple(ChunkHit(chunk, 0.5, (SearchMethod.VECTOR,)) for chunk in self.chunks)
        return SearchResults(hits[:top_k], SearchMethod.VECTOR, "Half of the library was searched.")


def chunk(id: str, text: str, **metadata: str) -> Chunk:
    return Chunk(id=id, uri=f"{id}.md", path=("Notes",), text=text, metadata=metadata)


async def test_a_model_has_the_tools_for_what_the_library_can_do(library: Library, vectors: VectorLibrary) -> None:
    words = ["help_text_search", "help_regex_search", "help_broaden_chunk", "help_zoom_out"]
    assert names(RagTools("Help", "All about orders", library)) == words
    assert names(RagTools("Help", "All about orders", vectors)) == ["help_vector_search", *words]
    assert names(RagTools("Help", "x", VectorsOnly(()))) == ["help_vector_search"]
    with pytest.raises(DeclarationError, match="cannot be searched: a library has at least one of the methods"):
        RagTools("Help", "x", 7)  # type: ignore[arg-type]


async def test_searches_show_chunks_with_their_marks(library: Library, vectors: VectorLibrary) -> None:
    (hit,) = await library.text("parcel")
    mark = format_citation(hit.id)
    rag = RagTools("Help", "x", vectors)

    expected = f"{mark} Handbook > Returns (score 1.00)\n{hit.text}"
    assert await call(rag, "text_search", query="+parcel -ada") == expected
    assert mark in await call(rag, "vector_search", query="parcels", threshold=0.2)
    assert (await call(rag, "regex_search", regex=r"RMA-\d+")).startswith(mark)
    assert "Nothing was found." in await call(rag, "text_search", query="zebra")
    for arguments in ({"query": "-zebra"}, {"query": "x", "top_k": 0}, {"query": "x", "threshold": 2}):
        with pytest.raises(ToolError):
            await call(rag, "text_search", **arguments)
    with pytest.raises(ToolError):
        await call(rag, "regex_search", regex="(")


async def test_a_chunk_is_broadened_and_its_section_read(library: Library) -> None:
    (hit,) = await library.text("parcel")
    rag = RagTools("Help", "x", library)

    around = await call(rag, "broaden_chunk", chunk_id=hit.id, chunks_to_add=1)
    assert len(find_citations(around)) == 2
    assert "five days" in around
    section = await call(rag, "zoom_out", id=format_citation(hit.id))
    assert section.startswith("Section ")
    assert "RMA-1234" in section
    assert "five days" in await call(rag, "zoom_out", id=section.split()[1].rstrip(":"))
    for name, argument in (("broaden_chunk", "chunk_id"), ("zoom_out", "id")):
        with pytest.raises(ToolError, match="There is no"):
            await call(rag, name, **{argument: "nowhere.1"})


async def test_long_results_are_cut(library: Library) -> None:
    rag = RagTools("Help", "x", VectorsOnly([chunk(str(n), "word " * 100) for n in range(9)]), max_chars=1200)
    shown = await call(rag, "vector_search", query="x")
    assert shown.endswith("[7 more left out]\n\nHalf of the library was searched.")
    tight = RagTools("Help", "x", library, max_chars=50)
    assert "[the text is cut here]" in await call(tight, "text_search", query="parcel")


async def test_the_instructions_say_how_to_search(library: Library, vectors: VectorLibrary) -> None:
    hint = HypotheticalDocument().contribution()
    told = RagTools("Help", "All about orders", vectors).contribution()
    assert hint in told
    assert "Put the marks of the chunks" in told
    assert hint not in RagTools("Help", "x", library).contribution()
    silent = RagTools("Help", "x", vectors, hints=[lambda: "Search twice."], cites=False)
    assert silent.contribution().endswith("Search twice.")
    assert "marks" not in silent.contribution()


async def test_listeners_hear_queries_and_hits(library: Library, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[RagSearch] = []

    def fail(search: RagSearch) -> None:
        raise ValueError("no")

    rag = RagTools("Help", "x", library, listeners=[fail]).with_listener(heard.append)
    await call(rag, "text_search", query="parcel")
    (search,) = heard
    assert (search.query, search.method, len(search.hits)) == ("parcel", SearchMethod.TEXT, 1)
    assert "a listener of Help failed" in caplog.text


async def test_an_agent_answers_with_citations(library: Library) -> None:
    (hit,) = await library.text("refund")
    mark = format_citation(hit.id)
    model = ScriptedModel(ToolCall("help_text_search", query="refund"), f"Five days. {mark}")
    agent = Agent("Help", model=model, tools=[rag := RagTools("Help", "All about orders", library)])

    answer = (await agent.run("When is my refund?")).output
    cited = await rag.resolve_citations(answer)
    assert str(cited) == "Five days. [1]\n\n[1] Handbook > Refunds (handbook.md)"
    assert [citation.id for citation in cited.citations] == [hit.id]
    assert model.calls[0].messages[0] == SystemMessage(rag.contribution())
    assert mark in str(model.calls[1].messages[-1])


async def test_an_answer_with_an_unknown_citation_is_refused(library: Library) -> None:
    (hit,) = await library.text("refund")
    rag = RagTools("Help", "x", library)
    good = f"Five days. {format_citation(hit.id)}"
    model = ScriptedModel("Six. [cite:made.1]", "Seven.", good)
    agent = Agent("Help", model=model, tools=[rag], output_guardrails=[CitationCheck(rag, required=True)])

    assert (await agent.run("When?")).output == good
    assert "These citations are of no chunk: made.1." in model.calls[1].prompt
    assert "that a search has shown. Answer again" in model.calls[1].prompt
    assert "Cite the chunks that support your answer" in model.calls[2].prompt

    stubborn = ScriptedModel(*["Six. [cite:made.1]"] * 3)
    with pytest.raises(OutputError):
        await stubborn.ai().with_reference(rag).with_output_guardrails(CitationCheck(rag)).generate_text("When?")


async def test_an_answer_for_a_reader_marks_unknown_citations(library: Library) -> None:
    hits = await library.text("refund parcel", top_k=2)
    first, second = (hit.id for hit in hits)
    rag = RagTools("Help", "x", library)

    text = f"A [cite:{first}] b [cite: {second}, made.1] c [CITE:cite:{first}]. See [a link](cite) and [cite]."
    cited = await rag.resolve_citations(text)
    assert cited.text == "A [1] b [2][?] c [1]. See [a link](cite) and [cite]."
    assert cited.unknown == ("made.1",)
    assert len(cited.sources) == 2
    assert (await rag.resolve_citations("nothing")).citations == ()
    with pytest.raises(DeclarationError, match="citations need a library with load_chunks"):
        await RagTools("Help", "x", VectorsOnly(())).resolve_citations("[cite:x]")


async def test_chunks_for_a_model_that_cannot_search(library: Library, vectors: VectorLibrary) -> None:
    rag = RagTools("Help", "x", library)
    for searched in (library, vectors):
        rag = RagTools("Help", "x", searched).within({"readers": "all"})
        found = await rag.retrieve("What number does the parcel need?", top_k=1)
        model = ScriptedModel("RMA-1234")
        await model.ai().with_prompt_contributor(found).generate_text("What number?")
        text = "Passage 1, Handbook > Returns:\nHandbook > Returns\n\nGoods come back within 30 days."
        assert model.calls[0].messages[0] == SystemMessage(f"{text} The parcel needs the number RMA-1234.")
        assert found.cite(1, 2, 0, 1) == format_citation(found.chunks[0].id)
    assert (await rag.retrieve("gold")).contribution().count("gold") == 0
    with pytest.raises(DeclarationError, match="needs a library with search or vector"):
        await RagTools("Help", "x", library.store).retrieve("x")


async def test_what_a_user_may_see(library: Library) -> None:
    everybody = RagTools("Help", "x", library).within({"readers": "all"})
    assert "Nothing was found." in await call(everybody, "text_search", query="gold")
    (secret,) = await library.text("gold")
    assert "gold" in await call(everybody.within({"readers": "boss"}), "text_search", query="gold")
    for name, argument in (("broaden_chunk", "chunk_id"), ("zoom_out", "id")):
        with pytest.raises(ToolError, match="There is no"):
            await call(everybody, name, **{argument: secret.id})
    assert (await everybody.resolve_citations(f"[cite:{secret.id}]")).unknown == (secret.id,)


async def test_the_scope_of_a_run_fails_closed(library: Library) -> None:
    rag = RagTools("Help", "x", library, scope=lambda context: None)
    for name, arguments in (("text_search", {"query": "refund"}), ("zoom_out", {"id": "x"})):
        with pytest.raises(ToolError, match="Nothing in Help may be searched here"):
            await call(rag, name, **arguments)

    async def permit(context: RunContext) -> Mapping[str, str]:
        return {"readers": "all"}

    assert "five days" in await call(rag.within(permit), "text_search", query="refund")


@dataclass(frozen=True)
class Answer:
    """An answer."""

    text: str


def scope_of_user(context: RunContext) -> Filter | None:
    board = context.find(Blackboard)
    user = None if board is None else board.last(Reader)
    return None if user is None else Filter.of({"readers": user.name})


@dataclass(frozen=True)
class Reader:
    name: str


@planned_agent(description="Answers readers")
class Librarian:
    def __init__(self, rag: RagTools) -> None:
        self.rag = rag

    @achieves_goal("An answer")
    @action
    async def answer(self, question: UserInput, reader: Reader, ai: Ai) -> Answer:
        return Answer(await ai.with_reference(self.rag).generate_text(question.content))


async def test_the_user_of_a_process_decides_what_is_found(library: Library) -> None:
    rag = RagTools("Help", "x", library, scope=scope_of_user)
    for reader, finds in (("boss", True), ("all", False)):
        model = ScriptedModel(ToolCall("help_text_search", query="gold"), "x")
        await Platform(model).start(Librarian(rag), UserInput("How much?"), Reader(reader))
        assert ("1000 gold pieces" in str(model.calls[1].messages[-1])) is finds


WORDS = ["apple", "river", "stone", "cloud"]
ROLES = st.sets(st.sampled_from(["ann", "bob", "cat"]), max_size=3)
DOCUMENTS = st.lists(st.tuples(ROLES, st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)), min_size=1, max_size=4)
QUERIES = st.sampled_from([*WORDS, "apple river", "+apple", "-apple river", "secret*", "secrt~", "secret0 secret1"])


@examples(50, *HealthCheck)
@given(DOCUMENTS, st.sampled_from(["ann", "bob", "cat", "dan"]), QUERIES, st.booleans())
async def test_a_chunk_that_a_user_may_not_see_is_never_found(
    documents: list[tuple[set[str], list[str]]], user: str, query: str, ignores_filters: bool
) -> None:
    async with Library(embedder=CountingEmbedder()) as library:
        ids = await fill(library, documents)
        chunks = await library.load_chunks(list(ids))
        searched = VectorsOnly(chunks) if ignores_filters else library
        rag = RagTools("Help", "x", searched).within({"readers": user})
        shown = [await attempt(rag, "vector_search", query=query, top_k=50)]
        if not ignores_filters:
            shown += [await attempt(rag, name, query=query, top_k=50) for name in ("text_search",)]
            shown.append(await attempt(rag, "regex_search", regex="secret.*|.*", top_k=50))
            shown += [await attempt(rag, "broaden_chunk", chunk_id=each, chunks_to_add=20) for each in ids]
            shown += [await attempt(rag, "zoom_out", id=each) for each in (*ids, *await outer_ids(library, ids))]
            cited = await rag.find_cited_chunks(" ".join(map(format_citation, ids)))
            shown += [chunk.text for chunk in cited]
        everything = "\n".join(shown)
        for number, (readers, _) in enumerate(documents):
            if user not in readers:
                assert f"secret{number}" not in everything
                assert f"Title{number}" not in everything
            elif not ignores_filters:
                assert f"secret{number}" in everything


async def fill(library: Library, documents: list[tuple[set[str], list[str]]]) -> list[str]:
    """The documents in a library, and the ids of their chunks."""
    for number, (readers, words) in enumerate(documents):
        text = f"# Title{number}\n\n## Part\n\nsecret{number} {' '.join(words)}\n\n## Other\n\nsecret{number} river\n"
        metadata = {"readers": sorted(readers)} if readers else {}
        await library.add(parse_markdown(text, f"{number}.md", metadata=metadata))
    return [hit.id for hit in await library.regex("secret", top_k=50)]


async def outer_ids(library: Library, ids: Sequence[str]) -> list[str]:
    """The ids of all that is around chunks."""
    outer: list[str] = []
    for each in ids:
        inner = each
        while (element := await library.zoom_out(inner)) is not None and element.id not in outer:
            outer.append(element.id)
            inner = element.id
    return outer


async def attempt(rag: RagTools, name: str, **arguments: object) -> str:
    """The result of a tool, or its error without what the model itself has written."""
    try:
        return await partial(call, rag, name)(**arguments)
    except ToolError:
        return ""
