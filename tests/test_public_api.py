"""The public names. A change here is a change of the contract: make it on purpose, and say so in the changelog."""

from importlib import import_module

import pytest

import tactician

PUBLIC = {
    "tactician.a2a": """
        A2aData A2aMessage A2aPart IDEMPOTENCY_KEY JsonObject REQUESTS REQUEST_ID RemoteAgent RemoteCardError
        RemoteOptions RemoteSettings RemoteTaskChanged RemoteTaskError RemoteUnavailableError SKILL_ID create_parts
        from_wire_message from_wire_parts open_http restore_whole_numbers sign_card to_json_object
        to_wire_part
    """,
    "tactician": """
        achieves_goal action Agent AgentDefinition AgenticTool AgentNetwork AgentService Ai approve ask_human
        AssistantMessage Autonomous Autonomy Blackboard Blueprint Budget by_name Chatbot component condition confirm
        consensus ContextFormat ContextFormatter ToonFormatter cost days Delegation Department Edge END Ensemble Export
        Feedback Graph Handoff handoff HierarchicalAgents HierarchicalConstraints Image InProcessMemory
        LlmOptions log Loop MapReduce MemoryReflections ModelRouter OperationContext ParallelAgents Phase
        PhaseDecision PhaseReview Planned planned_agent PlannedAgent Planner Platform ProcessOptions
        ProcessStatus Reflection reject repeat_until repeat_until_acceptable resolve Review ReviewDecision
        ReviewPolicy RouterAgent RunContext runnable Runnable RunResult RunStatus scatter_gather Scope
        simple_agent SomeOf SqlMemory SqlReflections state SupervisorAgent SupervisorInvocation Task Tool tool
        ToolGroup UserInput UserMessage Verbosity Window Workflow GuardrailResult MemoryStore SqliteStore ToolError
    """,
    "tactician.agents": """
        Agent AgentDefinition AgenticTool AgentNetwork AgentSettings AgentSpec BLUEPRINTS BaseRunnable BlueprintLike
        RemoteChannel RemoteMessage RemoteOutput RemoteTask RemoteWait ComponentAgent PromptCreator Broadcast
        WindowDefinition DEFAULT_SUPERVISOR_ROUNDS DEFINITIONS Department FirstOf FunctionRunnable LEADER
        HandoffDefinition HierarchicalAgents Member ParallelAgents Planned PlannedAgent Planner TypedRunnable
        RouterAgent RouteChosen RunnableTool SupervisorAgent Synthesis ModelWithTemperature achieves_goal action
        as_runnable by_name combine_specs component build_component_agent condition cost is_component
        is_component_class is_planned is_planned_class list_inner list_input_objects planned_agent planned_spec
        run_in_conversation build_process_spec find_planned_specs find_process_spec find_start raise_unless_completed
        resolve runnable state supervise
    """,
    "tactician.agents.flows": """
        DEFAULT_MAX_ITERATIONS DEFAULT_THRESHOLD Feedback RepeatUntil RepeatUntilAcceptable ScatterGather Scored
        SimpleAgent StepLike consensus repeat_until repeat_until_acceptable scatter_gather simple_agent
    """,
    "tactician.ai": "Ai attach_images",
    "tactician.blueprint": """
        AgentBlueprint AgentRegistry Blueprint BlueprintRef BlueprintWarning Builder DEFAULT_LIMITS Difference
        EnsembleBlueprint Exporter
        FunctionBlueprint HierarchicalBlueprint Limits NetworkBlueprint Node Outline ParallelBlueprint PlannedBlueprint
        RemoteBlueprint ResolvedBlueprint RouterBlueprint SupervisorBlueprint create_blueprint blueprint_type
        create_definition compare_blueprints export_blueprint blueprint_exporter json_schema build_outline
        resolve_references
    """,
    "tactician.chat": """
        Chatbot ChatProgress ChatReply ChatSession ChatUser QueueChannel find_chatbot reacts_to_messages
    """,
    "tactician.cli": "ShellOption main shell_command",
    "tactician.conversation": """
        Chain ChatUser CompactToolResults WindowStrategy ConversationSummarized Conversation ConversationStore ESTIMATE
        ConversationSummary find_run_id
        Messages RunPart SlidingWindow Summarization TextCounter TokenCounter
        MessageWindow chain count_equal find_token_counter repair_history
    """,
    "tactician.ensemble": """
        AskPerson Composite CompositeError ConsoleReviewer ConstraintViolationError days Delegation DelegationCompleted
        DEFAULT_CHUNK_SIZE DelegationContext DelegationDecision DelegationFailed DelegationPolicy DelegationPriority
        DelegationRequest DelegationResponse DelegationStarted DelegationStatus Edge Embedder END Ensemble
        EnsembleDefinitionError EnsembleResult ExitReason find_composite Graph GraphError Handler
        HierarchicalConstraints Improvement InProcessMemory Loop LoopLimitError MapReduce MapReduceError
        MemoryReflections NestedEnsemble OnTimeout PersonReview Phase PhaseAttempt PhaseCompleted
        PhaseDecision PhaseFailed PhaseOutput PhaseResumed
        PhaseReview PhaseReviewed PhaseReviewer PhaseReviewError PhaseReviewRecord PhaseStarted PredicateError
        Reflection ReflectionInput ReflectionStore ReflectionStrategy rest_while_asking Review ReviewDecided
        ReviewDecision
        Reviewer ReviewPolicy ReviewRejectedError ReviewRequested Revision Scope ScopedMemory ScopeEntry
        SqlMemory SqlReflections Task TaskCompleted TaskErrorPolicy TaskFailed TaskFailedError TaskInput
        TaskLike TaskOutput TaskOutputs TaskReflected TaskReflection TaskRestored TaskResumed TaskSkipped
        TaskStarted TaskSuspended Window Workflow
    """,
    "tactician.events": """
        Event EventBus EventEmitter EventListener EventLog encode event_from_json event_to_json find_event_type new_id
        read_event_log subscribe_everywhere RunMoment MomentName OpenSpan OpenSpans SpanFacts SpanKind find_span_id
    """,
    "tactician.flow": """
        Dependent ErrorPolicy FlowStep RetryPolicy Scheduler StepCompleted StepFailed StepOutcome StepSkipped
        StepSuspended StepTimeoutError gather_or_suspend run_in_turn run_steps run_with_retries run_with_timeout
    """,
    "tactician.guardrails": """
        AnyGuardrail Check CheckedInput CheckedOutput CheckedToolOutput Checker Guardrail GuardrailChecked
        GuardrailError GuardrailKind GuardrailLike GuardrailOutcome GuardrailRegistry GuardrailResult
        InputGuardrail InputGuardrails Objection OutputGuardrail ToolInputGuardrail ToolOutputGuardrail
        find_any_objection as_input_guardrail as_output_guardrail as_tool_input_guardrail as_tool_output_guardrail
        blocked_words failed find_first_objection input input_guardrail matches max_length no_match output
        output_guardrail passed registry retry tool_input tool_input_guardrail tool_output tool_output_guardrail
    """,
    "tactician.mcp": """
        create_server filesystem git McpError McpHealth McpOptions McpProgress McpPrompt McpReference McpResult
        McpServer ServerTools
    """,
    "tactician.mesh": """
        Delivery Directory Mesh MeshCallOptions Node NodeCard NodeState Priority RemoteTaskRunnable RemoteTools
        RequestAccepted RequestCompleted RequestRejected RequestSent Ticket create_asyncapi
    """,
    "tactician.mesh.transports": """
        LeasedMessage PRIVATE SCHEMES Transport TransportError escape_name hide_credentials match_topic open_transport
    """,
    "tactician.notifications": """
        NotificationError UnsafeAddressError Webhook WebhookSender check_webhook_address create_webhook_secret send_once
        sign_webhook
    """,
    "tactician.platform": """
        AgentChoice Autonomy Conversations EnqueueOptions EventFeed FeedEntry GOALS GoalTool Host HostState METER_SPAN
        Mode ModelMeter ObjectView Picture Platform Ranked RecordedEvent Request RequestOptions Requests Role
        RunClient RunComparison RunReader RunTree RunView StepView SupervisorInvocation UsePoint Worker create_message
        create_model_agent create_request has_rested list_start_types read_picture replay_events
    """,
    "tactician.prompts": """
        ContributionFunction ContributorLike CurrentDate FolderPrompts FunctionContributor InstructionFile
        InstructionSource InstructionTemplate KnowledgeCutoff LangfusePrompts LlmReference ObjectContributor PackagePath
        Persona Place PromptContributor PromptProvider PromptProviders ProvidedInstructions Reference RoleGoalBackstory
        SupportsContribution Templates as_contributor build_instructions check_reference find_package_folders
        find_text_file find_variables load_default_templates prompt_providers read_text_file render_template
        render_variables split_references
    """,
    "tactician.rag": """
        Chunk ChunkHit Chunking ChunkStore Citation CitationCheck CitedText Condition ContainerSection
        ContentElement ContentRoot DocumentRecord Embedder Filter find_citations FolderLibrary format_citation
        HybridSearch HypotheticalDocument IngestionFailure IngestionProgress IngestionReport LeafSection
        Library Metadata ModelReranker parse_markdown ParserLimits PostgresChunkStore ProgressListener
        RagSearch RagTools RankedChunk RefreshPolicy RegexSearch Reranker ResultExpansion RetrievedChunks ScopeFunction
        SearchableLibrary SearchListener SearchMethod SearchQueryError SearchResults Section split_document
        SqliteChunkStore StoreStatistics TextSearch TextToEmbed UnreadableDocumentError VectorLibrary
        VectorSearch Where WordLlamaEmbedder
    """,
    "tactician.references": """
        CODE_ONLY CONTRIBUTOR_KINDS DEFAULT_SCHEMES EntryKind EntryObject EntryPath EntryScope FolderReference
        GitRepository LATE_KINDS LateKind LocalDirectory PackageResource PythonApi REFERENCE_KINDS ReferenceKind
        RepositoryAddress TextFile WebPage WritePath confine_paths create_contributor create_reference describe_entry
        fetch_repository find_cache_folder load_references
    """,
    "tactician.serve": """
        A2aSettings ClientModel ClientRoot GrpcSettings ServedPrompt McpPublisher McpResource Person RequestLimits
        a2a_app ag_ui_app app list_client_roots load_people
    """,
    "tactician.service": "AgentOptions AgentService ModelOptions Picture",
    "tactician.stores": """
        AT_ONCE Body DocumentStore HeldLease LEASE_HEARTBEAT Lease MemoryStore PostgresStore SqliteStore
        StoreAddress StoredDocument StoredStep StoreVariable SupportsJson
        list_documents open_store store_path escape_invalid translate_json_errors
    """,
    "tactician.trace": """
        CONTENT_NAME CaptureMode Masking ModelUse Recorder Trace TraceNode TraceNote TracePause mask_nodes merge_uses
        name_content write_event
    """,
    "tactician.testing": "FakeClock FakeContext ScriptError ScriptedModel Step ToolCall When",
}


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_a_package_exports_exactly_its_public_names(package: str) -> None:
    assert set(import_module(package).__all__) == set(PUBLIC[package].split())


OTHERS = [
    f"tactician.{name}" for name in ("code_mode", "llm", "loop", "planning", "process", "runs", "skills", "tools")
]


@pytest.mark.parametrize("package", sorted([*PUBLIC, *OTHERS]))
def test_every_exported_name_exists(package: str) -> None:
    module = import_module(package)
    assert sorted(name for name in module.__all__ if not hasattr(module, name)) == []
    assert len(set(module.__all__)) == len(module.__all__)


def test_the_top_level_resolves_every_name_and_lists_it() -> None:
    exported = import_module("tactician").__all__
    assert all(getattr(tactician, name) is not None for name in exported)
    assert set(exported) <= set(dir(tactician))


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="'tactician' has no attribute 'Agnet'"):
        getattr(tactician, "Agnet")  # noqa: B009
