"""Inputs, prompts, outputs and results of ensembles."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from tactician import Agent, Ensemble, Loop, RunResult, RunStatus, Task, Workflow
from tactician.ensemble import TaskInput
from tactician.llm import UserMessage
from tactician.llm.model_sources import as_model_source
from tactician.runs import Input, RunContext, Services
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.ensemble.support import over, prompt_of, says, script_of


class Order(BaseModel):
    number: int


class TestInput:
    @pytest.mark.parametrize(
        ("input", "text"),
        [
            ("About frogs", "About frogs"),
            (UserMessage("About frogs"), "About frogs"),
            (Order(number=7), '{"number":7}'),
        ],
    )
    async def test_text_stands_in_the_prompts_of_the_first_tasks(self, input: Input, text: str) -> None:
        a, b, c = says("A", "a"), says("B", "b"), says("C", "c")
        first, second = Task("first", agent=a), Task("second", agent=b)
        ensemble = Ensemble("E", [first, second, Task("third", agent=c, context=[first, second])])
        await ensemble.run(input, context=over())
        assert prompt_of(script_of(a)) == f"## Input\n\n{text}\n\n## Task\n\nfirst"
        assert prompt_of(script_of(b)) == f"## Input\n\n{text}\n\n## Task\n\nsecond"
        assert text not in prompt_of(script_of(c))

    async def test_in_a_sequence_text_stands_in_the_prompt_of_the_first_task_only(self) -> None:
        a, b = says("A", "a"), says("B", "b")
        await Ensemble("E", [Task("x", agent=a), Task("y", agent=b)]).run("About frogs", context=over())
        assert "About frogs" in prompt_of(script_of(a))
        assert "About frogs" not in prompt_of(script_of(b))

    async def test_text_is_input_where_a_template_names_it(self) -> None:
        a, b = says("A", "a"), says("B", "b")
        tasks = [Task("x", agent=a), Task("Write about {input}", agent=b)]
        await Ensemble("E", tasks).run("frogs", context=over())
        assert prompt_of(script_of(a)) == "## Task\n\nx"
        assert prompt_of(script_of(b)).endswith("## Task\n\nWrite about frogs")

    async def test_a_handler_gets_the_text_of_the_first_tasks_too(self) -> None:
        result = await Ensemble("E", [Task("x", handler=lambda task: task.text[::-1])]).run("frogs", context=over())
        assert result.raw == "sgorf"

    async def test_a_handler_gets_the_text_that_a_template_names_and_prompts_have_it_once(self) -> None:
        seen: list[TaskInput] = []

        def note(task: TaskInput) -> str:
            seen.append(task)
            return "noted"

        writer = says("Writer", "done")
        loop = Loop([Task("Polish", handler=note)], max_iterations=1)
        ensemble = Ensemble(
            "E",
            [
                Task("Outline", handler=note),
                Ensemble("I", [Task("Sort", handler=note)]),
                loop,
                Task("On {input}", agent=writer),
            ],
            workflow=Workflow.PARALLEL,
        )
        await ensemble.run("frogs", context=over())
        assert [task.text for task in seen] == ["frogs"] * 3
        assert prompt_of(script_of(writer)) == "## Task\n\nOn frogs"


class TestPrompt:
    async def test_the_sections_come_in_their_order(self) -> None:
        research = Task("Research", agent=says("Researcher", "facts"))
        more = Task("Ask around", agent=says("Reporter", "rumours"))
        model = ScriptedModel(Order(number=3))
        last = Task("Order", expected_output="An order", context=[research, more], output_type=Order)
        await Ensemble("E", [research, more, last], model=model).run(context=over())
        sections = prompt_of(model).split("\n\n## ")
        assert sections[0] == (
            "## Context from Previous Tasks\n\n### Researcher: Research\n\nfacts\n\n---\n\n"
            "### Reporter: Ask around\n\nrumours"
        )
        assert sections[1:3] == ["Task\n\nOrder", "Expected Output\n\nAn order"]
        assert sections[3].startswith("Output Format\n\n")
        assert len(sections) == 4

    async def test_an_agent_with_instructions_alone_keeps_them_unchanged(self) -> None:
        model = ScriptedModel("done")
        agent = Agent("A", instructions="Be brief.", model=model)
        await Ensemble("E", [Task("Go", agent=agent)]).run(context=over())
        assert model.calls[0].messages[0].text == "Be brief."

    async def test_instructions_beside_a_role_come_last(self) -> None:
        model = ScriptedModel("done")
        agent = Agent(role="Poet", instructions="Answer in bullet points.", model=model)
        await Ensemble("E", [Task("Go", agent=agent)]).run(context=over())
        lines = model.calls[0].messages[0].text.splitlines()
        assert (lines[0], lines[-1], len(lines)) == ("You are Poet.", "Answer in bullet points.", 3)


class TestResult:
    async def test_a_task_output_says_what_who_when_and_how_long(self) -> None:
        clock = FakeClock()

        async def look() -> str:
            """Look."""
            await clock.sleep(2.5)
            return "seen"

        model = ScriptedModel(ToolCall("look"), ToolCall("look"), "The {report}")
        agent = Agent("Ada", role="Writer", model=model, tools=[look])
        context = RunContext.outermost(Services(as_model_source(ScriptedModel()), clock=clock))
        began = clock.time()
        result = await Ensemble("E", [Task("Write {it}", agent=agent, id="w")]).run({"it": "all"}, context=context)
        (output,) = result.task_outputs
        assert (output.task_id, output.role, output.description) == ("w", "Writer", "Write all")
        assert (output.raw, output.parsed, output.tool_calls) == ("The {report}", None, 2)
        assert (output.duration, output.completed_at) == (5.0, datetime.fromtimestamp(began + 5, UTC))
        assert (output.usage.requests, output.usage.input_tokens, output.cost) == (3, 30, None)
        assert result.duration == 5.0

    async def test_a_result_is_that_of_the_last_task_with_all_outputs(self) -> None:
        def look() -> str:
            """Look."""
            return "seen"

        tasks = [
            Task("a", agent=Agent("A", model=ScriptedModel(ToolCall("look"), "one"), tools=[look])),
            Task("b", agent=Agent("B", model=ScriptedModel(ToolCall("look"), "two"), tools=[look])),
        ]
        result = await Ensemble("E", tasks).run(context=over())
        assert isinstance(result, RunResult)
        assert (result.output, result.raw, result.status) == ("two", "two", RunStatus.COMPLETED)
        assert (result.total_tool_calls, result.usage.requests) == (2, 4)
        assert result["a"].raw == "one"

    async def test_an_unknown_task_id_is_an_error_with_a_hint(self) -> None:
        result = await Ensemble("E", [Task("Write the report")], model=ScriptedModel("a")).run(context=over())
        with pytest.raises(KeyError, match="Did you mean 'Write the report'"):
            result["Write the reports"]

    def test_run_sync_needs_no_event_loop(self) -> None:
        agent = says("A", "done")
        assert Ensemble("E", [Task("Go", agent=agent)]).run_sync().raw == "done"

    async def test_the_text_of_the_last_task_is_the_answer_that_is_streamed(self) -> None:
        tasks = [Task("a", agent=says("A", "not this")), Task("b", agent=says("B", "the answer"))]
        ensemble = Ensemble("E", tasks)
        assert "".join([text async for text in ensemble.stream_text(None, context=over())]) == "the answer"

    def test_a_drawing_has_the_tasks_and_what_they_read(self) -> None:
        research = Task("Research", agent=says("Researcher"))
        drawing = Ensemble("E", [research, Task("Write", context=[research])]).to_mermaid()
        assert 'task_0["Research<br/>Researcher"]' in drawing
        assert "task_0 --> task_1" in drawing
        chain = Ensemble("E", [Task("a"), Task("b", context=[])], workflow=Workflow.SEQUENTIAL).to_mermaid()
        assert "task_0 --> task_1" in chain
