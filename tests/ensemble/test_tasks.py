"""Tasks: what they check alone, the agents that are made for them, and what agents and models they use."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import BaseModel

from tactician import Agent, Ensemble, RunResult, Task, runnable, tool
from tactician.ensemble import EnsembleDefinitionError, TaskFailedError, TaskInput
from tactician.errors import TacticianError
from tactician.runs import OutputError
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import Tool
from tests.ensemble.support import over, places_of, prompt_of, says, script_of, system_of


class Report(BaseModel):
    title: str
    words: int


class TestMistakes:
    @pytest.mark.parametrize(
        ("make", "place", "message"),
        [
            (lambda: Task(""), "description", "must not be blank"),
            (lambda: Task("  "), "description", "must not be blank"),
            (lambda: Task(None), "description", "must not be blank"),  # type: ignore[call-overload]
            (lambda: Task("Go", handler=3), "handler", "3 is not a function of a TaskInput"),  # type: ignore[call-overload]
            (lambda: Task("Go", model=3), "model", "3 is not the name of a model"),  # type: ignore[call-overload]
            (lambda: Task("Go", id=" "), "id", "must not be blank"),
            (lambda: Task("Go", expected_output=" "), "expected_output", "must not be blank"),
            (lambda: Task("Go", agent="Writer"), "agent", "'Writer' is not an agent"),
            (lambda: Task("Go", agent=says("A"), handler=len), "handler", "the task has an agent too"),  # type: ignore[arg-type]
            (lambda: Task("Go", role=" "), "role", "must not be blank"),
            (lambda: Task("Go", goal=""), "goal", "must not be blank"),
            (lambda: Task("Go", agent=says("A"), role="B"), "role", "is made for a task"),
            (lambda: Task("Go", context=["a"]), "context[0]", "'a' is not a Task"),  # type: ignore[list-item]
            (lambda: Task("Go", id="a", context=[Task("x", id="a")]), "context[0]", "cannot reference itself"),
            (lambda: Task("Go", context=[Task("x"), Task("x")]), "context[1]", "it names the task 'x' twice"),
            (lambda: Task("Go", output_type=object.__new__), "output_type", "pydantic cannot describe"),  # type: ignore[call-overload]
            (lambda: Task("Go", max_output_retries=-1), "max_output_retries", "must be >= 0, got: -1"),
            (lambda: Task("Go", max_tool_calls=0), "max_tool_calls", "must be > 0, got: 0"),
            (lambda: Task("Go", tools=["web"]), "tools[0]", "a tool is a function"),  # type: ignore[list-item]
        ],
    )
    def test_a_task_names_the_place_and_the_mistake(self, make: Callable[[], Task], place: str, message: str) -> None:
        with pytest.raises(EnsembleDefinitionError) as caught:
            make()
        assert places_of(caught.value.problems) == [place]
        assert message in str(caught.value)
        assert isinstance(caught.value, TacticianError)

    def test_all_mistakes_of_a_task_come_at_once(self) -> None:
        with pytest.raises(EnsembleDefinitionError) as caught:
            Task("", agent=3, max_output_retries=-1, max_tool_calls=0)
        assert places_of(caught.value.problems) == ["description", "agent", "max_output_retries", "max_tool_calls"]


class TestAgents:
    async def test_an_agent_with_no_tools_uses_pure_reasoning(self) -> None:
        agent = says("Thinker", "42")
        await Ensemble("E", [Task("Think", agent=agent)]).run(context=over())
        assert script_of(agent).calls[0].tools == ()

    async def test_an_agent_with_an_empty_background_has_no_such_section(self) -> None:
        agent = says("Thinker", "42")
        await Ensemble("E", [Task("Think", agent=agent)]).run(context=over())
        assert system_of(script_of(agent)).startswith("You are Thinker.\nWork on the task")

    async def test_an_agent_may_be_used_for_multiple_tasks_with_separate_execution_contexts(self) -> None:
        agent = says("Thinker", "one", "two")
        tasks = [Task("First", agent=agent), Task("Second", agent=agent, context=[])]
        result = await Ensemble("E", tasks).run(context=over())
        assert [output.raw for output in result.task_outputs] == ["one", "two"]
        assert "First" not in script_of(agent).calls[1].prompt

    async def test_with_max_iterations_of_one_there_is_one_tool_call_and_then_a_forced_final_answer(self) -> None:
        def look() -> str:
            """Look."""
            return "seen"

        model = ScriptedModel(ToolCall("look"), "done")
        agent = Agent("A", model=model, tools=[look], max_tool_calls=1)
        result = await Ensemble("E", [Task("Go", agent=agent)]).run(context=over())
        assert (result.raw, result.total_tool_calls) == ("done", 1)
        assert "Answer now" in model.calls[1].prompt

    async def test_a_task_limits_the_tool_calls_of_an_agent_without_a_limit(self) -> None:
        def look(place: int) -> str:
            """Look."""
            return "seen"

        model = ScriptedModel(*(ToolCall("look", place=number) for number in range(3)), "done")
        task = Task("Go", agent=Agent("A", model=model, tools=[look]), max_tool_calls=3)
        assert (await Ensemble("E", [task]).run(context=over())).raw == "done"
        assert "Answer now" in model.calls[3].prompt
        assert "Answer now" not in model.calls[2].prompt

    @pytest.mark.parametrize(
        ("description", "role"),
        [
            ("Write a poem", "Writer"),
            ("Please carefully RESEARCH {topic}", "Researcher"),
            ("Count the words", "Calculator"),
            ("Do it", "Specialist"),
            ("one two three four five six seven eight write", "Specialist"),
            ("Summarise and translate", "Summarizer"),
        ],
    )
    async def test_a_task_without_an_agent_gets_one_whose_role_follows_from_the_first_known_verb(
        self, description: str, role: str
    ) -> None:
        model = ScriptedModel("done")
        result = await Ensemble("E", [Task(description)], model=model).run({"topic": "AI"}, context=over())
        assert result.task_outputs[0].role == role
        assert system_of(model).startswith(f"You are {role}.")

    async def test_role_goal_and_background_of_a_task_are_those_of_the_agent_that_is_made(self) -> None:
        model = ScriptedModel("done")
        task = Task("Go", role="Poet", goal="Rhyme", background="Lives by the sea.")
        await Ensemble("E", [task], model=model).run(context=over())
        assert system_of(model).startswith("You are Poet.\nLives by the sea.\nYour personal goal is: Rhyme\nWork on")

    async def test_any_runnable_is_the_agent_of_a_task(self) -> None:
        @runnable
        async def shout(text: str) -> str:
            return text.upper()

        result = await Ensemble("E", [Task("Hello", agent=shout)]).run(context=over())
        assert (result.raw, result.task_outputs[0].role) == ("## TASK\n\nHELLO", "shout")


class TestSettings:
    async def test_the_model_of_the_agent_comes_before_that_of_the_task_and_that_before_the_ensembles(self) -> None:
        own, task, ensemble = (ScriptedModel(f"of the {name}") for name in ("agent", "task", "ensemble"))
        tasks = [
            Task("a", agent=Agent("A", model=own), model=task),
            Task("b", agent=Agent("B"), model=task),
            Task("c", agent=Agent("C")),
        ]
        result = await Ensemble("E", tasks, model=ensemble).run(context=over())
        assert [output.raw for output in result.task_outputs] == ["of the agent", "of the task", "of the ensemble"]

    async def test_the_model_of_the_ensemble_is_also_that_of_agents_inside_other_runnables(self) -> None:
        @runnable
        async def ask(text: str) -> str:
            return (await Agent("Inner").run(text)).output

        async def handle(task: TaskInput) -> object:
            return (await Agent("Inner").run("Hi")).output

        model = ScriptedModel("inside", "in a handler")
        tasks = [Task("a", agent=ask), Task("b", handler=handle)]
        result = await Ensemble("E", tasks, model=model).run(context=over())
        assert [output.raw for output in result.task_outputs] == ["inside", "in a handler"]

    async def test_tools_of_agent_task_and_ensemble_are_merged_and_the_nearest_of_a_name_wins(self) -> None:
        def make(name: str, text: str) -> Tool:
            @tool(name=name, description=text)
            def call() -> str:
                return text

            return call

        model = ScriptedModel("done")
        agent = Agent("A", model=model, tools=[make("x", "agent"), make("y", "agent")])
        task = Task("Go", agent=agent, tools=[make("y", "task"), make("z", "task")])
        await Ensemble("E", [task], tools=[make("z", "ensemble"), make("w", "ensemble")]).run(context=over())
        found = {spec.name: spec.description for spec in model.calls[0].tools}
        assert found == {"x": "agent", "y": "agent", "z": "task", "w": "ensemble"}
        assert [one.name for one in agent.tools] == ["x", "y"]


class TestTypedOutputs:
    async def test_with_an_output_type_the_agent_is_prompted_to_produce_json_and_the_output_is_parsed(self) -> None:
        model = ScriptedModel(Report(title="AI", words=3))
        result = await Ensemble("E", [Task("Go", output_type=Report)], model=model).run(context=over())
        output = result["Go"]
        assert output.parsed == result.output == Report(title="AI", words=3)
        assert output.get_parsed(Report).words == 3
        assert output.raw == '{"title":"AI","words":3}'
        assert '"title"' in prompt_of(model).partition("## Output Format")[2]

    async def test_if_parsing_fails_it_retries_up_to_max_output_retries_times(self) -> None:
        model = ScriptedModel("no", '{"title": 1}', "{}")
        task = Task("Go", output_type=Report, max_output_retries=2)
        with pytest.raises(TaskFailedError) as caught:
            await Ensemble("E", [task], model=model).run(context=over())
        assert len(model.calls) == 3
        assert isinstance(caught.value.failed["Go"], OutputError)
        assert caught.value.result.usage.requests == 3

    async def test_on_each_retry_the_model_is_shown_the_parse_error_and_the_original_task(self) -> None:
        model = ScriptedModel("{}", Report(title="AI", words=3))
        await Ensemble("E", [Task("Write it", output_type=Report)], model=model).run(context=over())
        second = prompt_of(model, 1)
        assert second.startswith("## Task\n\nWrite it")
        assert "## Output Format" in second
        assert "title" in second.rpartition("not a valid Report")[2]

    async def test_max_output_retries_has_no_effect_without_an_output_type(self) -> None:
        result = await Ensemble("E", [Task("Go", max_output_retries=0)], model=ScriptedModel("{")).run(context=over())
        assert (result.raw, result.task_outputs[0].parsed) == ("{", None)

    @pytest.mark.parametrize(
        ("kind", "said", "parsed"),
        [(int, '{"value": 3}', 3), (list[int], '{"value": [1, 2]}', [1, 2]), (str, "a", "a")],
    )
    async def test_output_types_may_be_primitives_and_lists(
        self, kind: type[object], said: str, parsed: object
    ) -> None:
        result = await Ensemble("E", [Task("Go", output_type=kind)], model=ScriptedModel(said)).run(context=over())
        assert result["Go"].parsed == parsed

    async def test_the_output_of_a_handler_and_of_any_runnable_is_validated_too(self) -> None:
        async def answer(text: str) -> str:
            return '{"title": "AI", "words": 3}'

        tasks = [
            Task("a", handler=lambda task: {"title": "AI", "words": 3}, output_type=Report),
            Task("b", agent=runnable(answer), output_type=Report),
        ]
        result = await Ensemble("E", tasks).run(context=over())
        assert [output.parsed for output in result.task_outputs] == [Report(title="AI", words=3)] * 2
        with pytest.raises(TaskFailedError, match="not a valid Report"):
            await Ensemble("E", [Task("c", handler=lambda task: 3, output_type=Report)]).run(context=over())

    async def test_get_parsed_refuses_another_type_and_no_parsed_output(self) -> None:
        tasks = [Task("text"), Task("number", handler=lambda task: 3)]
        result = await Ensemble("E", tasks, model=ScriptedModel("a")).run(context=over())
        with pytest.raises(TypeError, match="'text' has no parsed output, not a Report"):
            result["text"].get_parsed(Report)
        with pytest.raises(TypeError, match="'number' has an int, not a Report"):
            result["number"].get_parsed(Report)


class TestHandlers:
    async def test_a_handler_does_a_task_without_a_model(self) -> None:
        seen: list[TaskInput] = []

        def count(task: TaskInput) -> int:
            seen.append(task)
            return len(task.context_outputs[0].raw.split())

        write = Task("Write about {topic}", agent=says("Writer", "one two three"))
        tasks = [write, Task("Count the {topic} words", expected_output="{topic}!", handler=count)]
        result = await Ensemble("E", tasks).run({"topic": "AI"}, context=over())
        assert (result.output, result.raw) == (3, "3")
        assert result.task_outputs[1].role == "(deterministic)"
        assert (seen[0].description, seen[0].expected_output) == ("Count the AI words", "AI!")
        assert seen[0].values == {"topic": "AI"}

    async def test_a_handler_may_be_async(self) -> None:
        async def handle(task: TaskInput) -> str:
            return "done"

        result: RunResult[object] = await Ensemble("E", [Task("Go", handler=handle)]).run(context=over())
        assert result.output == "done"
