"""Expressions in `pre`: what they may say, what they come to, and that they are safe."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tactician import (
    Blackboard,
    Planner,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.agents.planned.evaluation import evaluate_expression
from tactician.planning.expressions import DEEPEST, LONGEST, ExpressionError, parse_expression
from tactician.testing import FakeContext
from tests.agents.running import started, steps
from tests.support.effort import examples


@dataclass(frozen=True)
class Issue:
    title: str = "crash"


@dataclass(frozen=True)
class Comment:
    text: str = "me too"


@dataclass(frozen=True)
class Assessment:
    urgency: float = 0.5
    labels: tuple[str, ...] = ("bug", "ui")
    scores: Mapping[str, int] = field(default_factory=lambda: {"ui": 3})
    price: Decimal = Decimal("9.90")
    owner: str | None = None

    @property
    def broken(self) -> bool:
        raise ZeroDivisionError("broken")

    def secret(self) -> str:
        return "secret"


class UrgentAssessment(Assessment):
    pass


@dataclass(frozen=True)
class NewEntity:
    new_entities: tuple[object, ...] = (Issue(), Comment())


class GHIssue(Issue):
    pass


def board() -> Blackboard:
    blackboard = Blackboard(NewEntity(), Assessment(), GHIssue())
    blackboard.add(Assessment(urgency=0.9), "second")
    blackboard.add(Assessment(urgency=0.1))
    return blackboard


def value_of(text: str, blackboard: Blackboard | None = None) -> bool:
    context = FakeContext(None, *())
    for entry in (blackboard or board()).entries:
        context.blackboard.add(entry.value, entry.binding)
    return evaluate_expression(parse_expression(text), context)


@pytest.mark.parametrize(
    "text",
    [
        "assessment.urgency > 0",
        "assessment.urgency == 0.1",
        "second.urgency == 0.9",
        "expr: assessment.urgency < second.urgency",
        "0 < assessment.urgency <= 0.1",
        "not assessment.urgency > 1",
        "assessment.urgency > 1 or 'bug' in assessment.labels",
        "assessment.urgency < 1 and 'doc' not in assessment.labels",
        "assessment.labels[0] == 'bug' and assessment.scores['ui'] == 3",
        "assessment.labels[-1] == 'ui'",
        "len(assessment.labels) == 2",
        "assessment.owner is None",
        "assessment.price is not None and assessment.price * 2 > 19",
        "(assessment.urgency + 0.9 - 0.5) * 2 / 1 // 1 % 2 == 1",
        "+assessment.urgency == - -assessment.urgency",
        "assessment.urgency in (0.1, 0.2) and assessment.urgency not in [1, 2]",
        "any(isinstance(one, Issue) for one in new_entity.new_entities)",
        "all(isinstance(one, (Issue, Comment)) for one in new_entity.new_entities)",
        "any(one.text == 'me too' for one in new_entity.new_entities if isinstance(one, Comment))",
        "any((assessment.owner, assessment.urgency))",
        "all(assessment.labels)",
        "any(any(letter == 'b' for letter in label) for label in assessment.labels)",
        "gh_issue.title == issue.title",
        "isinstance(issue, GHIssue) and not isinstance(issue, Comment)",
        "assessment.labels",
        "assessment.scores != 1 and assessment.urgency >= 0.1",
    ],
)
def test_what_is_true(text: str) -> None:
    assert value_of(text)
    assert not value_of(f"not ({text.removeprefix('expr:').strip()})")


@pytest.mark.parametrize(
    "text",
    [
        "nobody.urgency > 0",
        "not nobody",
        "assessment.nothing == 1",
        "assessment.broken",
        "assessment.labels[7] == 1",
        "assessment.labels * 1000000000 == ()",
        "'%1000000000d' % assessment.urgency == ''",
        "'ab' * 100 in assessment.labels",
        "assessment.urgency / 0 > 1",
        "assessment.urgency < 'a'",
        "assessment.secret.name == 1",
        "all(letter.nothing for letter in assessment.labels)",
        "len(assessment.urgency) == 1",
        "0.1 < assessment.urgency < 5",
    ],
)
def test_what_is_missing_or_fails_is_false(text: str) -> None:
    assert not value_of(text)


def test_a_failure_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert not value_of("expr: assessment.urgncy > 0")
        assert not value_of("expr: nobody.urgency > 0")
    assert [record.getMessage() for record in caplog.records] == [
        "'expr: assessment.urgncy > 0' is false, as it fails: "
        "AttributeError: 'Assessment' object has no attribute 'urgncy'"
    ]


def test_a_name_is_a_binding_before_it_is_a_class_and_the_newest_wins() -> None:
    blackboard = Blackboard(UrgentAssessment(urgency=0.7))
    assert value_of("assessment.urgency == 0.7 and urgent_assessment.urgency == 0.7", blackboard)
    blackboard.add(Assessment(urgency=0.2))
    assert value_of("assessment.urgency == 0.2 and urgent_assessment.urgency == 0.7", blackboard)
    blackboard.add(Comment(), "assessment")
    assert value_of("assessment.text == 'me too' and it.urgency == 0.2", blackboard)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is not a Python expression: invalid syntax"),
        ("a >", "it is not a Python expression: invalid syntax"),
        ("a = 1", "it is not a Python expression: invalid syntax"),
        (r"a == '\d'", "it is not a Python expression: invalid escape sequence"),
        ("1 < 2", "it reads no object, so its value never changes"),
        ("a.__class__", "the attribute '__class__' is private"),
        ("a._hidden == 1", "the attribute '_hidden' is private"),
        ("any(x._y for x in a)", "the attribute '_y' is private"),
        ("_a", "the name '_a' is private"),
        ("any(_x for _x in a)", "the name '_x' is private"),
        ("a.delete()", "'a.delete' cannot be called; only len, any, all, isinstance can"),
        ("open(a)", "'open' cannot be called; only len, any, all, isinstance can"),
        ("a()(1)", "'a()' cannot be called; only len, any, all, isinstance can"),
        ("len(a, a)", "'len(a, a)': len is not called like this"),
        ("len()", "'len()': len is not called like this"),
        ("isinstance(a)", "'isinstance(a)': isinstance is not called like this"),
        ("len(obj=a)", "'len(obj=a)': len is not called like this"),
        ("isinstance(a, a.b)", "'isinstance(a, a.b)': the second argument must be the name of a class, or several"),
        ("[x for x in a]", "'[x for x in a]' is not allowed in it"),
        ("len(x for x in a)", "'(x for x in a)' is not allowed in it"),
        ("any(x for x, y in a)", "'(x for x, y in a)': only a single `for` with a single name is allowed"),
        (
            "any(x for x in a for y in x)",
            "'(x for x in a for y in x)': only a single `for` with a single name is allowed",
        ),
        ("lambda: a", "'lambda: a' is not allowed in it"),
        ("(a := 1)", "'(a := 1)' is not allowed in it"),
        ("a if b else c", "'a if b else c' is not allowed in it"),
        ("f'{a}'", """\"f'{a}'\" is not allowed in it"""),
        ("a[1:2]", "'1:2' is not allowed in it"),
        ("a ** 9", "Pow is not allowed in it"),
        ("a << 9", "LShift is not allowed in it"),
        ("~a", "Invert is not allowed in it"),
        ("{a: 1}", "'{a: 1}' is not allowed in it"),
        ("await a", "'await a' is not allowed in it"),
        ("len(*a)", "'*a' is not allowed in it"),
        ("a" * (LONGEST + 1), f"it has {LONGEST + 1} characters, and may have {LONGEST}"),
        ("not " * (DEEPEST + 1) + "a", "it is nested too deeply"),
        ("(" * 240 + "a" + ")" * 240, "it is not a Python expression: too many nested parentheses"),
        ("{" + "-" * 490 + "a}", "it is nested too deeply"),
        ("-" * 499 + "a", "it is nested too deeply"),
    ],
)
def test_what_is_not_allowed(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert str(caught.value).startswith(problem)


class Spy:
    """Says when an attribute with an underscore is read by an expression."""

    plain = "plain"

    def __init__(self) -> None:
        self.read: list[str] = []

    def __getattribute__(self, name: str) -> object:
        if name.startswith("_") and name not in ("__class__", "__dict__"):
            object.__getattribute__(self, "read").append(name)
        return object.__getattribute__(self, name)


TOKENS = [
    *("spy", "plain", "_private", "__class__", "__globals__", "len", "any", "all", "isinstance", "eval", "x", "Spy"),
    *(".", ".", "(", ")", "[", "]", ",", " for x in ", " in ", " not ", " and ", " or ", " is ", " if ", " else "),
    *(
        "==",
        "<",
        "+",
        "-",
        "*",
        "**",
        "//",
        "%",
        "<<",
        "1",
        "0",
        "1e9",
        "'a'",
        "None",
        ":",
        ":=",
        "lambda",
        "*",
        "{",
        "}",
    ),
]


@examples(1000)
@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(TOKENS), max_size=14).map("".join)))
@example("spy.__class__.__mro__")
@example("any(spy.__class__ for x in spy.plain)")
@example("isinstance(spy, Spy) and spy.plain == 'plain'")
@example("\x00")
@example("é")
@example("9" * 450)
def test_any_text_is_an_expression_or_the_typed_error(text: str) -> None:
    try:
        expression = parse_expression(text)
    except ExpressionError:
        return
    spy = Spy()
    context = FakeContext(None, spy)
    spy.read.clear()
    assert evaluate_expression(expression, context) in (True, False)
    assert spy.read == []


ATOMS = st.sampled_from(["a", "a.size", "a.name", "1", "2.5", "'x'", "None", "True", "a.items", "a.items[0]"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["==", "<", "+", "-", "*", "/", "//", "%", "and", "or", "in"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        inner.map(lambda one: f"(not {one})"),
        inner.map(lambda one: f"len({one})"),
        inner.map(lambda one: f"any(y == 1 for y in ({one}, 1))"),
    ),
    max_leaves=6,
)


class A:
    def __init__(self) -> None:
        self.size, self.name, self.items = 3, "x", [1, 2]


@examples(500)
@given(EXPRESSIONS)
def test_it_comes_to_what_python_says(text: str) -> None:
    """For what both can do: texts and lists are not multiplied here, and what fails is false."""
    try:
        expression = parse_expression(text)
    except ExpressionError:
        assume(False)
    a = A()
    try:
        expected = bool(eval(text, {"a": a}))
    except Exception:
        expected = False
    found = evaluate_expression(expression, FakeContext(None, a))
    assert found == expected or ("*" in text or "%" in text)


@planned_agent(description="reacts to issues", planner=Planner.UTILITY)
class IssueActions:
    def __init__(self, urgency: float) -> None:
        self.urgency = urgency

    @action(value=0.5)
    def assess(self, issue: Issue) -> Assessment:
        return Assessment(self.urgency)

    @action(pre=["expr: assessment.urgency > 0.0"], value=0.9)
    def escalate(self, issue: Issue, assessment: Assessment) -> None: ...


@pytest.mark.parametrize(("urgency", "done"), [(0.5, ["assess", "escalate"]), (0.0, ["assess"])])
async def test_an_action_runs_when_its_expression_holds(urgency: float, done: list[str]) -> None:
    assert steps(await started(IssueActions(urgency), Issue())) == done


@pytest.mark.parametrize("named", ["assessment", "urgent_assessment", "rating"])
async def test_an_expression_is_hoped_for_when_an_action_gives_what_it_is_about(named: str) -> None:
    @planned_agent(description="plans with an expression")
    class Agent:
        @action(output_binding="rating")
        def assess(self, user_input: UserInput) -> Assessment:
            return UrgentAssessment(urgency=1)

        @achieves_goal("done")
        @action(pre=[f"expr: {named}.urgency == 1"])
        def finish(self, user_input: UserInput) -> str:
            return "done"

    assert steps(await started(Agent(), "go")) == ["assess", "finish"]


async def test_an_expression_about_what_nobody_gives_is_not_hoped_for() -> None:
    @planned_agent(description="cannot know")
    class Agent:
        @action
        def assess(self, user_input: UserInput) -> Assessment:
            raise AssertionError("this would not help")

        @achieves_goal("done")
        @action(pre=["expr: issue.title == 'crash'"])
        def finish(self, user_input: UserInput) -> str:
            return "done"

    assert (await started(Agent(), "go")).status is ProcessStatus.STUCK
    assert (await started(Agent(), "go", Issue())).result == "done"
