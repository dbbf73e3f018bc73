"""Ensembles inside other Runnables, and other Runnables inside ensembles."""

from __future__ import annotations

from dataclasses import dataclass

from tactician import (
    Agent,
    Ensemble,
    Loop,
    ParallelAgents,
    Platform,
    RouterAgent,
    Runnable,
    SupervisorAgent,
    Task,
    UserInput,
    Workflow,
    achieves_goal,
    action,
    handoff,
    planned_agent,
    runnable,
)
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import over, prompt_of, says, script_of


@dataclass
class Poem:
    text: str


@planned_agent(description="Writes poems")
class Poet:
    @achieves_goal("There is a poem")
    @action
    def write(self, topic: UserInput) -> Poem:
        return Poem(f"O {topic.content.splitlines()[-1]}!")


def newsroom(*steps: object) -> Ensemble:
    """An ensemble of one task."""
    return Ensemble("Newsroom", [Task("Report on {input}", agent=says("Writer", *steps))], description="Writes news")


class TestEnsembleAsRunnable:
    def test_an_ensemble_is_a_runnable(self) -> None:
        assert isinstance(newsroom(), Runnable)

    async def test_an_ensemble_is_a_tool(self) -> None:
        ensemble = newsroom("the news")
        model = ScriptedModel(ToolCall("newsroom", request="frogs"), "done")
        await Agent("A", model=model, tools=[ensemble.as_tool()]).run("go", context=over())
        assert "the news" in model.calls[1].prompt

    async def test_the_arguments_of_a_tool_or_worker_are_the_values_for_the_templates(self) -> None:
        task = Task("Report on {star_sign} for {input}", handler=lambda task: task.description)
        ensemble = Ensemble("News", [task])
        model = ScriptedModel(ToolCall("news", star_sign="Leo", input="Ann"), "done")
        await Agent("A", model=model, tools=[ensemble.as_tool()]).run("go", context=over())
        parameters = model.calls[0].tools[0].parameters
        assert parameters["properties"] == {
            "star_sign": {"type": "string", "description": "the star sign"},
            "input": {"type": "string", "description": "the full task"},
        }
        assert (parameters["required"], parameters["additionalProperties"]) == (["star_sign", "input"], False)
        assert "Report on Leo for Ann" in model.calls[1].prompt
        lead = ScriptedModel(ToolCall("invoke_loop", topic="frogs"), "led")
        loop = Loop([Task("Report on {topic}", handler=lambda task: task.description)], max_iterations=1, id="Loop")
        await SupervisorAgent("S", model=lead, workers={"news": loop}).run("go", context=over())
        assert "Report on frogs" in lead.calls[1].prompt

    async def test_a_tool_with_a_prompt_or_arguments_has_those(self) -> None:
        ensemble = Ensemble("News", [Task("Report on {topic}", handler=lambda task: task.description)])
        model = ScriptedModel(ToolCall("a", request="frogs"), ToolCall("b", text="toads"), "done")
        first = ensemble.as_tool("a", prompt=lambda asked: {"topic": asked.request})
        second = ensemble.as_tool("b", arguments=Poem, prompt=lambda poem: {"topic": poem.text})
        await Agent("A", model=model, tools=[first, second]).run("go", context=over())
        assert "Report on frogs" in model.calls[1].prompt
        assert "Report on toads" in model.calls[2].prompt

    async def test_an_ensemble_is_a_tool_as_it_is(self) -> None:
        model = ScriptedModel(ToolCall("newsroom", request="frogs"), "done")
        await Agent("A", model=model, tools=[newsroom("the news")]).run("go", context=over())
        assert "the news" in model.calls[1].prompt

    async def test_an_ensemble_is_a_route_a_worker_and_a_member(self) -> None:
        router = RouterAgent("R", model=ScriptedModel("1"), routes={"news": newsroom("routed")})
        assert (await router.run("frogs", context=over())).output == "routed"
        lead = ScriptedModel(ToolCall("invoke_newsroom", request="frogs"), "led")
        team = SupervisorAgent("S", model=lead, workers={"news": newsroom("worked")})
        assert (await team.run("frogs", context=over())).output == "led"
        assert "worked" in lead.calls[1].prompt
        both = ParallelAgents("P", [newsroom("one"), newsroom("two")])
        assert (await both.run("frogs", context=over())).output == "one"

    async def test_an_ensemble_is_the_agent_of_a_task(self) -> None:
        inner = says("Writer", "the news")
        ensemble = Ensemble("Inner", [Task("Report", agent=inner)])
        result = await Ensemble("Outer", [Task("Do {what}", agent=ensemble)]).run({"what": "it"}, context=over())
        assert (result.raw, result.task_outputs[0].role) == ("the news", "Inner")
        assert "## Task\n\nDo it" in prompt_of(script_of(inner))

    async def test_an_ensemble_is_registered_on_a_platform_and_run_by_its_name(self) -> None:
        platform = Platform(models=ScriptedModel()).register(newsroom("the news"))
        result = await platform.find_agent("newsroom").run("frogs", context=platform.context())
        assert result.output == "the news"

    async def test_a_function_runs_an_ensemble_as_a_step(self) -> None:
        ensemble = newsroom("the news")

        @runnable
        async def step(text: str) -> str:
            return (await ensemble.run(text)).raw

        assert (await step.run("frogs", context=over())).output == "the news"


class TestRunnablesAsAgents:
    async def test_a_planned_agent_is_the_agent_of_a_task(self) -> None:
        result = await Ensemble("E", [Task("frogs", agent=Poet())]).run(context=over())
        assert result.output == Poem("O frogs!")
        assert result.task_outputs[0].raw == '{"text":"O frogs!"}'

    async def test_a_constellation_is_the_agent_of_a_task(self) -> None:
        panel = ParallelAgents("Panel", [says("A", "one"), says("B", "two")])
        result = await Ensemble("E", [Task("Go", agent=panel)]).run(context=over())
        assert (result.raw, result.task_outputs[0].role, result.usage.requests) == ("one", "Panel", 2)


class TestContract:
    async def test_the_program_of_the_contract_runs(self) -> None:
        model = ScriptedModel("five findings", Poem("one two three"))
        researcher = Agent(role="Researcher", goal="Find facts", background="Ten years in libraries")
        research = Task("Research {topic}", expected_output="Five findings", agent=researcher)
        report = Task("Write the report", context=[research], output_type=Poem)
        check = Task("Count the words", handler=lambda t: len(t.context_outputs[0].raw.split()))
        tasks = [research, report, check]
        newsroom = Ensemble("Newsroom", tasks, model=model, workflow=Workflow.SEQUENTIAL)
        result = await newsroom.run({"topic": "AI"}, context=over())
        assert (result.output, result.raw, len(result.task_outputs)) == (3, "3", 3)
        assert result["Write the report"].parsed == Poem("one two three")
        assert (result.total_tool_calls, result.cost) == (0, None)

    async def test_an_ensemble_is_the_target_of_a_handoff(self) -> None:
        model = ScriptedModel(ToolCall("transfer_to_newsroom"))
        agent = Agent("Desk", model=model, handoffs=[handoff(newsroom("the news"))])
        result = await agent.run("frogs", context=over())
        assert (result.output, result.delegation_path) == ("the news", ("Desk", "Newsroom"))

    async def test_an_ensemble_is_a_step_of_a_planned_agent(self) -> None:
        ensemble = newsroom("the news")

        @planned_agent(description="Publishes")
        class Publisher:
            @achieves_goal("It is published")
            @action
            async def publish(self, topic: UserInput) -> Poem:
                return Poem((await ensemble.run(topic)).raw)

        platform = Platform(models=ScriptedModel()).register(Publisher())
        assert await platform.invoke(Poem, "frogs") == Poem("the news")
        assert "Report on frogs" in prompt_of(writer_of(ensemble))


def writer_of(ensemble: Ensemble) -> ScriptedModel:
    """The script of the agent of the only task."""
    agent = ensemble.tasks[0].agent
    assert isinstance(agent, Agent)
    return script_of(agent)
