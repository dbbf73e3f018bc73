"""Write and review, with a person in the loop, kept in a store at each step."""

from __future__ import annotations

from dataclasses import dataclass

from tactician import (
    Ai,
    Platform,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    state,
)
from tactician.process import AgentProcess, ask_human
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore, respond


@dataclass(frozen=True)
class Story:
    text: str


@dataclass(frozen=True)
class Feedback:
    comments: str


@dataclass(frozen=True)
class Reviewed:
    story: Story


@state
class Stage:
    pass


@planned_agent(description="Writes, until somebody likes it")
class Writer:
    @action
    async def craft(self, user_input: UserInput, ai: Ai) -> Assess:
        return Assess(Story(await ai.generate_text(user_input.content)))


@dataclass(frozen=True)
class Assess(Stage):
    story: Story

    @action
    async def get_feedback(self) -> Feedback:
        return await ask_human(Feedback, f"Please comment on: {self.story.text}")

    @action
    def assess(self, feedback: Feedback) -> Stage:
        return Done(self.story) if feedback.comments == "good" else Revise(self.story, feedback)


@dataclass(frozen=True)
class Revise(Stage):
    story: Story
    feedback: Feedback

    @action
    async def revise(self, ai: Ai) -> Assess:
        return Assess(Story(await ai.generate_text(f"{self.feedback.comments}: {self.story.text}")))


@dataclass(frozen=True)
class Done(Stage):
    story: Story

    @achieves_goal("somebody likes it")
    @action
    def finish(self) -> Reviewed:
        return Reviewed(self.story)


async def answered(platform: Platform, process: AgentProcess, comments: str) -> AgentProcess:
    (_,) = process.pending
    return await respond(platform, process, Feedback(comments))


async def test_a_person_decides_how_often_the_states_loop() -> None:
    platform = Platform(models=ScriptedModel("first", "second"))
    platform.register(Writer())
    process = await platform.start("Writer", "a knight")
    assert process.status is ProcessStatus.WAITING
    assert [request.prompt for request in process.pending] == ["Please comment on: first"]
    process = await answered(platform, process, "dull")
    assert [request.prompt for request in process.pending] == ["Please comment on: second"]
    process = await answered(platform, process, "good")
    assert process.status is ProcessStatus.COMPLETED
    assert process.result == Reviewed(Story("second"))


async def test_a_process_goes_on_in_its_state_somewhere_else() -> None:
    store = JsonStore()
    here, there, last = (
        Platform(ScriptedModel(*said), store=store).register(Writer()) for said in (["first"], ["second"], [])
    )
    process = await here.start("Writer", "a knight")
    restored = await there.process(process.id)
    assert restored.blackboard.objects == (Assess(Story("first")),)
    await answered(there, restored, "dull")
    again = await last.process(process.id)
    assert [one.prompt for one in again.pending] == ["Please comment on: second"]
    assert (await answered(last, again, "good")).result == Reviewed(Story("second"))
