"""Rules of plain agents, and of all agents of a platform: over tool calls, in every way in, and over restarts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from tactician import Agent, Blueprint, Platform, ProcessStatus, RunStatus, SqliteStore, handoff, tool
from tactician.errors import BlueprintError, ConfigurationError, DeclarationError
from tactician.events import Event
from tactician.loop import ToolRefused
from tactician.planning import rules
from tactician.planning.rules import Rule
from tactician.runs import OutputError, RunResult
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.process.test_rules import Order, build

LIMIT = rules.never("pay_out", when="amount > 1000 and not approve")


@dataclass
class Desk:
    """Tools of a refund desk, which note what they do."""

    done: list[str] = field(default_factory=list)

    def verify(self, name: str) -> str:
        self.done.append("verify")
        if name == "nobody":
            raise LookupError("no such customer")
        return "verified"

    @tool(needs_approval=True)
    def approve(self) -> str:
        self.done.append("approve")
        return "approved"

    def pay_out(self, amount: int) -> str:
        self.done.append(f"pay_out {amount}")
        return "paid"

    def write_note(self) -> str:
        self.done.append("write_note")
        return "noted"

    def agent(self, model: ScriptedModel, *book: Rule, **settings: object) -> Agent:
        tools = [self.verify, self.approve, self.pay_out, self.write_note]
        return Agent("Refunds", model=model, tools=tools, rules=book, **settings)  # type: ignore[call-overload, no-any-return]


def texts(result: RunResult[object]) -> str:
    return "\n".join(map(str, result.messages))


async def test_a_model_cannot_talk_its_way_around_a_rule() -> None:
    desk, events = Desk(), list[Event]()
    model = ScriptedModel(
        ToolCall("pay_out", amount=50), ToolCall("verify", name="Ann"), ToolCall("pay_out", amount=50), "Paid"
    )

    result = await desk.agent(model, rules.before("verify", "pay_out")).run(
        "Pay me", context=Platform(on_event=events.append).context()
    )

    assert result.output == "Paid"
    assert desk.done == ["verify", "pay_out 50"]
    assert "pay_out was not started, as it would break the rule before(verify, pay_out)." in texts(result)
    refused = [event for event in events if isinstance(event, ToolRefused)]
    assert [(event.call.name, event.rules) for event in refused] == [("pay_out", ("before(verify, pay_out)",))]


async def test_a_call_that_failed_does_not_count() -> None:
    desk = Desk()
    model = ScriptedModel(ToolCall("verify", name="nobody"), ToolCall("pay_out", amount=5), "No")

    await desk.agent(model, rules.before("verify", "pay_out")).run("Pay me")

    assert desk.done == ["verify"]


async def test_a_call_that_was_not_repeated_does_not_count() -> None:
    desk = Desk()
    verify = ToolCall("verify", name="nobody")
    model = ScriptedModel(verify, verify, verify, ToolCall("pay_out", amount=5), "No")

    await desk.agent(model, rules.before("verify", "pay_out")).run("Pay me")

    assert desk.done == ["verify", "verify"]


@pytest.mark.parametrize("answer", ["verified", LookupError("no such customer")])
async def test_a_call_that_the_caller_makes_counts_for_rules(answer: str | Exception) -> None:
    """Of two in a turn only as many are asked for as rules allow."""
    desk = Desk()

    @tool(client_side=True)
    def look(name: str) -> str:
        """Looks at a passport."""
        raise AssertionError

    look_twice = [ToolCall("look", name="Ann"), ToolCall("look", name="Bob")]
    model = ScriptedModel(look_twice, ToolCall("pay_out", amount=5), "Done")
    book = [rules.before("look", "pay_out"), rules.at_most(1, "look")]
    agent = Agent("Refunds", model=model, tools=[look, desk.pay_out], rules=book)

    waiting = await agent.run("Pay me")
    result = await agent.resume(waiting.run_id, {waiting.pending[0].id: answer})

    assert len(waiting.pending) == 1
    assert (result.output, desk.done) == ("Done", ["pay_out 5"] if answer == "verified" else [])


@pytest.mark.parametrize(("amount", "paid"), [(50, True), (5000, False), ("5000", False), (None, False)])
async def test_a_condition_reads_the_arguments_of_the_call(amount: object, paid: bool) -> None:
    desk = Desk()
    arguments = {} if amount is None else {"amount": amount}
    forged = {} if paid else {"approve": True}
    model = ScriptedModel(ToolCall("pay_out", **arguments, **forged), "Done")

    await desk.agent(model, LIMIT).run("Pay me")

    assert desk.done == (["pay_out 50"] if paid else [])


async def test_calls_of_one_turn_keep_rules_together() -> None:
    desk = Desk()
    model = ScriptedModel([ToolCall("pay_out", amount=1), ToolCall("pay_out", amount=2)], "Done")

    await desk.agent(model, rules.at_most(1, "pay_out")).run("Pay me twice")

    assert len(desk.done) == 1


async def test_what_is_owed_is_asked_for_before_an_answer_counts() -> None:
    desk = Desk()
    model = ScriptedModel(ToolCall("pay_out", amount=5), "Done", ToolCall("write_note"), "Done, with a note")

    result = await desk.agent(model, rules.after("pay_out", "write_note")).run("Pay me")

    assert result.output == "Done, with a note"
    assert "these rules are not met yet: after(pay_out, write_note)" in texts(result)


async def test_a_model_that_never_does_what_it_owes_fails_in_the_end() -> None:
    model = ScriptedModel("Done", "Done", "Done")

    with pytest.raises(OutputError, match=r"after 3 attempts|in 3 attempts.*sometime\(write_note\)"):
        await Desk().agent(model, rules.sometime("write_note")).run("Pay me")


async def test_the_conversation_is_handed_over_when_nothing_is_owed() -> None:
    desk = Desk()
    other = Agent("Colleague", model=ScriptedModel("Hello"))
    model = ScriptedModel(ToolCall("transfer_to_colleague"), ToolCall("write_note"), ToolCall("transfer_to_colleague"))
    agent = desk.agent(model, rules.sometime("write_note"), handoffs=[handoff(other)])

    result = await agent.run("Pay me")

    assert (result.output, desk.done) == ("Hello", ["write_note"])


async def test_time_that_is_over_breaks_a_rule() -> None:
    clock, desk = FakeClock(), Desk()

    async def wait() -> str:
        await clock.sleep(120)
        return "waited"

    model = ScriptedModel(ToolCall("wait"), ToolCall("write_note"), "Done")
    agent = Agent(
        "Slow", model=model, tools=[wait, desk.write_note], rules=[rules.within(timedelta(minutes=1), "write_note")]
    )

    with pytest.raises(OutputError, match=r"the rule within\(60 s, write_note\) is broken"):
        await agent.run("Go", context=Platform(clock=clock).context())
    assert desk.done == []


async def test_rules_and_what_was_done_are_kept_over_a_restart(tmp_path: Path) -> None:
    book = (rules.at_most(1, "pay_out"), LIMIT)
    turns = ScriptedModel([ToolCall("pay_out", amount=5), ToolCall("approve")])
    async with Platform(store=SqliteStore(tmp_path / "runs.db")) as platform:
        waiting = await platform.run(Desk().agent(turns, *book), "Pay me")
        assert waiting.status is RunStatus.WAITING
    again, desk = ScriptedModel(ToolCall("pay_out", amount=5000), "Enough"), Desk()
    async with Platform(store=SqliteStore(tmp_path / "runs.db")) as platform:
        platform.register(desk.agent(again, *book))
        result = await platform.respond(waiting.run_id, waiting.pending[0].id, True)

    assert isinstance(result, RunResult)
    assert (result.output, desk.done) == ("Enough", ["approve"])


async def test_nobody_is_asked_to_approve_what_a_rule_forbids() -> None:
    desk = Desk()
    model = ScriptedModel(ToolCall("approve"), "No approval")

    result = await desk.agent(model, rules.never("approve")).run("Pay me")

    assert (result.status, result.output, desk.done) == (RunStatus.COMPLETED, "No approval", [])


async def test_a_stream_keeps_rules() -> None:
    desk = Desk()
    model = ScriptedModel(ToolCall("pay_out", amount=5), "No", "Still no", "Sorry")

    agent, pieces = desk.agent(model, rules.never("pay_out"), rules.sometime("write_note")), list[str]()

    async def read() -> None:
        async for piece in agent.stream_text("Pay"):
            pieces.append(piece)

    with pytest.raises(OutputError):
        await read()
    assert (desk.done, pieces) == ([], [])


def test_a_blueprint_has_the_rules() -> None:
    book = [
        rules.before("verify", "pay_out"), LIMIT, rules.within(timedelta(seconds=5), "verify", after="pay_out"),
        rules.any_of(rules.at_most(2, "verify"), rules.sometime("verify")),
    ]  # fmt: skip
    blueprint = Agent("Refunds", model="gpt-5.4", rules=book).to_blueprint()
    rebuilt = Blueprint.from_json(blueprint.to_json()).build()

    assert isinstance(rebuilt, Agent)
    assert rebuilt.spec.rules == tuple(book)


@pytest.mark.parametrize(
    ("rule", "mistake"),
    [
        ({"rule": "never", "action": "calculater"}, "no tool or task 'calculater'; did you mean 'calculator'?"),
        (
            {"rule": "never", "action": "calculator", "when": "expresion == '1'"},
            "nothing is called 'expresion'; did you mean 'expression'?",
        ),
    ],
)
def test_misspelt_names_in_the_rules_of_a_blueprint_are_told(rule: Mapping[str, str], mistake: str) -> None:
    data = Agent("Desk", model="gpt-5.4").to_blueprint().to_data()
    blueprint = Blueprint.from_data({**data, "builtInTools": ["calculator"], "rules": [rule]})
    with pytest.raises(BlueprintError, match=re.escape(mistake)):
        blueprint.build()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (rules.before("verfy", "pay_out"), "no tool or task 'verfy'; did you mean 'verify'"),
        (rules.never("pay_out", when="amount >"), "'amount >' is no expression"),
        (rules.prefer(rules.never("pay_out"), 1), "without a penalty"),
        ("before", "write rules of tactician.planning.rules"),
    ],
)
def test_mistakes_in_rules_are_errors(rule: Rule, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        Desk().agent(ScriptedModel(), rule)


async def test_a_rule_about_no_tool_is_an_error_of_the_run() -> None:
    with pytest.raises(DeclarationError, match=r"rule never\(launch\): no tool or task 'launch'; there are verify"):
        await Desk().agent(ScriptedModel("Done"), rules.never("launch")).run("Go")


async def test_rules_of_a_platform_hold_for_each_agent_that_has_what_they_speak_of() -> None:
    desk, planned = Desk(), build()
    model = ScriptedModel(ToolCall("pay_out", amount=5), "No", "I have no tools")
    platform = Platform(
        model, rules=[rules.before("verify", "pay_out"), rules.never("pay_out", when="order.value > 900")]
    )

    result = await platform.run(desk.agent(model), "Pay me")
    process = await platform.start(planned, Order(value=5))
    large = await platform.start(build(), Order(value=901))

    assert (result.output, desk.done) == ("No", [])
    assert planned.done == ["verify", "pay_out"]
    assert process.status is ProcessStatus.COMPLETED
    assert large.status is ProcessStatus.STUCK
    assert (await platform.run(Agent("Talker", model=model), "Hello")).output == "I have no tools"


async def test_rules_of_a_platform_guard_supervised_agents() -> None:
    model = ScriptedModel(ToolCall("pay_out"), ToolCall("verify"), ToolCall("pay_out"))
    agent = build(planner="supervisor")
    platform = Platform(
        model, rules=[rules.before("verify", "pay_out"), rules.never("pay_out", when="order.value > 900")]
    )

    await platform.start(agent, Order(value=5))

    assert agent.done == ["verify", "pay_out"]


@pytest.mark.parametrize("book", [["before"], [rules.never("a", when="import os")]])
def test_mistakes_in_rules_of_a_platform_are_errors(book: Sequence[Rule]) -> None:
    with pytest.raises(ConfigurationError, match="Platform: rules has"):
        Platform(ScriptedModel(), rules=book)


@pytest.mark.parametrize(
    ("condition", "mistake"),
    [
        ("amout > 1000", "'amout'; did you mean 'amount'"),
        ("amount > 9 and not aprove", "'aprove'; did you mean 'approve'"),
    ],
)
def test_names_inside_conditions_are_checked_when_the_agent_is_made(condition: str, mistake: str) -> None:
    rule = rules.never("pay_out", when=condition)
    with pytest.raises(DeclarationError, match=mistake):
        Desk().agent(ScriptedModel(), rule)
    with pytest.raises(DeclarationError, match=mistake):
        Platform(ScriptedModel("x"), rules=[rule]).run_sync(Desk().agent(ScriptedModel("x")), "x")


async def test_a_condition_of_something_else_is_an_error_when_all_tools_are_there() -> None:
    agent = Desk().agent(ScriptedModel("x"), rules.never("pay_out", when="zebra > 1000"))
    with pytest.raises(DeclarationError, match="nothing is called 'zebra'; there are amount, approve, pay_out"):
        await agent.run("x")


@pytest.mark.parametrize(
    ("book", "message"),
    [
        ([rules.never("pay_out"), rules.at_least(1, "pay_out")], r"the rules never\(pay_out\), at_least\(1, pay_out\)"),
        (
            [rules.before("verify", "pay_out"), rules.never("verify"), rules.sometime("pay_out")],
            "contradict each other",
        ),
        ([rules.at_least(1, "pay_out"), rules.before("verify", "pay_out")], None),
        ([rules.before("verify", "pay_out"), rules.before("pay_out", "verify")], None),  # it may do without both
    ],
)
def test_rules_that_no_calls_meet_are_an_error_when_the_agent_is_made(book: list[Rule], message: str | None) -> None:
    with nullcontext() if message is None else pytest.raises(DeclarationError, match=message):
        Desk().agent(ScriptedModel(), *book)


def test_a_misspelt_argument_of_a_rule_is_told() -> None:
    with pytest.raises(TypeError, match=r"never\(\) has no option 'whn'. Did you mean 'when'"):
        rules.never("pay_out", whn="amount > 3")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"no setting 'output'. Did you mean 'output_type'"):
        Agent("A", output=int)  # type: ignore[call-overload]
