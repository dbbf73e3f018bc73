"""The same with `from __future__ import annotations`, where every annotation is a string."""

from __future__ import annotations

from dataclasses import dataclass

from tactician import Platform, UserInput, achieves_goal, action, condition, planned_agent
from tactician.testing import ScriptedModel
from tests.agents.running import started


async def test_classes_of_a_function_are_found() -> None:
    @dataclass(frozen=True)
    class Local:
        text: str

    @planned_agent(description="uses a local class")
    class Agent:
        @action
        def first(self, user_input: UserInput) -> Local | None:
            return Local(user_input.content)

        @condition
        def long(self, local: Local) -> bool:
            return len(local.text) > 3

        @achieves_goal("done")
        @action(pre=["long"])
        def second(self, local: Local) -> str:
            return local.text

    assert (await started(Agent(), "long enough")).result == "long enough"


async def test_classes_of_two_calls_of_a_function_are_not_mixed_up() -> None:
    def make(suffix: str) -> object:
        @dataclass(frozen=True)
        class Local:
            text: str

        @planned_agent(description="uses a local class", name=f"agent {suffix}")
        class Agent:
            @action
            def first(self, user_input: UserInput) -> Local:
                return Local(user_input.content + suffix)

            @achieves_goal("done")
            @action
            def second(self, local: Local) -> str:
                return local.text

        return Agent()

    platform = Platform(models=ScriptedModel()).register(make("1"), make("2"))
    assert [(await platform.start(name, "x")).result for name in platform.agents] == ["x1", "x2"]
