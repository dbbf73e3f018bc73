"""`AgentDefinition`: agents that a model makes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from tactician import Agent, AgentDefinition, LlmOptions, RunContext, guardrails, handoff, runnable, tool
from tactician.agents.definition import HandoffDefinition
from tactician.agents.window_definition import WindowDefinition
from tactician.conversation import CompactToolResults, SlidingWindow, Summarization
from tactician.errors import DeclarationError
from tactician.guardrails import GuardrailError, GuardrailResult
from tactician.guardrails.registration import registry
from tactician.testing import ScriptedModel, ToolCall


@tool
def search_kb(query: str) -> str:
    """Searches the company knowledge base."""
    return f"found {query}"


@tool
def create_ticket(subject: str) -> str:
    """Creates a support ticket."""
    return "ticket 7"


@pytest.fixture(autouse=True)
def named_guardrails() -> Iterator[None]:
    with registry.isolate():

        @guardrails.input_guardrail("profanity_filter")
        def profanity_filter(text: str) -> GuardrailResult:
            return guardrails.failed("rude") if "darn" in text else guardrails.passed()

        @guardrails.output_guardrail("no_pii")
        def no_pii(text: str) -> GuardrailResult:
            return guardrails.failed("a number") if "555" in text else guardrails.passed()

        yield


SPANISH = """{
  "name": "SpanishSupport",
  "instructions": "Eres un agente de soporte profesional...",
  "maxTurns": 10,
  "temperature": 0.3,
  "toolNames": ["search_kb"],
  "inputGuardrails": ["profanity_filter"]
}"""


async def test_a_meta_agent_defines_an_agent_that_then_works() -> None:
    factory: Agent[AgentDefinition] = Agent("Factory", output_type=AgentDefinition, model=ScriptedModel(SPANISH))
    definition = (await factory.run("Create a customer support agent that speaks Spanish")).output
    assert definition.tool_names == ("search_kb",)

    model = ScriptedModel(ToolCall("search_kb", query="contraseña"), "Pulse aquí.")
    agent = definition.build(model=model, tools=[search_kb, create_ticket])
    assert (await agent.run("¿Cómo puedo recuperar mi contraseña?")).output == "Pulse aquí."
    assert [spec.name for spec in model.calls[0].tools] == ["search_kb"]
    assert model.calls[0].options.temperature == 0.3
    assert (agent.name, agent.instructions, agent.spec.max_turns) == (
        "SpanishSupport",
        "Eres un agente de soporte profesional...",
        10,
    )
    with pytest.raises(GuardrailError, match="rude"):
        await agent.run("darn")


async def test_the_schema_is_one_that_structured_output_takes() -> None:
    model = ScriptedModel(SPANISH)
    await Agent("Factory", output_type=AgentDefinition, model=model).run("Create one")
    output = model.calls[0].output
    assert output is not None
    assert output.strict
    schema = output.schema
    properties, definitions = schema["properties"], schema["$defs"]
    assert isinstance(properties, dict)
    assert isinstance(definitions, dict)
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert schema["required"] == list(properties)
    assert set(properties) == {
        "name", "instructions", "maxTurns", "temperature", "toolNames", "inputGuardrails", "outputGuardrails",
        "handoffs", "contextManagement",
    }  # fmt: skip
    assert all("description" in one for one in properties.values())
    assert definitions["HandoffDefinition"]["properties"]["target"]["anyOf"] == [{"$ref": "#/$defs/AgentDefinition"}]
    assert not {"model", "responder", "toolClassNames"} & set(properties)


async def test_a_model_can_define_both_sides_of_a_handoff() -> None:
    definition = AgentDefinition.model_validate_json(
        '{"name": "Desk", "instructions": "Route.", "maxTurns": 3, "handoffs": [{"name": "Billing desk", "description":'
        ' "Payments", "target": {"name": "Billing", "instructions": "Bill.", "maxTurns": 2,'
        ' "toolNames": ["search_kb"]}}]}'
    )
    model = ScriptedModel(ToolCall("billing_desk"), "Paid.")
    desk = definition.build(model=model, tools=[search_kb])
    result = await desk.run("I want to pay")
    assert (result.output, result.delegation_path) == ("Paid.", ("Desk", "Billing"))
    assert model.calls[0].tools[0].description == "Payments"
    assert [spec.name for spec in model.calls[1].tools] == ["search_kb"]


def test_all_names_that_stand_for_nothing_are_one_error() -> None:
    billing = AgentDefinition(name="Billing", instructions="b", tool_names=("create_tickets",))
    definition = AgentDefinition(
        name="Desk",
        instructions="d",
        tool_names=("serch_kb", "search_kb"),
        input_guardrails=("profanity_filter", "profanity"),
        output_guardrails=("no_pij",),
        handoffs=(
            HandoffDefinition(name="to_billing", description="x", target=billing),
            HandoffDefinition(name="to billing", description="y", target=AgentDefinition(name="B", instructions="b")),
            HandoffDefinition(name="search_kb", description="z", target=AgentDefinition(name="C", instructions="c")),
        ),
    )
    with pytest.raises(DeclarationError) as caught:
        definition.build(tools=[search_kb, create_ticket])
    problems = caught.value.problems
    assert [problem.partition(":")[0] for problem in problems] == [
        "toolNames",
        "inputGuardrails",
        "outputGuardrails",
        "handoffs[0].target.toolNames",
        "handoffs[1].name",
        "handoffs[2].name",
    ]
    assert "Did you mean 'search_kb'?" in problems[0]
    assert "Did you mean 'profanity_filter'?" in problems[1]
    assert "Did you mean 'create_ticket'?" in problems[3]
    with pytest.raises(DeclarationError, match="Tools: none"):
        AgentDefinition(name="a", instructions="b", tool_names=("x",)).build()


def test_null_is_the_same_as_nothing_and_unknown_fields_are_ignored() -> None:
    definition = AgentDefinition.model_validate_json(
        '{"name": "a", "instructions": "b", "temperature": null, "toolNames": null, "inputGuardrails": null,'
        '"outputGuardrails": null, "handoffs": null, "contextManagement": null, "model": "gpt-5.4"}'
    )
    assert definition == AgentDefinition(name="a", instructions="b", max_turns=10)


@pytest.mark.parametrize("wrong", [{"max_turns": 0}, {"temperature": 2.1}, {"temperature": -0.1}, {"name": ""}])
def test_numbers_have_their_bounds(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        AgentDefinition.model_validate({"name": "a", "instructions": "b", **wrong})


@pytest.mark.parametrize(
    ("definition", "strategy"),
    [
        (WindowDefinition(strategy_type="sliding", max_tokens=9), SlidingWindow(9)),
        (
            WindowDefinition(strategy_type="sliding", max_tokens=9, preserve_developer_messages=False),
            SlidingWindow(9, preserve_system=False),
        ),
        (WindowDefinition(strategy_type="summarization", max_tokens=9), Summarization(9)),
        (
            WindowDefinition(
                strategy_type="summarization", max_tokens=9, keep_recent_messages=2, summarization_prompt="Keep names"
            ),
            Summarization(9, 2, prompt="Keep names"),
        ),
    ],
)
def test_long_conversations_are_shown_as_the_definition_says(
    definition: WindowDefinition, strategy: SlidingWindow | Summarization
) -> None:
    agent = AgentDefinition(name="a", instructions="b", context_management=definition).build()
    assert agent.window == strategy
    again = AgentDefinition.from_agent(agent).context_management
    assert again is not None
    assert again.build() == strategy


def test_a_definition_comes_back_from_the_agent_that_it_made() -> None:
    definition = AgentDefinition(
        name="Desk",
        instructions="d",
        max_turns=4,
        temperature=0.5,
        tool_names=("search_kb",),
        input_guardrails=("profanity_filter",),
        output_guardrails=("no_pii",),
        handoffs=(
            HandoffDefinition(
                name="to_billing",
                description="Payments",
                target=AgentDefinition(name="Billing", instructions="b", temperature=1.0),
            ),
        ),
        context_management=WindowDefinition(strategy_type="sliding", max_tokens=100, preserve_developer_messages=True),
    )
    for model in (None, "gpt-5.4", LlmOptions(model="gpt-5.4", temperature=0.1, max_tokens=7), ScriptedModel()):
        assert AgentDefinition.from_agent(definition.build(model=model, tools=[search_kb])) == definition


def test_without_a_temperature_the_model_keeps_its_own() -> None:
    options = LlmOptions(model="gpt-5.4", temperature=0.1)
    agent = AgentDefinition(name="a", instructions="b").build(model=options)
    assert agent.model is options
    assert AgentDefinition.from_agent(Agent("a", model="gpt-5.4")).temperature is None


async def test_a_model_with_a_temperature_streams_like_the_model_itself() -> None:
    model = ScriptedModel("a b")
    agent = AgentDefinition(name="a", instructions="b", temperature=0.4).build(model=model)
    events = [type(event).__name__ async for event in agent.stream("hi", context=RunContext.over(ScriptedModel()))]
    assert events.count("TextReceived") == 2
    assert model.calls[0].options.temperature == 0.4


def test_what_a_definition_cannot_say_is_one_error() -> None:
    async def other(text: str) -> str:
        return text

    def anonymous(text: str) -> GuardrailResult:
        return guardrails.passed()

    agent = Agent(
        "Desk",
        input_guardrails=[anonymous],
        tool_input_guardrails=[guardrails.tool_input_guardrail(_on_tool)],
        handoffs=[handoff(runnable(other), name="to_other")],
        window=CompactToolResults(after=2),
    )
    with pytest.raises(DeclarationError) as caught:
        AgentDefinition.from_agent(agent)
    told = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 4
    assert "cannot name guardrails of tools" in told
    assert "the guardrail 'anonymous' is not registered" in told
    assert "to_other hands over to a FunctionRunnable, which is not an Agent" in told
    assert "CompactToolResults" in told


def _on_tool(call: object) -> GuardrailResult:
    return guardrails.passed()


def test_a_circle_of_handoffs_cannot_be_defined() -> None:
    first = Agent("First")
    second = Agent("Second", handoffs=[first])
    first.spec = first.spec.with_settings(handoffs=[second])
    with pytest.raises(DeclarationError, match="transfer_to_first goes in a circle, back to First"):
        AgentDefinition.from_agent(first)
