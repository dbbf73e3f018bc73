"""A wrong declaration is found when the agent is registered: every mistake at once, with its place and its remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

import pytest

from tactician import (
    Ai,
    Export,
    Platform,
    SomeOf,
    UserInput,
    achieves_goal,
    action,
    condition,
    cost,
    planned_agent,
    state,
)
from tactician.agents import combine_specs
from tactician.errors import DeclarationError
from tactician.testing import ScriptedModel


@dataclass(frozen=True)
class Story:
    text: str


class Loose(TypedDict):
    text: str


class Sized(Protocol):
    @property
    def size(self) -> int: ...


class Correct:
    """A goal, so that a test has one mistake only."""

    @achieves_goal("done")
    @action
    def finish(self, user_input: UserInput) -> str:
        return ""


def find_problems(agent: object) -> tuple[str, ...]:
    """What registering the agent finds."""
    with pytest.raises(DeclarationError) as caught:
        Platform(models=ScriptedModel()).register(agent)
    return caught.value.problems


def test_a_class_without_an_action() -> None:
    @planned_agent(description="d")
    class Empty:
        pass

    assert find_problems(Empty()) == ("it has no action; declare at least one method with @action",)


def test_a_class_without_a_goal() -> None:
    @planned_agent(description="d")
    class Aimless:
        @action
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Aimless()) == (
        'it has no goal; add @achieves_goal("...") to the action that completes its work',
    )


def test_a_goal_that_is_no_action() -> None:
    @planned_agent(description="d")
    class Half(Correct):
        @achieves_goal("a story")
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Half()) == ("write: @achieves_goal is for an action; add @action below it",)


def test_a_parameter_without_a_type() -> None:
    @planned_agent(description="d")
    class Untyped(Correct):
        @action
        def write(self, topic) -> Story:  # type: ignore[no-untyped-def]  # noqa: ANN001 - on purpose
            return Story("")

    assert find_problems(Untyped()) == ("write: parameter 'topic' has no type; annotate it with the type it needs",)


def test_an_action_without_a_return_type() -> None:
    @planned_agent(description="d")
    class Silent(Correct):
        @action
        def write(self, user_input: UserInput):  # type: ignore[no-untyped-def]  # noqa: ANN202 - on purpose
            return Story("")

    assert find_problems(Silent()) == (
        "write: it has no return annotation; add an annotation, as in `-> Story` or `-> None`",
    )


def test_a_condition_needs_no_return_type() -> None:
    @planned_agent(description="d")
    class Fine(Correct):
        @condition
        def ready(self, user_input: UserInput):  # type: ignore[no-untyped-def]  # noqa: ANN202 - on purpose
            return True

    Platform(models=ScriptedModel()).register(Fine())


def test_a_list_is_no_class() -> None:
    @planned_agent(description="d")
    class Lists(Correct):
        @action
        def write(self, stories: list[Story]) -> list[Story] | None:
            return stories

    remedy = "wrap it in a class of its own, so that the planner can tell it from others"
    assert find_problems(Lists()) == (
        f"write: parameter 'stories' needs a class, not list[Story]; {remedy}",
        f"write: it returns list[Story], which is not a class; {remedy}",
    )


def test_a_parameter_of_several_types() -> None:
    @planned_agent(description="d")
    class Either(Correct):
        @action
        def write(self, source: Story | UserInput) -> Story:
            return Story("")

    assert find_problems(Either())[0] == (
        "write: parameter 'source' needs a class, not Story | UserInput; "
        "take one parameter for each, as in `story: Story | None`, or a class that they derive from"
    )


@pytest.mark.parametrize(
    ("hint", "written"), [(Any, "Any"), (Loose, "Loose"), (Sized, "Sized"), (tuple[Story, ...], "tuple[Story, ...]")]
)
def test_a_type_that_no_object_can_be_checked_against(hint: object, written: str) -> None:
    def write(self: object, source: object) -> object:
        return source

    write.__annotations__.update({"source": hint, "return": hint})
    agent = planned_agent(description="d")(type("Loosely", (Correct,), {"write": action(write)}))
    parameter, result = find_problems(agent())
    assert parameter.startswith(f"write: parameter 'source' needs a class, not {written}; ")
    assert result.startswith(f"write: it returns {written}, which is not a class; ")


def test_two_parameters_of_one_type() -> None:
    @planned_agent(description="d")
    class Twins(Correct):
        @action
        def compare(self, first: Story, second: Story | None, third: Story) -> bool:
            return first == second

    assert find_problems(Twins()) == (
        "compare: two parameters of type Story would get the same object; "
        "write Annotated[Story, by_name] to bind them by name",
    )


def test_parameters_that_cannot_be_passed_by_name() -> None:
    @planned_agent(description="d")
    class Stars(Correct):
        @action
        def write(self, story: Story, /, *more: UserInput, **rest: Story) -> bool:
            return True

    assert find_problems(Stars()) == tuple(
        f"write: parameter '{name}' cannot be filled by name; make it a plain parameter"
        for name in ("story", "*more", "**rest")
    )


def test_an_unknown_condition_with_a_suggestion() -> None:
    @planned_agent(description="d")
    class Typo(Correct):
        @condition
        def approved(self, story: Story) -> bool:
            return True

        @action(pre=["aproved"])
        def publish(self, story: Story) -> bool:
            return True

    assert find_problems(Typo()) == ("publish: no condition 'aproved'; did you mean 'approved'?",)


def test_an_unknown_condition_without_anything_similar() -> None:
    @planned_agent(description="d")
    class Lost(Correct):
        @action(pre=["sunny"])
        def publish(self, story: Story) -> bool:
            return True

    assert find_problems(Lost()) == (
        "publish: no condition 'sunny'; declare a @condition, or an action with it in `post`; a condition set from "
        "outside, with `blackboard.set_condition`, is declared by a @condition that takes `blackboard: Blackboard` "
        "and returns `blackboard.condition('sunny')`",
    )


def test_a_condition_that_is_declared_twice() -> None:
    @planned_agent(description="d")
    class Double(Correct):
        @condition(name="ready")
        def first(self) -> bool:
            return True

        @condition(name="ready")
        def second(self) -> bool:
            return False

    assert find_problems(Double()) == ("second: the condition 'ready' is declared twice; rename either",)


def test_an_annotation_that_names_nothing() -> None:
    @planned_agent(description="d")
    class Undefined:
        @achieves_goal("a story")
        @action
        def write(self, user_input: UserInput) -> Nowhere:  # type: ignore[name-defined]  # noqa: F821 - on purpose
            return None

    assert find_problems(Undefined()) == (
        "write: the annotation 'Nowhere' is not defined where it can be seen; "
        "import it (not only under TYPE_CHECKING), or define it before the class",
    )


@pytest.mark.parametrize("cost", [-0.1, float("nan"), float("inf")])
def test_a_cost_that_is_no_cost(cost: float) -> None:
    @planned_agent(description="d")
    class Dear(Correct):
        @action(cost=cost)
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Dear()) == (f"write: the cost is {cost!r}; it must be a number from 0 up, or MEASURED",)


def test_methods_that_have_no_self() -> None:
    @planned_agent(description="d")
    class Static(Correct):
        @staticmethod
        @action
        def write(user_input: UserInput) -> Story:
            return Story("")

        @classmethod
        @action
        def rewrite(cls, story: Story) -> bool:
            return True

    assert find_problems(Static()) == tuple(
        f"{name}: it must be a plain method; take @staticmethod or @classmethod away" for name in ("write", "rewrite")
    )


def test_all_mistakes_are_told_at_once() -> None:
    @planned_agent(description="d")
    class Messy:
        @action(pre=["payed"])
        def ship(self, order, story: list[Story]) -> Story:  # type: ignore[no-untyped-def]  # noqa: ANN001 - on purpose
            return Story("")

        @action(post=["paid"])
        def pay(self, first: Story, second: Story): ...  # type: ignore[no-untyped-def]  # noqa: ANN202 - on purpose

    with pytest.raises(DeclarationError) as caught:
        Platform(models=ScriptedModel()).register(Messy())
    assert str(caught.value) == (
        "Messy is not declared correctly:\n"
        "  - ship: parameter 'order' has no type; annotate it with the type it needs\n"
        "  - ship: parameter 'story' needs a class, not list[Story]; wrap it in a class of its own, so that the "
        "planner can tell it from others\n"
        "  - pay: two parameters of type Story would get the same object; write Annotated[Story, by_name] to bind "
        "them by name\n"
        "  - pay: it has no return annotation; add an annotation, as in `-> Story` or `-> None`\n"
        '  - it has no goal; add @achieves_goal("...") to the action that completes its work\n'
        "  - ship: no condition 'payed'; did you mean 'paid'?"
    )


def test_the_mistakes_are_told_each_time() -> None:
    @planned_agent(description="d")
    class Empty:
        pass

    assert find_problems(Empty()) == find_problems(Empty())


def test_a_class_that_is_not_decorated() -> None:
    assert find_problems(Correct()) == (
        "it is not a Runnable; decorate the class with @planned_agent(description=...)",
    )


def test_a_spec_is_told_how_it_becomes_an_agent() -> None:
    @planned_agent(description="d")
    class Decorated(Correct):
        pass

    spec = combine_specs([Decorated()])
    assert find_problems(spec) == ("it is not a Runnable; make an agent of the spec: PlannedAgent.of(spec)",)


def test_the_class_instead_of_an_instance() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        pass

    assert find_problems(Agent) == ("this is the class; make an instance: Agent(...)",)


@state
class Phase:
    pass


class First(Phase):
    @action
    def go_on(self) -> Second:
        return Second()


class Second(Phase):
    @action
    def go_back(self) -> First:
        return First()


def test_mistakes_in_states_are_told_with_the_state() -> None:
    @state
    class Wrong:
        @action(pre=["raedy"])
        def go(self, story) -> list[Story]:  # type: ignore[no-untyped-def]  # noqa: ANN001 - on purpose
            return []

        @condition
        def ready(self) -> bool:
            return True

    @planned_agent(description="d")
    class Agent(Correct):
        @action
        def begin(self, user_input: UserInput) -> Wrong:
            return Wrong()

    assert find_problems(Agent()) == (
        "Wrong.go: parameter 'story' has no type; annotate it with the type it needs",
        "Wrong.go: it returns list[Story], which is not a class; wrap it in a class of its own, so that the planner "
        "can tell it from others",
        "Wrong.go: no condition 'raedy'; declare a @condition, or an action with it in `post`; a condition set from "
        "outside, with `blackboard.set_condition`, is declared by a @condition that takes `blackboard: Blackboard` "
        "and returns `blackboard.condition('raedy')`",
    )


def test_a_state_in_which_nothing_can_be_done() -> None:
    @state
    class End:
        pass

    @planned_agent(description="d")
    class Agent(Correct):
        @action
        def begin(self, user_input: UserInput) -> End:
            return End()

    assert find_problems(Agent()) == (
        "End: nothing can be done in this state; declare a method of it with @action, or import the modules of its "
        "subclasses first",
    )


def test_a_goal_that_enters_a_state() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @achieves_goal("begun")
        @action
        def begin(self, user_input: UserInput) -> First | None:
            return First()

    assert find_problems(Agent()) == ("begin: it reaches a goal and enters the state First; split it into two actions",)


def test_an_action_of_two_states_can_never_run() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @action
        def begin(self, user_input: UserInput) -> First:
            return First()

        @action
        def both(self, first: First, phase: Phase, second: Second) -> Story:
            return Story("")

        @action
        def fine(self, phase: Phase, first: First, other: Second | None) -> Story:
            return Story("")

    assert find_problems(Agent()) == (
        "both: it can never run, as it needs First and Second, and a process is in one state at a time; pass what it "
        "needs in a field of the state",
    )


def test_a_cost_method_that_is_not_there() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @cost
        def effort(self) -> float:
            return 1

        @action(cost_method="efort", value_method="worth")
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == (
        "write: no cost 'efort'; did you mean 'effort'?",
        "write: no cost 'worth'; declare a method with @cost",
    )


def test_a_cost_with_an_argument_that_may_be_missing() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @cost
        def effort(self, story: Story, user_input: UserInput | None, ai: Ai) -> float:
            return 1

    assert find_problems(Agent()) == (
        "effort: parameter 'story' may be missing when a plan is made; write Story | None",
    )


def test_a_cost_that_is_declared_twice() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @cost
        def effort(self) -> float:
            return 1

        @cost(name="effort")
        def other(self) -> float:
            return 2

    assert find_problems(Agent()) == ("other: the cost 'effort' is declared twice; rename either",)


def test_a_value_that_is_no_number() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @action(value=float("nan"))
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == ("write: the value is nan; it must be a number",)


def test_a_method_that_is_two_things() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @condition
        @action
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == ("write: it is an action, a condition or a cost; take all but one away",)


def test_an_expression_that_is_none() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @action(pre=["expr: story.delete()"], post=["expr: story.text"])
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == (
        "write: 'expr: story.delete()': 'story.delete' cannot be called; only len, any, all, isinstance can",
        "write: 'expr: story.text' in `post`: nothing can make an expression true; give the condition a name",
    )


@pytest.mark.parametrize(("trigger", "written"), [(list[Story], "list[Story]"), (Story | int, "Story | int")])
def test_a_trigger_that_is_no_class(trigger: type, written: str) -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @action(trigger=trigger)
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == (f"write: the trigger is {written}, which is not a class; name a class",)


def test_a_condition_with_the_name_of_a_type() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @condition(name="Story")
        def is_there(self, story: Story) -> bool:
            return True

        @action(post=["ran write"])
        def write(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == (
        "the condition 'Story' has the name of a type, or of the condition that an action ran; rename it",
        "the condition 'ran write' has the name of a type, or of the condition that an action ran; rename it",
    )


def test_a_part_that_is_no_class() -> None:
    @dataclass
    class Parts(SomeOf):
        stories: list[Story] | None = None

    @planned_agent(description="d")
    class Agent(Correct):
        @action
        def write(self, user_input: UserInput) -> Parts:
            return Parts()

    assert find_problems(Agent()) == (
        "Parts: the field 'stories' is of list[Story], which is not a class; wrap it in a class of its own, so that "
        "the planner can tell it from others",
    )


def test_a_part_that_names_nothing() -> None:
    @dataclass
    class Parts(SomeOf):
        story: Nowhere | None = None  # type: ignore[name-defined]  # noqa: F821 - on purpose

    @planned_agent(description="d")
    class Agent(Correct):
        @action
        def write(self, user_input: UserInput) -> Parts:
            return Parts()

    assert find_problems(Agent()) == (
        "Parts: the annotation 'Nowhere' is not defined where it can be seen; "
        "import it (not only under TYPE_CHECKING), or define it before the class",
    )


def test_two_goals_that_are_exported_by_one_name() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @achieves_goal("a story", export=Export(remote=True, name="story"))
        @action
        def write(self, user_input: UserInput) -> Story:
            return Story("")

        @achieves_goal("another story", export=Export(name="story"))
        @action
        def rewrite(self, user_input: UserInput) -> Story:
            return Story("")

    assert find_problems(Agent()) == ("rewrite: another goal is exported as 'story'; give each a name of its own",)


def test_a_handler_that_does_not_take_the_process() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        async def handle_stuck(self) -> bool:
            return True

    assert find_problems(Agent()) == (
        "handle_stuck: it must take the process; write `async def handle_stuck(self, process) -> bool`",
    )
