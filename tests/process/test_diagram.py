"""The Mermaid flowchart of a process."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import PlannedAgent, Platform, UserInput, achieves_goal, action, condition, planned_agent
from tactician.process import AgentProcess, ProcessStatus, ask_human
from tactician.runs import RunContext
from tactician.testing import ScriptedModel


@dataclass(frozen=True)
class Bill:
    total: int


@dataclass(frozen=True)
class Receipt:
    total: int


@planned_agent(description="pays bills")
class Payer:
    def __init__(self, trouble: str = "") -> None:
        self.trouble = trouble

    @action(output_binding="first")
    def write(self, user_input: UserInput) -> Bill:
        return Bill(int(user_input.content))

    @condition
    def affordable(self, bill: Bill) -> bool:
        return bill.total < 100

    @action(pre=["affordable"], post=["paid"])
    async def pay(self, bill: Bill) -> None:
        if self.trouble == "fails":
            raise LookupError("no money")
        if self.trouble == "asks":
            await ask_human(str, "sure?")

    @achieves_goal("the bill is paid")
    @action(pre=["paid"])
    def file(self, bill: Bill, note: str | None) -> Receipt:
        return Receipt(bill.total)


async def started(trouble: str = "") -> AgentProcess:
    return await Platform(models=ScriptedModel()).start(Payer(trouble), "7")


def states(chart: str) -> dict[str, str]:
    lines = (line.split() for line in chart.splitlines())
    return {words[1]: words[2] for words in lines if words[0] == "class"}


def test_it_shows_actions_types_and_conditions() -> None:
    lines = PlannedAgent(Payer()).to_mermaid().splitlines()
    assert lines[0] == "flowchart LR"
    assert '    action_pay["pay"]' in lines
    assert '    action_file[["file"]]' in lines
    assert '    type_Bill(["Bill"])' in lines
    assert '    condition_affordable{{"affordable"}}' in lines
    assert "    condition_affordable --> action_pay" in lines
    assert "    action_pay --> condition_paid" in lines
    assert "    type_str -.-> action_file" in lines
    assert not any("class" in line for line in lines)


async def test_a_process_that_has_not_begun_is_drawn_like_its_agent_with_what_is_there() -> None:
    process = PlannedAgent(Payer()).create_process("7", context=RunContext.over(ScriptedModel()))
    assert states(process.to_mermaid()) == {"type_UserInput": "done"}


async def test_what_has_run_is_done_and_numbered() -> None:
    chart = (await started()).to_mermaid()
    assert '    action_write["write<br/>ran 1"]' in chart
    assert '    action_file[["file<br/>ran 3"]]' in chart
    assert set(states(chart).values()) == {"done"}
    assert states(chart).keys() == {
        *("action_write", "action_pay", "action_file"),
        *("type_UserInput", "type_Bill", "type_Receipt", "condition_paid"),
    }
    assert "    classDef done fill:#d3f9d8,stroke:#2b8a3e" in chart
    assert "classDef failed" not in chart


async def test_what_failed_is_marked_and_nothing_is_planned_any_more() -> None:
    process = await started("fails")
    assert process.status is ProcessStatus.FAILED
    chart = process.to_mermaid()
    assert states(chart)["action_pay"] == "failed"
    assert "action_file" not in states(chart)
    assert "classDef failed" in chart


async def test_what_waits_is_next_and_what_follows_is_planned() -> None:
    process = await started("asks")
    assert process.status is ProcessStatus.WAITING
    chart = process.to_mermaid()
    assert (states(chart)["action_pay"], states(chart)["action_file"]) == ("next", "planned")
    assert '    action_pay["pay<br/>planned 2"]' in chart
    assert '    action_file[["file<br/>planned 3"]]' in chart


async def test_what_runs_again_has_all_its_numbers() -> None:
    @planned_agent(description="counts")
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        @condition
        def high(self) -> bool:
            return self.count == 2

        @action(can_rerun=True, post=["high"])
        def count_up(self, user_input: UserInput) -> None:
            self.count += 1

        @achieves_goal("counted")
        @action(pre=["high"])
        def end(self) -> Receipt:
            return Receipt(self.count)

    process = await Platform(models=ScriptedModel()).start(Counter(), "go")
    assert '"count_up<br/>ran 1, 2"' in process.to_mermaid()


def test_names_are_shown_as_they_are() -> None:
    @planned_agent(description="compares")
    class Comparer:
        @achieves_goal("done")
        @action(pre=['expr: bill.total > 3 and "<" != "&"'])
        def end(self, bill: Bill) -> Receipt:
            return Receipt(1)

    chart = PlannedAgent(Comparer()).to_mermaid()
    assert "expr: bill.total #gt; 3 and #quot;#lt;#quot; != #quot;#amp;#quot;" in chart


@pytest.mark.parametrize("trouble", ["", "fails", "asks"])
async def test_every_node_that_is_coloured_is_drawn(trouble: str) -> None:
    chart = (await started(trouble)).to_mermaid()
    drawn = {line.strip().split("[")[0].split("(")[0].split("{")[0] for line in chart.splitlines()}
    assert states(chart).keys() <= drawn
