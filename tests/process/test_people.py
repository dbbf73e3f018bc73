"""Actions that ask people, and what the process does meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, cast

import pytest
from pydantic import BaseModel, Field

from tactician import (
    Agent,
    Ai,
    Budget,
    PlannedAgent,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    tool,
)
from tactician.errors import ConfigurationError, DeclarationError, ResponseError
from tactician.events import Event
from tactician.process import AgentProcess, OperationContext, ask_human, confirm
from tactician.runs import RunSuspended
from tactician.testing import FakeClock, ScriptedModel, ToolCall


class Feedback(BaseModel):
    comments: str = Field(description="what you think of it", max_length=2000)
    stars: int = Field(ge=1, le=5)


@dataclass
class Story:
    text: str


@dataclass
class Published:
    text: str


@planned_agent(description="writes and publishes")
class Writer:
    def __init__(self) -> None:
        self.asked = 0

    @action
    async def write(self, topic: UserInput) -> Story:
        return Story(f"a story about {topic.content}")

    @action
    async def review(self, story: Story) -> Feedback:
        self.asked += 1
        return await ask_human(Feedback, f"Please comment on: {story.text}")

    @achieves_goal("published")
    @action
    def publish(self, story: Story, feedback: Feedback) -> Published:
        return Published(f"{story.text} ({feedback.stars} stars)")


async def started(agent: object, text: str = "frogs", model: ScriptedModel | None = None) -> AgentProcess:
    return await Platform(models=model or ScriptedModel()).start(agent, text)


class TestForms:
    async def test_the_process_waits_with_a_form(self) -> None:
        process = await started(Writer())

        assert process.status is ProcessStatus.WAITING
        (request,) = process.pending
        assert (request.kind, request.prompt) == ("form", "Please comment on: a story about frogs")
        assert request.schema is not None
        properties = request.schema["properties"]
        assert isinstance(properties, dict)
        assert properties["comments"]["x-form"] == {
            "widget": "textarea", "label": "Comments", "order": 0, "help": "what you think of it",
        }  # fmt: skip
        assert properties["stars"]["x-form"]["widget"] == "number"

    @pytest.mark.parametrize("response", [Feedback(comments="good", stars=5), {"comments": "good", "stars": 5}])
    async def test_an_object_or_a_plain_dict_answers_it(self, response: object) -> None:
        process = await started(Writer())

        await process.respond(process.pending[0].id, response)

        assert process.status is ProcessStatus.COMPLETED
        assert process.last(Published) == Published("a story about frogs (5 stars)")
        assert process.pending == ()
        assert [run.action for run in process.history] == ["write", "review", "publish"]

    async def test_an_answer_that_does_not_fit_is_refused_and_the_process_still_waits(self) -> None:
        process = await started(Writer())

        with pytest.raises(
            ResponseError, match="the answer is not valid: stars: Input should be less than or equal to 5"
        ):
            await process.respond(process.pending[0].id, {"comments": "x", "stars": 9})

        assert process.status is ProcessStatus.WAITING
        answered = await process.respond(process.pending[0].id, {"comments": "x", "stars": 3})
        assert answered.status is ProcessStatus.COMPLETED

    async def test_a_request_that_is_not_there(self) -> None:
        process = await started(Writer())

        with pytest.raises(ResponseError, match=r"does not wait for 'x'; it waits for \['Writer/review/asked'\]"):
            await process.respond("x", {})

    async def test_running_it_again_without_an_answer_changes_nothing(self) -> None:
        writer = Writer()
        process = await started(writer)

        await process.run()

        assert (process.status, writer.asked) == (ProcessStatus.WAITING, 1)

    async def test_listeners_hear_of_it(self) -> None:
        events: list[Event] = []
        process = await Platform(models=ScriptedModel(), on_event=events.append).start(Writer(), "x")

        (paused,) = [event for event in events if isinstance(event, RunSuspended)]
        assert paused.pending == process.pending

    async def test_simple_types_are_forms_with_one_field(self) -> None:
        class Mood(StrEnum):
            HAPPY = "happy"
            SAD = "sad"

        @planned_agent(description="asks")
        class Asker:
            @achieves_goal("asked")
            @action
            async def ask(self, topic: UserInput) -> Mood:
                return await ask_human(Mood, "How are you?")

        process = await started(Asker())
        schema = process.pending[0].schema
        assert schema is not None
        assert isinstance(properties := schema["properties"], dict)
        assert properties["value"]["x-form"]["widget"] == "select"
        await process.respond(process.pending[0].id, "happy")
        assert process.result is Mood.HAPPY


class TestConfirming:
    @pytest.mark.parametrize(("answer", "status"), [(True, ProcessStatus.COMPLETED), (False, ProcessStatus.STUCK)])
    async def test_a_rejection_is_an_outcome_that_the_plan_deals_with(
        self, answer: bool, status: ProcessStatus
    ) -> None:
        @planned_agent(description="publishes")
        class Publisher:
            @achieves_goal("published")
            @action
            async def publish(self, topic: UserInput) -> Published | None:
                return Published(topic.content) if await confirm(topic, "Sure?") else None

        process = await started(Publisher())
        assert process.pending[0].kind == "confirmation"
        assert "Sure?" in process.pending[0].prompt
        assert "frogs" in process.pending[0].prompt

        await process.respond(process.pending[0].id, answer)

        assert process.status is status

    async def test_another_way_is_taken_after_a_rejection(self) -> None:
        @planned_agent(description="publishes")
        class Publisher:
            @action(cost=0.1)
            async def quickly(self, topic: UserInput) -> Story | None:
                return Story("quick") if await confirm(None, "Quickly?") else None

            @action(cost=0.9)
            def carefully(self, topic: UserInput) -> Story:
                return Story("careful")

            @achieves_goal("published")
            @action
            def publish(self, story: Story) -> Published:
                return Published(story.text)

        process = await started(Publisher())
        await process.respond(process.pending[0].id, False)

        assert process.last(Published) == Published("careful")


class TestSeveral:
    async def test_questions_of_one_action_come_one_after_the_other_and_answers_are_kept(self) -> None:
        @planned_agent(description="asks twice")
        class Asker:
            @achieves_goal("asked")
            @action
            async def ask(self, topic: UserInput) -> Story:
                name = await ask_human(str, "Name?")
                place = await ask_human(str, "Place?")
                return Story(f"{name} in {place}")

        process = await started(Asker())
        await process.respond(process.pending[0].id, "Ada")
        assert [request.prompt for request in process.pending] == ["Place?"]
        await process.respond(process.pending[0].id, "London")

        assert process.last(Story) == Story("Ada in London")

    async def test_an_agents_tool_that_needs_an_approval_has_the_process_wait(self) -> None:
        paid: list[int] = []

        @tool(needs_approval=True)
        def pay(amount: int) -> str:
            paid.append(amount)
            return "paid"

        @planned_agent(description="pays")
        class Payer:
            @achieves_goal("paid")
            @action
            async def pay(self, topic: UserInput, context: OperationContext) -> Story:
                clerk = Agent("Clerk", tools=[pay])
                return Story((await clerk.run(topic.content, context=context.run)).output)

        model = ScriptedModel(ToolCall("pay", amount=5), "it is paid")
        process = await started(Payer(), model=model)
        assert process.pending[0].kind == "approval"

        await process.respond(process.pending[0].id, True)

        assert process.last(Story) == Story("it is paid")
        assert paid == [5]
        assert len(model.calls) == 2, "what the agent had said is not asked again"


class TestDeadlines:
    async def test_when_nobody_answers_in_time_the_default_counts(self) -> None:
        @planned_agent(description="asks")
        class Asker:
            @achieves_goal("asked")
            @action
            async def ask(self, topic: UserInput) -> Story:
                return Story(await ask_human(str, "Title?", deadline=timedelta(0), default="untitled"))

        process = await started(Asker())
        assert process.status is ProcessStatus.WAITING
        assert process.pending[0].deadline is not None

        await process.run()

        assert process.last(Story) == Story("untitled")

    async def test_before_that_it_waits(self) -> None:
        @planned_agent(description="asks")
        class Asker:
            @achieves_goal("asked")
            @action
            async def ask(self, topic: UserInput) -> Story:
                return Story(await ask_human(str, "Title?", deadline=timedelta(days=2), default="untitled"))

        process = await started(Asker())
        await process.run()
        assert process.status is ProcessStatus.WAITING
        await process.respond(process.pending[0].id, "Frogs")

        assert process.last(Story) == Story("Frogs")

    async def test_a_deadline_needs_a_default(self) -> None:
        @planned_agent(description="asks")
        class Asker:
            @achieves_goal("asked")
            @action
            async def ask(self, topic: UserInput) -> Story:
                return Story(await ask_human(str, "Title?", deadline=timedelta(1)))

        process = await started(Asker())

        assert process.status is ProcessStatus.FAILED
        assert "a deadline needs a default" in str(process.failure)

    @pytest.mark.parametrize("deadline", [5, timedelta(seconds=-1), timedelta.max])
    @pytest.mark.parametrize("kind", ["ask_human", "confirm"])
    async def test_a_deadline_is_how_long_to_wait(self, deadline: timedelta, kind: str) -> None:
        @planned_agent(description="asks")
        class Asker:
            @achieves_goal("asked")
            @action
            async def ask(self, topic: UserInput) -> Story:
                if kind == "confirm":
                    return Story(str(await confirm(None, "Title?", deadline=deadline)))
                return Story(await ask_human(str, "Title?", deadline=deadline, default="untitled"))

        process = await started(Asker())

        assert isinstance(process.error, ConfigurationError)
        assert f"'Title?': the deadline is {deadline!r}; write how long to wait" in str(process.failure)


async def test_outside_of_actions_nobody_can_be_asked() -> None:
    with pytest.raises(ConfigurationError, match="only from inside an action"):
        await ask_human(str, "?")


async def test_what_the_action_did_with_models_before_is_not_done_again_by_its_agents() -> None:
    @planned_agent(description="writes")
    class Drafter:
        @achieves_goal("written")
        @action
        async def write(self, topic: UserInput, ai: Ai) -> Story:
            draft = await ai.generate_text("draft")
            better = await ask_human(str, f"Better than {draft}?")
            return Story(better)

    model = ScriptedModel("draft 1")
    process = await started(Drafter(), model=model)
    await process.respond(process.pending[0].id, "mine")

    assert process.last(Story) == Story("mine")
    assert len(model.calls) == 1


async def test_a_default_has_to_be_a_valid_answer() -> None:
    @planned_agent(description="asks")
    class Asker:
        @achieves_goal("asked")
        @action
        async def ask(self, topic: UserInput) -> Story:
            return Story(str(await ask_human(int, "How many?", deadline=timedelta(1), default="many")))

    process = await started(Asker())

    assert process.status is ProcessStatus.FAILED
    assert "the default is not a valid answer" in str(process.failure)


async def test_after_a_wrong_answer_the_default_still_counts_when_time_is_over() -> None:
    @planned_agent(description="asks")
    class Asker:
        @achieves_goal("asked")
        @action
        async def ask(self, topic: UserInput) -> Story:
            return Story(str(await ask_human(int, "How many?", deadline=timedelta(0), default=3)))

    process = await started(Asker())
    with pytest.raises(ResponseError):
        await process.respond(process.pending[0].id, "many")

    await process.run()

    assert process.last(Story) == Story("3")


async def test_time_in_which_it_waits_is_not_counted() -> None:

    clock = FakeClock()
    context = RunContext.over(ScriptedModel(), clock=clock)
    options = ProcessOptions(budget=Budget(seconds=10))
    process = await PlannedAgent(Writer()).create_process("frogs", context=context, options=options).run()

    clock.advance(3600)
    await process.respond(process.pending[0].id, {"comments": "good", "stars": 5})

    assert process.status is ProcessStatus.COMPLETED


async def test_arguments_in_the_wrong_order_are_an_error_that_shows_the_right_call() -> None:
    ask: Any = ask_human
    with pytest.raises(DeclarationError, match=r"the prompt is the second argument, a text: ask_human\(Feedback, 'How"):
        await ask("How is it?", Feedback)
    with pytest.raises(DeclarationError, match="the prompt is the second argument"):
        await ask(Feedback, Feedback)
    with pytest.raises(DeclarationError, match="the prompt is the second argument"):
        await confirm("Print it?", cast(Any, Story("x")))
