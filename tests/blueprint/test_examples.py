"""Blueprints as people write them: every form of the source's format, loaded, built, and the same again, twice."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tactician import (
    Agent,
    AgentNetwork,
    Blueprint,
    HierarchicalAgents,
    ParallelAgents,
    RouterAgent,
    SupervisorAgent,
    guardrails,
)
from tactician.blueprint.agents import AgentBlueprint
from tactician.conversation import SlidingWindow, Summarization
from tactician.guardrails import GuardrailResult
from tactician.guardrails.registration import registry
from tactician.llm.responder import RespondedModel
from tests.blueprint import acme
from tests.blueprint.constellations import ALLOW, HOSTS

KEYS = {"OPENROUTER_API_KEY": "key-one", "OPENAI_API_KEY": "key-two"}
RESPONDER = {"provider": "OPEN_ROUTER", "apiKeyEnvVar": "OPENROUTER_API_KEY"}
RETRY = {
    "maxRetries": 3,
    "initialDelayMs": 1000,
    "maxDelayMs": 30000,
    "multiplier": 2.0,
    "retryableStatusCodes": [429, 500, 502, 503],
}


def agent(name: str, **more: object) -> dict[str, object]:
    return {
        "type": "agent",
        "name": name,
        "model": "openai/gpt-4o",
        "instructions": f"You are {name}.",
        "maxTurns": 5,
        "responder": RESPONDER,
        "toolClassNames": [],
        "handoffs": [],
        "inputGuardrails": [],
        "outputGuardrails": [],
        **more,
    }


SUPPORT = agent(
    "CustomerSupport",
    temperature=0.3,
    responder={**RESPONDER, "retryPolicy": RETRY, "traceMetadata": {"traceId": "t-1", "environment": "test"}},
    toolClassNames=["tests.blueprint.acme.look_up", "tests.blueprint.acme.Shelf"],
    handoffs=[
        {
            "name": "escalate_to_billing",
            "description": "Payment issues, refunds and invoices",
            "propagatedOutputType": "list[tests.blueprint.acme.Invoice]",
            "target": agent("Billing", outputType="tests.blueprint.acme.Invoice"),
        }
    ],
    inputGuardrails=[{"registryId": "profanity_filter"}, {"className": "tests.blueprint.acme.no_shouting"}],
    outputGuardrails=[{"registryId": "no_pii"}, {"className": "tests.blueprint.acme.Polite"}],
    contextManagement={"strategyType": "sliding", "preserveDeveloperMessages": True, "maxTokens": 4000},
    traceMetadata={"traceName": "support", "metadata": {"team": "north", "shift": None}},
)
ROUTER: dict[str, object] = {
    "type": "router",
    "name": "Front",
    "model": "openai/gpt-4o-mini",
    "responder": RESPONDER,
    "routes": [
        {"description": "Invoices and refunds", "target": agent("Billing")},
        {"description": "Bugs and crashes", "target": agent("Tech", temperature=0.2, maxTurns=15)},
    ],
    "fallback": agent("General"),
}
SUPERVISOR: dict[str, object] = {
    "type": "supervisor",
    "name": "Lead",
    "model": "openai/gpt-4o",
    "instructions": "You lead a team.",
    "maxTurns": 10,
    "responder": RESPONDER,
    "workers": [
        {"description": "Writes code", "worker": agent("Writer")},
        {"description": "Reviews code", "worker": agent("Reviewer", temperature=0.1)},
    ],
}
NETWORK: dict[str, object] = {
    "type": "network",
    "name": "Panel",
    "maxRounds": 3,
    "peers": [agent("Users"), agent("Engineers"), agent("Business")],
    "synthesizer": agent("Moderator"),
}
PARALLEL: dict[str, object] = {
    "type": "parallel",
    "name": "Views",
    "members": [agent("Technical"), agent("Commercial")],
}
HIERARCHY: dict[str, object] = {
    "type": "hierarchical",
    "maxTurns": 15,
    "executive": agent("CEO"),
    "departments": {
        "Engineering": {"manager": agent("VP_Engineering"), "workers": [agent("Back"), agent("FrontEnd")]},
        "Marketing": {"manager": agent("VP_Marketing"), "workers": [agent("Writer")]},
    },
}
SUMMARY: dict[str, object] = {
    "strategyType": "summarization",
    "summarizationModel": "openai/gpt-4o-mini",
    "keepRecentMessages": 5,
    "maxTokens": 8000,
}
ENSEMBLE: dict[str, object] = {
    "type": "ensemble",
    "name": "Reports",
    "phases": [
        {
            "name": "research",
            "tasks": [
                {"id": "gather", "description": "Gather {topic}", "agent": agent("Scout", role="Scout")},
                {"description": "Verify it", "agent": "Scout", "context": ["gather"]},
            ],
            "review": {"function": "tests.blueprint.acme.check_length", "maxRetries": 1},
        },
        {
            "name": "report",
            "tasks": [{"description": "Count", "handler": "tests.blueprint.acme.count_words"}],
            "after": ["research"],
            "review": {"person": {"role": "editor"}},
        },
    ],
    "onError": "continue",
    "maxParallel": 3,
}
GROUPS: dict[str, object] = {
    "type": "ensemble",
    "name": "Reading room",
    "tasks": [
        {
            "type": "mapReduce",
            "id": "letters",
            "items": ["a", {"b": [1, None]}],
            "map": {"description": "Sum up {item}", "role": "Reader"},
            "reduce": "tests.blueprint.acme.make_task",
            "chunkSize": 2,
        },
        {
            "type": "loop",
            "id": "revise",
            "context": ["letters"],
            "tasks": [
                {"id": "reply", "description": "Write a reply", "memory": ["project"], "reflect": True},
                {
                    "type": "graph",
                    "id": "send",
                    "states": {
                        "check": {"description": "Read it", "handler": "tests.blueprint.acme.count_words"},
                        "wait": {"description": "Wait", "reflect": {"maxReflections": 3}, "context": ["reply"]},
                    },
                    "start": "check",
                    "edges": [
                        {"source": "check", "target": "wait", "when": "tests.blueprint.acme.is_done"},
                        {"source": "check", "target": "END"},
                        {"source": "wait", "target": "END"},
                    ],
                    "maxSteps": 5,
                },
            ],
            "until": "tests.blueprint.acme.is_done",
            "memoryWindow": 2,
            "outputs": "final_task",
        },
        {"type": "ensemble", "name": "Crew", "tasks": [{"description": "Print it"}]},
        {
            "id": "again",
            "description": "Once more",
            "handler": {"type": "loop", "id": "inner", "tasks": [{"description": "Do it"}], "maxIterations": 2},
            "when": "tests.blueprint.acme.is_due",
        },
    ],
    "memory": {"scopes": {"project": {"keepLast": 5, "keepWithin": 60.0}}, "embedder": "small"},
    "reflections": {"keepLast": 7},
    "rateLimit": 2.5,
    "reviewer": "tests.blueprint.acme.answer",
    "listeners": ["tests.blueprint.acme.listen"],
    "synthesize": "role:writer",
    "contextFormatter": "tests.blueprint.acme.Upper",
}
EXAMPLES: dict[str, dict[str, object]] = {
    "ensemble": ENSEMBLE,
    "an ensemble with groups": GROUPS,
    "a small agent": agent("Mini"),
    "an agent with everything": SUPPORT,
    "a router": ROUTER,
    "a supervisor": SUPERVISOR,
    "a network": NETWORK,
    "a parallel group": PARALLEL,
    "a hierarchy": HIERARCHY,
    "a router over a supervisor": {**ROUTER, "routes": [{"description": "Development", "target": SUPERVISOR}]},
    "a summary": agent("Long", contextManagement=SUMMARY),
    "another address": agent(
        "Own", responder={"baseUrl": "https://acme.example/openai", "apiKeyEnvVar": "OPENAI_API_KEY"}
    ),
    "azure": agent(
        "Azure", responder={"baseUrl": "https://acme.openai.azure.com/openai", "apiKeyEnvVar": "OPENAI_API_KEY"}
    ),
}
YAML = """
type: agent
name: PersonExtractor
model: gpt-4o
instructions: |
  Extract the person.
  Say nothing else.
outputType: tests.blueprint.acme.Order
maxTurns: 3
temperature: 0.0
responder:
  provider: OPEN_ROUTER
  apiKeyEnvVar: OPENROUTER_API_KEY
toolClassNames: []
handoffs:
  - name: transfer_to_activities
    description: Use for activities.
    propagatedOutputType: java.util.List<tests.blueprint.acme.Order>
    target:
      type: agent
      name: Activities
      model: gpt-4o
      instructions:
        source: inline
        text: Return the activity.
      maxTurns: 3
inputGuardrails: []
outputGuardrails: []
"""


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    def passes(text: str) -> GuardrailResult:
        return guardrails.passed()

    for name in ("profanity_filter",):
        guardrails.input_guardrail(name)(passes)
    guardrails.output_guardrail("no_pii")(passes)
    yield
    registry.unregister("input", "profanity_filter")
    registry.unregister("output", "no_pii")


@pytest.mark.parametrize("data", EXAMPLES.values(), ids=list(EXAMPLES))
def test_it_is_built_and_the_same_again_twice(data: dict[str, object]) -> None:
    first = (
        Blueprint.from_json(json.dumps(data))
        .build(allow=ALLOW, environment=KEYS, hosts=HOSTS)
        .to_blueprint(strict=True)
    )
    second = (
        Blueprint.from_json(first.to_json()).build(allow=ALLOW, environment=KEYS, hosts=HOSTS).to_blueprint(strict=True)
    )

    assert first.to_data() == data
    assert second.to_data() == data
    assert Blueprint.from_yaml(first.to_yaml()) == first


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (SUPPORT, Agent),
        (ROUTER, RouterAgent),
        (SUPERVISOR, SupervisorAgent),
        (NETWORK, AgentNetwork),
        (PARALLEL, ParallelAgents),
        (HIERARCHY, HierarchicalAgents),
    ],
)
def test_each_type_builds_its_class(data: dict[str, object], kind: type) -> None:
    assert type(Blueprint.from_data(data).build(allow=ALLOW, environment=KEYS, hosts=HOSTS)) is kind


def test_everything_in_it_is_built() -> None:
    made = Blueprint.from_data(SUPPORT).build(allow=ALLOW, environment=KEYS, hosts=HOSTS)

    assert isinstance(made, Agent)
    assert [tool.name for tool in made.tools] == ["look_up", "put", "titles", "escalate_to_billing"]
    assert made.handoffs[0].propagated_output_type == list[acme.Invoice]
    assert [one.name for one in made.spec.guards.input.all] == ["profanity_filter", "no_shouting"]
    assert made.window == SlidingWindow(4000)
    assert made.spec.max_turns == 5
    assert made.trace is not None
    assert made.trace.metadata == {"team": "north", "shift": None}
    model = made.model
    assert isinstance(model, RespondedModel)
    assert (model.model, model.options.temperature) == ("openai/gpt-4o", 0.3)
    assert model.responder.retry is not None
    assert model.responder.retry.retryable_status_codes == (429, 500, 502, 503)
    assert model.responder.trace is not None
    assert "key-one" not in repr(model)


def test_yaml_says_the_same_as_json() -> None:
    blueprint = Blueprint.from_yaml(YAML)
    again = blueprint.build(allow=ALLOW, environment=KEYS, hosts=HOSTS).to_blueprint(strict=True)

    assert isinstance(blueprint, AgentBlueprint)
    assert blueprint.instructions == "Extract the person.\nSay nothing else.\n"
    assert blueprint.handoffs[0].propagated_output_type == "list[tests.blueprint.acme.Order]"
    target = blueprint.handoffs[0].target
    assert isinstance(target, AgentBlueprint)
    assert target.instructions == "Return the activity."
    assert again == blueprint
    assert Blueprint.from_yaml(again.to_yaml()) == again


def test_what_is_left_out_is_as_usual() -> None:
    short: dict[str, object] = {
        "type": "agent",
        "name": "Support",
        "model": "gpt-5.4",
        "instructions": "Help.",
        "maxTurns": 5,
    }

    made = Blueprint.from_data(short).build(environment={})

    assert isinstance(made, Agent)
    assert made.model == "gpt-5.4"
    assert made.to_blueprint().to_data() == {
        **short,
        "toolClassNames": [],
        "handoffs": [],
        "inputGuardrails": [],
        "outputGuardrails": [],
    }


def test_nothing_is_null_in_json_and_null_is_nothing() -> None:
    data = agent("Mini", temperature=None, outputType=None, handoffs=None, contextManagement=None)

    assert Blueprint.from_data(data).to_data() == agent("Mini")
    assert "null" not in Blueprint.from_data(data).to_json()


def test_a_summary_is_built() -> None:
    made = Blueprint.from_data(agent("Long", contextManagement=SUMMARY)).build(environment=KEYS, hosts=HOSTS)

    assert isinstance(made, Agent)
    assert made.window == Summarization(8000, 5, "openai/gpt-4o-mini")


def test_the_file_says_its_format(tmp_path: Path) -> None:
    for name, text in (("a.json", json.dumps(ROUTER)), ("a.yaml", Blueprint.from_data(ROUTER).to_yaml())):
        (tmp_path / name).write_text(text)

    assert Blueprint.from_file(tmp_path / "a.json") == Blueprint.from_file(str(tmp_path / "a.yaml"))


def test_editors_may_be_told_of_the_schema() -> None:
    data = {"$schema": "https://tactician.example/blueprint.schema.json", **agent("Mini")}

    assert Blueprint.from_data(data).to_data() == agent("Mini")
