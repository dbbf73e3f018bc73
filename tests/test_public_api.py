"""The public names: those that the documentation names, and no others.

A change here is a change of the contract: make it on purpose, and say so in the changelog. All else is imported from
the module that defines it, and may change (tests/test_layers.py).
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

import pytest
from docs._ext.reference_tables import TABLES

import tactician
from tests.docs.pages import DOCS, ROOT, Block, list_blocks, list_pages
from tests.support.modules import HAS_EVALS
from tests.test_layers import exported_by, is_package, modules

PUBLIC = {
    "tactician": """
        achieves_goal action Agent AgentDefinition AgenticTool AgentNetwork AgentService Ai approve ask_human
        AssistantMessage Autonomous Autonomy Blackboard Blueprint Budget by_name Chatbot component condition
        confirm consensus ContextFormat ContextFormatter cost days Delegation Department Edge END Ensemble
        Export Feedback Graph GuardrailResult Handoff handoff HierarchicalAgents HierarchicalConstraints Image
        InProcessMemory LlmOptions log Loop MapReduce InProcessReflections MemoryStore ModelRouter OperationContext
        ParallelAgents Phase PhaseDecision PhaseReview Planned planned_agent PlannedAgent Planner Platform
        ProcessOptions ProcessStatus Reflection reject repeat_until repeat_until_acceptable resolve Review
        ReviewDecision ReviewPolicy RouterAgent RunContext Runnable runnable RunResult RunStatus scatter_gather
        Scope simple_agent SomeOf SqliteStore SqlMemory SqlReflections state SupervisorAgent
        SupervisorInvocation Task Tool tool ToolError ToolGroup ToonFormatter UserInput UserMessage Verbosity
        Window Workflow
    """,
    "tactician.a2a": """
        A2aMessage RemoteAgent RemoteCardError RemoteTaskChanged RemoteTaskError RemoteUnavailableError
    """,
    "tactician.agents": """
        achieves_goal action Agent AgentDefinition AgenticTool AgentNetwork BaseRunnable by_name combine_specs
        component condition cost Department HierarchicalAgents ParallelAgents Planned planned_agent PlannedAgent
        Planner resolve RouteChosen RouterAgent runnable RunnableTool state SupervisorAgent
    """,
    "tactician.agents.flows": """
        consensus Feedback repeat_until repeat_until_acceptable scatter_gather Scored simple_agent
    """,
    "tactician.ai": "Ai",
    "tactician.blueprint": """
        AgentRegistry Blueprint blueprint_exporter blueprint_type BlueprintWarning build_outline Builder
        compare_blueprints export_blueprint Exporter json_schema Limits
    """,
    "tactician.chat": "Chatbot ChatProgress ChatUser QueueChannel",
    "tactician.cli": "main shell_command ShellOption",
    "tactician.code_mode": "CodeLimits CodeTool",
    "tactician.coding": """
        CodingAgent CodingOutput CodingTask CodingWindow CommandPolicy detect_project FileChanged Project ProjectPart
        SuiteMeasured ToolBackend Workspace WorkspaceError
    """,
    "tactician.config": "ModelSettings Settings",
    "tactician.conversation": """
        chain ChatUser CompactToolResults Conversation ConversationStore ConversationSummarized
        find_token_counter MessageWindow SlidingWindow Summarization WindowStrategy
    """,
    "tactician.ensemble": """
        AskPerson CompositeError ConsoleReviewer ConstraintViolationError days Delegation DelegationCompleted
        DelegationContext DelegationDecision DelegationFailed DelegationRequest DelegationResponse
        DelegationStarted Edge END Ensemble EnsembleDefinitionError EnsembleResult ExitReason Graph GraphError
        HierarchicalConstraints Improvement InProcessMemory Loop LoopLimitError MapReduce MapReduceError
        InProcessReflections Phase PhaseCompleted PhaseDecision PhaseFailed PhaseResumed PhaseReview PhaseReviewed
        PhaseReviewError PhaseStarted PredicateError Reflection ReflectionInput ReflectionStore Review
        ReviewDecided ReviewDecision ReviewPolicy ReviewRejectedError ReviewRequested Revision Scope ScopeEntry
        SqlMemory SqlReflections Task TaskCompleted TaskFailed TaskFailedError TaskInput TaskOutput TaskOutputs
        TaskReflected TaskReflection TaskRestored TaskResumed TaskSkipped TaskStarted TaskSuspended Window
        Workflow
    """,
    "tactician.ensemble.delegation": "allow modify reject",
    "tactician.evals": """
        cases_from_conversations cases_from_runs Cheaper Cites compare_reports compare_scores
        DialogueTranscript EvalContext EvalReport evaluate evaluate_plans evaluate_plans_sync evaluate_sync
        EVALUATORS Faster HandedTo Judge load_dataset PersonJudge PlanAvoids PlanCost PlanOrder PlanUses
        Replans ReportComparison Retrieved Reviewed RulesHeld Schema ScoreComparison Similar SimulatedDialogue
        SimulatedUser TasksDone ToolsCalled TrialSeed
    """,
    "tactician.events": "Event event_from_json event_to_json EventLog read_event_log subscribe_everywhere",
    "tactician.guardrails": """
        blocked_words failed GuardrailChecked GuardrailError GuardrailResult input input_guardrail matches
        max_length no_match output output_guardrail passed retry tool_input tool_input_guardrail tool_output
        tool_output_guardrail
    """,
    "tactician.integrations.otel": "create_listener enable",
    "tactician.llm": """
        AssistantMessage CircuitBreakerPolicy CircuitClosed CircuitOpened Deployment Document EmbeddedModel
        EmbeddingModel Endpoint Features Image ImageModel LanguageModel LlmOptions Message
        ModelCatalog ModelFellBack ModelLike ModelPrice ModelRequest ModelResponse ModelRetryPolicy ModelRouter
        OneModel PydanticAiModel RequestDelayed RequestRetried RequestRouted Responder RetrySettings
        RoutingOptions Text Thinking ToolCall ToolResult TraceMetadata Usage UserMessage
    """,
    "tactician.llm.wire": "Dialect",
    "tactician.loop": """
        Autonomous HandedOff Handoff handoff last_messages output_type OutputRejected PartialReceived
        PieceReceived read_answer_text TextReceived ThinkingReceived ToolAnswered ToolCalled ToolInterrupted
        ToolRefused ToolReturned TurnCompleted TurnFailed TurnStarted without_tools
    """,
    "tactician.mcp": "filesystem git McpError McpProgress McpServer",
    "tactician.mesh": """
        BreakerClosed BreakerOpened Delivery DirectiveReceived FallbackUsed Mesh Node NodeJoined NodeLeft NodeMeasured
        Priority ReplyReused RequestAccepted RequestCompleted RequestProgressed RequestRejected RequestResent
        RequestSent RequestStarted Retries ScheduleFired sticky WorkAnswered
    """,
    "tactician.planning": """
        Action AStarPlanner Goal HybridPlanner MEASURED Objective Plan PlanningBudget RunEstimate SearchLimitExceeded
        UNKNOWN UtilityPlanner Verdict WorldState
    """,
    "tactician.platform": """
        Autonomy Platform replay_events Request RunReader RunTree RunView SupervisorInvocation Worker
    """,
    "tactician.process": """
        ActionCompleted ActionRefused ActionResumed ActionRetryPolicy ActionStarted ActionSuspended AgentProcess
        ask_human
        Blackboard confirm draw_agent Export formerly MessageSent OperationContext PlanMade PlanReview PlanningEnded
        PlanningStarted ProcessEnded ProcessError ProcessFailedError ProcessHandle ProcessOptions ProcessStarted
        ProcessStatus ProcessStuckError ProcessWaitingError ProgressReported Rejection SomeOf upgrades UserInput
        Verbosity
    """,
    "tactician.prompts": """
        CurrentDate FolderPrompts InstructionFile InstructionTemplate KnowledgeCutoff LangfusePrompts
        LlmReference Persona Place prompt_providers PromptContributor ProvidedInstructions Reference
        RoleGoalBackstory Templates
    """,
    "tactician.rag": """
        Chunk ChunkHit Chunking ChunkStore Citation CitationCheck CitedText Condition ContainerSection
        ContentElement ContentRoot DocumentRecord Filter find_citations FolderLibrary format_citation
        HybridSearch HypotheticalDocument IngestionFailure IngestionProgress IngestionReport LeafSection Library
        ModelReranker parse_markdown ParserLimits PostgresChunkStore RagSearch RagTools RankedChunk
        RefreshPolicy RegexSearch Reranker ResultExpansion RetrievedChunks ScopeFunction SearchMethod
        SearchQueryError SearchResults Section split_document SqliteChunkStore StoreStatistics TextSearch
        TextToEmbed UnreadableDocumentError VectorLibrary VectorSearch Where WordLlamaEmbedder
    """,
    "tactician.references": """
        GitRepository load_references LocalDirectory PackageResource PythonApi TextFile WebPage
    """,
    "tactician.runs": """
        approve Budget BudgetError ChatUser HandoffError Input list_prompts ModelCalled ModelReturned
        NoConsensusError OutputError PendingRequest reject RepeatLimitError report_retrieval RequestAnswered
        resume_run RetrievalEnded RetrievalStarted RoutingError RunCompleted RunContext RunEnded RunError
        RunKilledError Runnable RunParameter RunResult RunStarted RunState RunStatus RunSuspended Services
        StreamTimeoutError TurnLimitError
    """,
    "tactician.serve": """
        a2a_app A2aSettings ag_ui_app app ClientModel GrpcSettings list_client_roots load_people McpPublisher
        McpResource Person RequestLimits ServedPrompt
    """,
    "tactician.service": "AgentService",
    "tactician.skills": "is_sandbox_available ScriptLimits Skills",
    "tactician.stores": "DocumentStore MemoryStore open_store PostgresStore SqliteStore StoreVariable",
    "tactician.testing": "FakeClock FakeContext ScriptedModel ScriptError ToolCall",
    "tactician.tools": """
        adapt Artifact ArtifactProduced as_tool calculator collect_artifacts CoreToolGroups date_time
        DeclaredTool fetch_page FunctionTool http_request pipeline query_json read_file require_declared_tools
        run_program RunnableTool SearchHit SearxngSearch select_tools TavilySearch Tool tool ToolGroup
        ToolGroupPermission ToolObject ToolOutput web_search write_file
    """,
    "tactician.trace": "Recorder Trace",
}


PAGES = [page for page in list_pages() if DOCS / "decisions" not in page.parents and page.name != "architecture.md"]
"""The pages for users: others explain how the package is built."""
_FENCE = re.compile(r"^[ \t]*(`{3,}).*?^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")
_ROW = re.compile(r"^\s*(?:-|\|) `(\w+)`")
"""Row of a generated table of errors or events."""


class Mention(NamedTuple):
    """A name of a module in the documentation."""

    module: str
    name: str
    place: str


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_a_package_exports_exactly_its_public_names(package: str) -> None:
    assert set(import_module(package).__all__) == set(PUBLIC[package].split())


def test_every_package_of_the_top_is_frozen() -> None:
    exporting = {one for one in modules() if is_package(one) and one.count(".") == 1 and exported_by(one)}
    assert exporting <= PUBLIC.keys(), "a package exports what no page names"


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_every_exported_name_exists(package: str) -> None:
    if package == "tactician.evals" and not HAS_EVALS:
        pytest.skip("the extra `evals` is not installed")
    module = import_module(package)
    assert sorted(name for name in module.__all__ if not hasattr(module, name)) == []
    assert len(set(module.__all__)) == len(module.__all__)


def list_programs() -> list[Block]:
    """Return the programs of the pages and of the examples."""
    blocks = [block for block in list_blocks("python") if ROOT / block.page in PAGES]
    files = sorted((ROOT / "examples").rglob("*.py"))
    return [*blocks, *(Block(str(file.relative_to(ROOT)), "python", 1, file.read_text("utf-8")) for file in files)]


def list_code() -> Iterator[tuple[str, str]]:
    """Yield the page and the text of each piece of code within a sentence."""
    for page in PAGES:
        for text in _INLINE.findall(_FENCE.sub("", page.read_text("utf-8"))):
            yield page.relative_to(ROOT).as_posix(), text


@cache
def documented_names() -> frozenset[str]:
    """Return all identifiers of the documentation, of the examples, and of the generated tables."""
    names: set[str] = set()
    for program in list_programs():
        for node in ast.walk(ast.parse(program.text)):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                    names.add(name)
    for _, text in list_code():
        names.update(re.findall(r"[A-Za-z_]\w*", text))
    rows = [row for table in ("errors", "events") for row in TABLES[table]()]
    return frozenset(names | {match[1] for row in rows if (match := _ROW.match(row))})


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_the_documentation_names_every_public_name(package: str) -> None:
    hidden = sorted(set(PUBLIC[package].split()) - documented_names())
    assert hidden == [], "describe it on a page, or import it from the module that defines it"


def list_mentions() -> Iterator[Mention]:
    """Yield the names that programs import, and the paths within sentences."""
    for program in list_programs():
        for node in ast.walk(ast.parse(program.text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tactician":
                yield from (Mention(node.module or "", alias.name, str(program)) for alias in node.names)
    for page, text in list_code():
        for path in re.findall(r"\btactician(?:\.\w+){2,}", text):
            module, _, name = path.rpartition(".")
            if module in modules():
                yield Mention(module, name, page)


def is_public(mention: Mention) -> bool:
    """Tell whether a package exports a name; modules of the root, and modules that a page names, are public too."""
    if f"{mention.module}.{mention.name}" in modules():
        return True
    if mention.module in PUBLIC:
        return mention.name in PUBLIC[mention.module].split()
    return not is_package(mention.module)


def test_programs_of_the_documentation_import_only_public_names() -> None:
    mentions = list(list_mentions())
    assert len(mentions) > 300
    assert [mention for mention in mentions if not is_public(mention)] == [], "export it, and freeze it above"


FOREIGN = {"TaskGroup"}
"""Classes of other libraries that pages name, and that modules here have too."""


def test_classes_that_a_sentence_names_are_public() -> None:
    words = {word for _, text in list_code() for word in re.findall(r"\b(?:[A-Z][a-z0-9]+){2,}\b", text)} - FOREIGN
    frozen = {name for names in PUBLIC.values() for name in names.split()}
    offered = {mention.module for mention in list_mentions()}
    hidden = {
        node.name: module
        for module, file in modules().items()
        if module.count(".") > 1 and module not in offered
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name in words - frozen
    }
    assert hidden == {}, "export it, and freeze it above"


def test_the_top_level_resolves_every_name_and_lists_it() -> None:
    exported = import_module("tactician").__all__
    assert all(getattr(tactician, name) is not None for name in exported)
    assert set(exported) <= set(dir(tactician))


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="'tactician' has no attribute 'Agnet'"):
        getattr(tactician, "Agnet")  # noqa: B009
