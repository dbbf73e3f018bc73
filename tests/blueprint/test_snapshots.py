"""What is taken as a blueprint, what is left out, and what is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    AgentDefinition,
    Blueprint,
    Handoff,
    ParallelAgents,
    PlannedAgent,
    RouterAgent,
    Runnable,
    RunResult,
    SupervisorAgent,
    ToolGroup,
    UserInput,
    achieves_goal,
    action,
    guardrails,
    handoff,
    planned_agent,
    runnable,
    tool,
)
from tactician.agents import BaseRunnable
from tactician.agents.blueprint_port import BlueprintLike
from tactician.agents.definition import HandoffDefinition
from tactician.blueprint import (
    BlueprintWarning,
    Builder,
    Exporter,
    blueprint_exporter,
    blueprint_type,
    export_blueprint,
)
from tactician.blueprint.agents import AgentBlueprint
from tactician.blueprint.definitions import create_definition
from tactician.conversation import MessageWindow, SlidingWindow, WindowStrategy
from tactician.conversation.tokens import TextCounter, TokenCounter
from tactician.errors import BlueprintError, DeclarationError
from tactician.guardrails import GuardrailResult
from tactician.llm import EmbeddedModel, Responder
from tactician.prompts import InstructionFile, ProvidedInstructions, prompt_providers
from tactician.runs import Input, RunContext
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import require_declared_tools
from tests.blueprint import acme
from tests.blueprint.constellations import ALLOW, HOSTS, KEYS


def refused(it: BaseRunnable[object], *, strict: bool = False) -> dict[str, str]:
    with pytest.raises(BlueprintError) as caught:
        it.to_blueprint(strict=strict)
    return {one.path: one.message for one in caught.value.problems}


def again(it: BaseRunnable[object]) -> BaseRunnable[object]:
    return Blueprint.from_json(it.to_blueprint(strict=True).to_json()).build(allow=ALLOW, environment=KEYS, hosts=HOSTS)


class TestTools:
    def test_what_no_import_finds_is_left_out_with_a_warning(self) -> None:
        def local(text: str) -> str:
            """Only here."""
            return text

        agent = Agent("A", tools=[local, acme.look_up, *require_declared_tools(acme.NeedsAddress("there"))])

        with pytest.warns(BlueprintWarning) as told:
            blueprint = agent.to_blueprint()

        assert [str(one.message).partition(":")[0] for one in told] == [
            "The blueprint of A leaves out toolClassNames"
        ] * 2
        assert "the tool 'local'" in str(told[0].message)
        assert "the tool 'ping'" in str(told[1].message)
        assert blueprint.to_data()["toolClassNames"] == ["tests.blueprint.acme.look_up"]

    def test_strict_refuses_what_no_import_finds(self) -> None:
        found = refused(Agent("A", tools=[tool(name="renamed")(acme.plain)]), strict=True)

        assert "the tool 'renamed'" in found["toolClassNames"]

    def test_tools_that_are_methods_share_their_object(self) -> None:
        shelf = acme.Shelf()
        made = again(Agent("A", tools=[shelf.put]))

        assert isinstance(made, Agent)
        assert [one.name for one in made.tools] == ["put"]
        whole = again(Agent("A", tools=[shelf.put, shelf.titles]))
        assert whole.to_blueprint().to_data()["toolClassNames"] == ["tests.blueprint.acme.Shelf"]

    async def test_what_was_built_works(self) -> None:
        agent = Agent("A", tools=[acme.Shelf().put, acme.plain], instructions="Keep books.")
        model = ScriptedModel(ToolCall("put", title="Emma"), "Kept.")

        result = await again(agent).run("Keep it", context=RunContext.over(model))

        assert result.output == "Kept."
        assert "done" in model.calls[1].prompt

    def test_groups_are_named(self) -> None:
        agent = Agent("A", tool_groups=["web", ToolGroup("own", tools=[acme.look_up])])

        with pytest.warns(BlueprintWarning, match="the tool group 'own'"):
            assert agent.to_blueprint().to_data()["toolGroups"] == ["web"]


class TestRefusals:
    def test_a_guardrail_that_nobody_finds_is_never_left_out(self) -> None:
        def anonymous(text: str) -> GuardrailResult:
            return guardrails.passed()

        found = refused(Agent("A", input_guardrails=[anonymous], output_guardrails=[anonymous]))

        assert found.keys() == {"inputGuardrails[0]", "outputGuardrails[0]"}
        assert '@guardrails.input_guardrail("anonymous")' in found["inputGuardrails[0]"]

    def test_what_was_made_with_arguments_is_not_made_without_them(self) -> None:
        counter = TextCounter(len)
        strict = Agent(
            "A",
            input_guardrails=[acme.FewWords(2)],
            tools=require_declared_tools(acme.Box(9)),
            window=SlidingWindow(9, counter=counter),
        )

        found = refused(strict, strict=True)

        assert found.keys() == {"inputGuardrails[0]", "toolClassNames", "contextManagement.tokenCounterClassName"}
        usual = Agent("A", input_guardrails=[acme.FewWords(5)], tools=require_declared_tools(acme.Box()))
        assert usual.to_blueprint(strict=True).to_data()["toolClassNames"] == ["tests.blueprint.acme.Box"]

    def test_handoffs_that_cannot_be_said(self) -> None:
        agent = Agent("A", handoffs=[handoff(Agent("B"), history=lambda messages: messages), handoff(Odd("C"))])

        assert refused(agent) == {
            "handoffs[0]": "transfer_to_b: a filter of the history cannot be saved in a blueprint",
            "handoffs[1].target": "C: an Odd has no blueprint",
        }

    def test_a_circle(self) -> None:
        one = Agent("One", handoffs=[])
        other = Agent("Other", handoffs=[one])
        one.spec = one.spec.with_settings(handoffs=[other])

        assert refused(one) == {"handoffs[0].target.handoffs[0].target": "it goes in a circle, back to One"}

    def test_types_that_no_import_finds(self) -> None:
        class Local(BaseModel):
            name: str

        target: Handoff[object] = Handoff(Agent("B"), propagated_output_type=cast("type[object]", list[Local]))
        found = refused(Agent("A", output_type=Local, handoffs=[target]))

        assert found.keys() == {"outputType", "handoffs[0].propagatedOutputType"}

    def test_models_and_strategies_of_ones_own(self) -> None:
        class Strange(WindowStrategy):
            def start(self, run: RunContext, counter: TokenCounter) -> MessageWindow:
                raise NotImplementedError

        found = refused(Agent("A", model=ScriptedModel(), window=Strange()))

        assert "a ScriptedModel cannot be saved in a blueprint" in found["model"]
        assert "a Strange cannot be saved in a blueprint" in found["contextManagement"]

    def test_a_function_inside_a_function(self) -> None:
        async def inner(text: str) -> str:
            return text

        assert "no import finds the function inner" in refused(runnable(inner))[""]

    def test_what_has_no_blueprint(self) -> None:
        assert refused(RouterAgent("R", routes={"odd": Odd("O"), "even": Agent("E")})) == {
            "routes[0].target": "O: an Odd has no blueprint"
        }


class Odd(BaseRunnable[object]):
    def __init__(self, name: str) -> None:
        self.name = self.description = name

    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        return RunResult(input)


class TestModels:
    def test_the_embedded_model_has_a_name(self) -> None:
        assert Agent("A", model=EmbeddedModel()).to_blueprint().to_data()["model"] == "local"

    def test_without_a_model_it_is_the_default_one(self) -> None:
        made = again(Agent("A"))

        assert made.to_blueprint().to_data()["model"] == "default"
        assert isinstance(made, Agent)
        assert made.model is None

    def test_no_key_is_in_it(self) -> None:
        model = Responder(provider="OPEN_ROUTER").create_model("gpt", environment=KEYS)

        assert "key-one" not in Agent("A", model=model).to_blueprint().to_json()


class TestInstructions:
    def test_a_file_stays_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "help.md").write_text("Help them.")
        agent = Agent("A", instructions=InstructionFile("help.md"))
        supervisor = SupervisorAgent("S", workers={"helps": agent}, instructions=InstructionFile("help.md"))

        data = supervisor.to_blueprint(strict=True).to_data()
        made = Blueprint.from_data(data).build()

        assert data["instructions"] == {"source": "file", "path": "help.md"}
        assert made.to_blueprint(strict=True).to_data() == data
        assert isinstance(made, SupervisorAgent)
        assert made.instructions == "Help them."

    async def test_a_prompt_of_a_provider_stays_one(self) -> None:
        class Fixed:
            async def get_prompt(self, name: str, filters: Mapping[str, str]) -> str:
                return f"{name} in {filters['label']}"

        prompt_providers.register("fixed", Fixed())
        try:
            agent = Agent("A", instructions=ProvidedInstructions("fixed", "support", {"label": "production"}))
            made, model = again(agent), ScriptedModel("Hello.")
            await made.run("Hi", context=RunContext.over(model))
        finally:
            prompt_providers.unregister("fixed")

        assert made.to_blueprint().to_data()["instructions"] == {
            "source": "provider",
            "providerId": "fixed",
            "promptId": "support",
            "filters": {"label": "production"},
        }
        assert "support in production" in str(model.calls[0].messages[0])

    def test_an_unknown_provider(self) -> None:
        agent = Agent("A", instructions=ProvidedInstructions("nobody", "support"))

        (problem,) = agent.to_blueprint().problems()

        assert problem.path == "instructions"
        assert "nobody" in problem.message


class TestPlannedAgents:
    async def test_what_it_was_made_with_is_kept(self) -> None:
        planned = PlannedAgent(acme.Teller(7, ("Ann", "Bob")))

        made = again(RouterAgent("R", routes={"fortunes": planned}))

        assert isinstance(made, RouterAgent)
        result = await made.routes["fortunes"].run("me", context=RunContext.over(ScriptedModel()))
        assert result.output == acme.Horoscope("7 stars for me")
        assert planned.to_blueprint().to_data() == {
            "type": "planned",
            "className": "tests.blueprint.acme.Teller",
            "arguments": {"count": 7, "names": ["Ann", "Bob"]},
        }

    def test_an_instance_is_as_good_as_its_agent(self) -> None:
        panel = ParallelAgents("N", cast("list[Runnable]", [acme.Teller(), acme.Teller(3)]))
        assert export_blueprint(panel).to_data()["members"] == [
            {"type": "planned", "className": "tests.blueprint.acme.Teller"},
            {"type": "planned", "className": "tests.blueprint.acme.Teller", "arguments": {"count": 3}},
        ]

    def test_what_no_json_can_say(self) -> None:
        assert refused(PlannedAgent(acme.Astrologer(acme.Stars()))) == {"arguments.stars": "a Stars has no JSON form"}

    @pytest.mark.parametrize(
        ("data", "path", "why"),
        [
            ({"className": "tests.blueprint.acme.Teller", "arguments": {"cuont": 1}}, "arguments.cuont", "'count'"),
            ({"className": "tests.blueprint.acme.Teller", "arguments": {"count": "x"}}, "arguments.count", "integer"),
            ({"className": "tests.blueprint.acme.Astrologer"}, "arguments.stars", "Astrologer needs it"),
            (
                {"className": "tests.blueprint.acme.Astrologer", "arguments": {"stars": 1}},
                "arguments.stars",
                "no JSON form",
            ),
            ({"className": "tests.blueprint.acme.Order"}, "className", "not a class with @planned_agent"),
            ({"className": "tests.blueprint.acme.look_up"}, "className", "not a class with @planned_agent"),
        ],
    )
    def test_mistakes(self, data: dict[str, object], path: str, why: str) -> None:
        (problem,) = Blueprint.from_data({"type": "planned", **data}).problems(allow=ALLOW)

        assert problem.path == path
        assert why in problem.message

    def test_a_class_inside_a_function(self) -> None:
        @planned_agent(description="Local")
        class Local:
            @achieves_goal("done")
            @action
            def work(self, text: UserInput) -> acme.Horoscope:
                return acme.Horoscope(text.content)

        assert "define it in a module" in refused(PlannedAgent(Local()))["className"]


class TestFunctions:
    async def test_by_its_name(self) -> None:
        for one, output in ((acme.upwards, "HI"), (runnable(acme.backwards, name="turned"), "iH")):
            made = again(one)

            assert made.name == one.name
            assert (await made.run("Hi", context=RunContext.over(ScriptedModel()))).output == output

    def test_what_is_no_function(self) -> None:
        data = {"type": "function", "functionName": "tests.blueprint.acme.plain"}

        (problem,) = Blueprint.from_data(data).problems(allow=ALLOW)

        message = "'tests.blueprint.acme.plain' is not an async function"
        assert (problem.path, problem.message) == ("functionName", message)


class TestTypesOfOnesOwn:
    async def test_a_registered_type_is_one_of_them(self) -> None:
        @blueprint_type("test_odd")
        class OddBlueprint(Blueprint):
            type: Literal["test_odd"] = "test_odd"
            name: str

            def build_with(self, builder: Builder) -> Odd | None:
                if self.name == "wrong":
                    builder.add_problem("that is no name", "name")
                return builder.attempt(lambda: Odd(self.name))

        @blueprint_exporter(Odd)
        def export_odd(odd: Odd, exporter: Exporter) -> OddBlueprint | None:
            return exporter.make(OddBlueprint, {"name": odd.name})

        data = {"type": "parallel", "name": "P", "members": [{"type": "test_odd", "name": "O"}]}
        made = Blueprint.from_data(data).build()
        wrong = Blueprint.from_data({**data, "members": [{"type": "test_odd", "name": "wrong"}]})

        assert made.to_blueprint().to_data() == data
        assert (await made.run("x", context=RunContext.over(ScriptedModel()))).output == "x"
        assert [(one.path, one.message) for one in wrong.problems()] == [("members[0].name", "that is no name")]


def undefined(blueprint: BlueprintLike) -> dict[str, str]:
    with pytest.raises(BlueprintError) as caught:
        AgentDefinition.from_blueprint(blueprint, tools=[acme.look_up])
    return {one.path: one.message for one in caught.value.problems}


class TestDefinitions:
    definition = AgentDefinition(
        name="Front",
        instructions="Greet.",
        max_turns=4,
        temperature=0.5,
        tool_names=("look_up",),
        input_guardrails=("acme_short",),
    )

    def test_there_and_back(self) -> None:
        there = HandoffDefinition(name="go", description="d", target=self.definition)
        front = self.definition.model_copy(update={"handoffs": (there,)})

        blueprint = front.to_blueprint(
            model="gpt", responder=Responder(provider="OPEN_ROUTER"), tools=[acme.look_up, acme.plain]
        )

        assert isinstance(blueprint, AgentBlueprint)
        target = blueprint.handoffs[0].target
        assert isinstance(target, AgentBlueprint)
        assert [one.responder and one.responder.provider for one in (blueprint, target)] == ["OPEN_ROUTER"] * 2
        assert blueprint.tool_class_names == ("tests.blueprint.acme.look_up",)
        assert not blueprint.problems(allow=ALLOW, environment=KEYS, hosts=HOSTS)
        assert AgentDefinition.from_blueprint(blueprint, tools=[acme.look_up]) == front

    def test_texts_stay_as_they_are(self) -> None:
        costly = self.definition.model_copy(update={"instructions": "It costs ${PRICE}, or $${x}."})

        blueprint = costly.to_blueprint(tools=[acme.look_up])

        assert AgentDefinition.from_blueprint(blueprint, tools=[acme.look_up]) == costly
        assert isinstance(blueprint, AgentBlueprint)
        assert "variables" in undefined(blueprint.model_copy(update={"instructions": "of ${TOWN}"}))["instructions"]

    def test_only_agents_have_one(self) -> None:
        assert undefined(RouterAgent("R", routes={"x": Agent("B")}).to_blueprint()) == {
            "": "only agents have a definition"
        }

    def test_without_a_responder_the_model_is_found_by_its_name(self) -> None:
        blueprint = self.definition.to_blueprint(tools=[acme.look_up])

        assert isinstance(blueprint, AgentBlueprint)
        assert (blueprint.model, blueprint.responder) == ("default", None)

    def test_tools_that_are_not_there(self) -> None:
        with pytest.raises(DeclarationError, match="look_up"):
            self.definition.to_blueprint()

    def test_tools_that_no_import_finds(self) -> None:
        def look_up(number: int) -> str:
            """Look it up."""
            return ""

        with pytest.raises(BlueprintError, match="look_up"):
            self.definition.to_blueprint(tools=[look_up])

    def test_what_a_definition_cannot_say(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("x")
        agent = Agent(
            "A",
            instructions=InstructionFile(tmp_path / "a.txt"),
            tools=[acme.plain],
            input_guardrails=[acme.no_shouting],
            tool_input_guardrails=[acme.no_zero],
            handoffs=[RouterAgent("R", routes={"x": Agent("B")})],
        )
        blueprint = agent.to_blueprint()
        assert isinstance(blueprint, AgentBlueprint)

        with pytest.raises(BlueprintError) as caught:
            create_definition(blueprint, [])

        assert [one.path for one in caught.value.problems] == [
            "instructions",
            "toolInputGuardrails",
            "toolClassNames[0]",
            "inputGuardrails[0]",
            "handoffs[0].target",
        ]
