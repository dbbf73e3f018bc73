"""`AgentNetwork`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tactician import Agent, AgentNetwork, Budget, RunStatus, runnable
from tactician.errors import DeclarationError
from tactician.llm import AssistantMessage, Message, Text, ToolCall, UserMessage
from tactician.loop import TurnStarted
from tactician.runs import BudgetError, RunCompleted, RunError
from tactician.testing.scripted import Step
from tests.agents.constellations.support import prompts_of, says, script_of, surroundings, system_of, told


class Debate:
    """An optimist and a pessimist."""

    def __init__(
        self,
        yes: Sequence[Step] = ("yes", "still yes"),
        no: Sequence[Step] = ("no", "still no"),
        synthesizer: Agent | None = None,
        max_rounds: int = 2,
        concurrent: bool = False,
    ) -> None:
        self.optimist, self.pessimist = says("Optimist", *yes, instructions="Hope."), says("Pessimist", *no)
        self.network = AgentNetwork(
            "Debate",
            [self.optimist, self.pessimist],
            synthesizer=synthesizer,
            max_rounds=max_rounds,
            concurrent=concurrent,
        )

    def heard(self, peer: Agent, call: int) -> Sequence[tuple[str, str]]:
        """What the peer was shown of the discussion."""
        messages = script_of(peer).calls[call].messages
        return [(m.role, m.text) for m in messages if isinstance(m, UserMessage | AssistantMessage)][:-1]


class TestRounds:
    async def test_each_peer_sees_what_was_said_before_as_messages_of_the_peers(self) -> None:
        debate = Debate()
        await debate.network.run("Is it good?", context=surroundings())
        first = ("user", "Is it good?"), ("assistant", "[Optimist]: yes")
        second = ("assistant", "[Pessimist]: no"), ("assistant", "[Optimist]: still yes")
        assert debate.heard(debate.optimist, 0) == [*first[:1]]
        assert debate.heard(debate.pessimist, 0) == [*first]
        assert debate.heard(debate.optimist, 1) == [*first, *second[:1]]
        assert debate.heard(debate.pessimist, 1) == [*first, *second]

    async def test_each_is_reminded_of_its_role_and_the_round(self) -> None:
        debate = Debate()
        await debate.network.run("Is it good?", context=surroundings())
        assert system_of(debate.optimist).startswith("Hope.\n")
        assert "You are Optimist, in a discussion between Optimist, Pessimist." in system_of(debate.optimist, 1)
        assert "You are Pessimist" in system_of(debate.pessimist)
        assert "Round 1 of 2: Optimist" in prompts_of(debate.optimist)[0]
        assert "Round 2 of 2: Pessimist" in prompts_of(debate.pessimist)[1]

    async def test_two_rounds_are_the_default(self) -> None:
        assert AgentNetwork("Debate", [says("A"), says("B")]).max_rounds == 2

    async def test_the_last_contribution_is_the_answer_without_a_synthesizer(self) -> None:
        result = await Debate().network.run("Is it good?", context=surroundings())
        assert result.output == "still no"
        assert [one.output for one in result.related] == ["yes", "no", "still yes", "still no"]

    async def test_the_messages_are_the_discussion(self) -> None:
        result = await Debate(max_rounds=1).network.run("Is it good?", context=surroundings())
        said = [AssistantMessage((Text(text),)) for text in ("[Optimist]: yes", "[Pessimist]: no")]
        assert list(result.messages) == [UserMessage("Is it good?"), *said]

    async def test_peers_of_a_concurrent_round_do_not_hear_each_other(self) -> None:
        both_have_begun = asyncio.Barrier(2)
        heard: list[int] = []

        async def speak(messages: Sequence[Message]) -> str:
            heard.append(len(messages))
            async with asyncio.timeout(30):
                await both_have_begun.wait()
            return "said"

        peers = [runnable(speak, name="A"), runnable(speak, name="B")]
        await AgentNetwork("Debate", peers, concurrent=True).run("x", context=surroundings())
        assert heard == [3, 3, 5, 5]

    async def test_contributions_of_a_concurrent_round_are_in_the_order_of_the_peers(self) -> None:
        result = await Debate(concurrent=True).network.run("Is it good?", context=surroundings())
        assert [one.output for one in result.related] == ["yes", "no", "still yes", "still no"]

    async def test_the_conversation_ends_with_the_users_words_for_every_peer(self) -> None:
        debate = Debate()
        await debate.network.run("Is it good?", context=surroundings())
        calls = [*script_of(debate.optimist).calls, *script_of(debate.pessimist).calls]
        assert {call.messages[-1].role for call in calls} == {"user"}
        assert all("system" not in [m.role for m in call.messages[2:]] for call in calls)

    async def test_a_tool_call_left_open_is_mended(self) -> None:
        debate, open_call = Debate(max_rounds=1), AssistantMessage((ToolCall("c1", "look"),))
        await debate.network.run([UserMessage("Is it good?"), open_call], context=surroundings())
        shown = script_of(debate.optimist).calls[0].messages
        roles = [message.role for message in shown]
        assert open_call not in shown or roles[shown.index(open_call) + 1] == "tool"


class TestFailures:
    async def test_an_error_is_recorded_and_not_shared(self) -> None:
        debate = Debate(yes=[LookupError("gone"), "yes"])
        result = await debate.network.run("Is it good?", context=surroundings())
        assert [one.status for one in result.related] == [RunStatus.FAILED, *[RunStatus.COMPLETED] * 3]
        assert result.related[0].output == "[ERROR: LookupError: gone]"
        assert debate.heard(debate.pessimist, 0) == [("user", "Is it good?")]

    async def test_the_last_contribution_that_did_not_fail_is_the_answer(self) -> None:
        debate = Debate(no=["no", LookupError("gone")])
        assert (await debate.network.run("Is it good?", context=surroundings())).output == "still yes"

    async def test_when_all_fail_the_error_names_each(self) -> None:
        judge = says("Judge")
        debate = Debate([LookupError("gone")], [KeyError("lost")], judge, max_rounds=1)
        with pytest.raises(RunError, match=r"\[Optimist\]: .*gone.*; \[Pessimist\]: .*lost") as caught:
            await debate.network.run("Is it good?", context=surroundings())
        assert isinstance(caught.value.__cause__, KeyError)
        assert script_of(judge).calls == []

    async def test_a_budget_that_is_used_up_ends_the_discussion(self) -> None:
        debate = Debate()
        with pytest.raises(BudgetError):
            await debate.network.run("Is it good?", context=surroundings(), budget=Budget(turns=3))

    def test_two_peers_and_a_round_are_needed(self) -> None:
        with pytest.raises(DeclarationError) as caught:
            AgentNetwork("Debate", [says("A")], max_rounds=0)
        assert caught.value.problems == ("it needs at least two peers", "max_rounds must be at least 1")

    def test_each_peer_has_a_name_of_its_own(self) -> None:
        with pytest.raises(DeclarationError) as caught:
            AgentNetwork("Debate", [says("A"), says("B"), says("A")])
        assert caught.value.problems == ("2 peers have the name 'A'; give each its own",)


class TestSynthesizer:
    async def test_it_gets_the_topic_and_all_contributions_in_a_fresh_conversation(self) -> None:
        judge = says("Judge", "it depends")
        result = await Debate(synthesizer=judge).network.run("Is it good?", context=surroundings())
        assert result.output == "it depends"
        (call,) = script_of(judge).calls
        assert [message.role for message in call.messages] == ["user"]
        assert "Is it good?" in call.prompt
        said = "[Optimist]: yes\n\n[Pessimist]: no\n\n[Optimist]: still yes\n\n[Pessimist]: still no"
        assert said in call.prompt

    async def test_the_contributions_are_related_and_all_usage_is_counted(self) -> None:
        result = await Debate(synthesizer=says("Judge", "it depends")).network.run("?", context=surroundings())
        assert len(result.related) == 4
        assert result.usage.requests == 5


class TestBroadcast:
    async def test_all_peers_answer_at_once_and_afresh(self) -> None:
        both_have_begun = asyncio.Barrier(2)
        heard: list[object] = []

        async def speak(text: object) -> str:
            heard.append(text)
            async with asyncio.timeout(30):
                await both_have_begun.wait()
            return "said"

        network = AgentNetwork("Debate", [runnable(speak, name="A"), runnable(speak, name="B")])
        result = await network.broadcast("x", context=surroundings())
        assert heard == ["x", "x"]
        assert result.output == "[A]: said\n\n[B]: said"

    async def test_there_is_no_synthesis_and_all_results_are_related(self) -> None:
        judge = says("Judge")
        result = await Debate(synthesizer=judge).network.broadcast("x", context=surroundings())
        assert script_of(judge).calls == []
        assert [one.output for one in result.related] == ["yes", "no"]
        assert result.messages[-1] == AssistantMessage((Text("[Optimist]: yes\n\n[Pessimist]: no"),))

    async def test_an_error_is_recorded(self) -> None:
        result = await Debate(yes=[LookupError("gone")]).network.broadcast("x", context=surroundings())
        assert result.output == "[Pessimist]: no"
        assert [one.status for one in result.related] == [RunStatus.FAILED, RunStatus.COMPLETED]

    async def test_when_all_fail_the_error_names_each(self) -> None:
        with pytest.raises(RunError, match=r"Debate \(broadcast\): no attempt succeeded: .*gone.*lost"):
            await Debate([LookupError("gone")], [KeyError("lost")]).network.broadcast("x", context=surroundings())

    async def test_it_has_a_budget(self) -> None:
        with pytest.raises(BudgetError):
            await Debate().network.broadcast("x", context=surroundings(), budget=Budget(turns=1))


async def test_a_stream_has_the_events_of_all_peers() -> None:
    network = Debate(synthesizer=says("Judge", "it depends"), max_rounds=1).network
    events = [event async for event in network.stream("x", context=surroundings())]
    assert told(events, TurnStarted) == [("Debate", "Optimist"), ("Debate", "Pessimist"), ("Debate", "Judge")]
    assert isinstance(last := events[-1], RunCompleted)
    assert last.result.output == "it depends"


def test_its_description_names_the_peers() -> None:
    network = Debate().network
    assert network.description == "a discussion between Optimist, Pessimist"
    assert network.as_broadcast().description == network.description
    assert AgentNetwork("D", [says("A"), says("B")], description="Debates").description == "Debates"
    assert repr(network) == "AgentNetwork('Debate')"
