"""`AgentNetwork`: peers discuss something, round by round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import cast, overload

from typing_extensions import TypeVar, override

from tactician.agents.base import BaseRunnable, find_input_types
from tactician.agents.composition import Member
from tactician.agents.results import Attempts, as_own_result, format_briefing, format_contribution
from tactician.conversation.history_repair import repair_history
from tactician.errors import DeclarationError
from tactician.flow.scheduler import gather_or_suspend
from tactician.llm import AssistantMessage, Message, Text, UserMessage
from tactician.llm.messages import SystemMessage
from tactician.runs import Budget, Input, RunContext, Runnable, RunResult, RunStatus
from tactician.runs.life.inputs import READS_MESSAGES, InputTypes
from tactician.runs.runnable import messages_of, need_member, need_members
from tactician.suggestions import suggest_options

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=object)
DEFAULT_MAX_ROUNDS = 2


@suggest_options
class AgentNetwork(BaseRunnable[T_co]):
    """Discussion between peers, who speak in turn and see the earlier contributions as `[Peer]: text`.

    Without a synthesizer the last contribution is the answer. All contributions, in their order, are `related`; a
    failed contribution is among them, with the status `FAILED`, and is not shown to the peers. The output type is that
    of the synthesizer, or of the peers without a synthesizer.

    Args:
        name: the name.
        peers: the peers, in the order in which they speak.
        synthesizer: the Runnable that gets the input and all contributions, and answers.
        max_rounds: number of contributions of each peer.
        concurrent: let the peers of a round speak at once, with the earlier rounds only.
        description: the purpose; the names of the members by default.

    Raises:
        DeclarationError: when there are not two peers, a member is not a Runnable, two have the same name, or there are
            no rounds.
    """

    @overload
    def __init__(
        self: AgentNetwork[T],
        name: str,
        peers: Sequence[Runnable[T]],
        *,
        synthesizer: None = None,
        max_rounds: int = DEFAULT_MAX_ROUNDS,
        concurrent: bool = False,
        description: str | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self: AgentNetwork[T],
        name: str,
        peers: Sequence[Runnable],
        *,
        synthesizer: Runnable[T],
        max_rounds: int = DEFAULT_MAX_ROUNDS,
        concurrent: bool = False,
        description: str | None = None,
    ) -> None: ...

    def __init__(
        self,
        name: str,
        peers: Sequence[Runnable],
        *,
        synthesizer: Runnable | None = None,
        max_rounds: int = DEFAULT_MAX_ROUNDS,
        concurrent: bool = False,
        description: str | None = None,
    ) -> None:
        need_members(f"AgentNetwork {name!r}", "peers", peers)
        if synthesizer is not None:
            need_member(f"AgentNetwork {name!r}", "synthesizer", synthesizer)
        checks = (
            (len(peers) > 1, "it needs at least two peers"),
            (max_rounds > 0, "max_rounds must be at least 1"),
        )
        counts = Counter(peer.name for peer in peers)
        twice = [
            f"{count} peers have the name {peer!r}; give each its own" for peer, count in counts.items() if count > 1
        ]
        if problems := [*(problem for holds, problem in checks if not holds), *twice]:
            raise DeclarationError(f"AgentNetwork {name!r}", problems)
        self.name = name
        self.peers = tuple(peers)
        self.synthesizer = synthesizer
        self.max_rounds = max_rounds
        self.concurrent = concurrent
        self.own_description = description or ""
        self.description = description or f"a discussion between {', '.join(peer.name for peer in peers)}"

    def __repr__(self) -> str:
        return f"AgentNetwork({self.name!r})"

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        peers = tuple(Member("peer", peer) for peer in self.peers)
        return peers if self.synthesizer is None else (*peers, Member("synthesizer", self.synthesizer))

    @property
    @override
    def input_types(self) -> InputTypes:
        return READS_MESSAGES

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        discussion = Discussion(self, input, context)
        for number in range(1, self.max_rounds + 1):
            await discussion.run_round(number)
        answer = discussion.find_last_answer()
        if self.synthesizer is not None:
            task = format_briefing(input, discussion.texts)
            answer = await self.synthesizer.run(task, context=context)
        result = as_own_result(answer, context, discussion.contributions)
        return cast("RunResult[T_co]", result)  # by the overloads of `__init__`

    def as_broadcast(self) -> Broadcast:
        """Return a Runnable that asks each peer once, independently of the others."""
        return Broadcast(self)

    async def broadcast(
        self, input: Input, *, context: RunContext | None = None, budget: Budget | None = None
    ) -> RunResult[str]:
        """Ask all peers at once, independently of each other; their results are `related`.

        Continue a waiting run with `as_broadcast().resume(...)`.

        Raises:
            RunError: when all fail.
        """
        return await self.as_broadcast().run(input, context=context, budget=budget)


class Discussion:
    """Discussion in progress.

    Attributes:
        texts: the contributions as the others heard them.
        contributions: the results of all, also of those who failed.
    """

    def __init__(self, network: AgentNetwork, input: Input, context: RunContext) -> None:
        self.texts: list[str] = []
        self.contributions: list[RunResult[object]] = []
        self._network = network
        self._input = input
        self._attempts = Attempts(context)
        self._shared: list[Message] = list(repair_history(messages_of(input)))

    async def run_round(self, number: int) -> None:
        """Let each peer speak once."""
        peers = list(enumerate(self._network.peers, start=1))
        groups = [peers] if self._network.concurrent else [[peer] for peer in peers]
        for group in groups:
            speeches = (self._let_speak(number, n, peer) for n, peer in group)
            for (_, peer), result in zip(group, await gather_or_suspend(*speeches), strict=True):
                self._add(peer, result)

    async def _let_speak(self, number: int, place: int, peer: Runnable) -> RunResult[object]:
        network = self._network
        is_last = network.synthesizer is None and (number, place) == (network.max_rounds, len(network.peers))
        view = self._build_view(peer, number)
        return await self._attempts.run(f"{number}.{place}", peer, view, answers=is_last)

    def find_last_answer(self) -> RunResult[object]:
        """Return the last contribution that did not fail.

        Raises:
            RunError: when all failed.
        """
        answers = [result for result in self.contributions if result.status is not RunStatus.FAILED]
        if answers:
            return replace(answers[-1], messages=tuple(self._shared))
        peers = self._network.peers * self._network.max_rounds
        contributions = map(format_contribution, peers, self.contributions)
        raise self._attempts.create_error(self._network.name, self._input, contributions) from self._attempts.last_error

    def _add(self, peer: Runnable, result: RunResult[object]) -> None:
        self.contributions.append(result)
        if result.status is not RunStatus.FAILED:
            self.texts.append(format_contribution(peer, result))
            self._shared.append(AssistantMessage((Text(self.texts[-1]),)))

    def _build_view(self, peer: Runnable, number: int) -> tuple[Message, ...]:
        """Return the discussion as a peer sees it.

        The discussion ends with the user's words: not every model continues its own.
        """
        names = ", ".join(speaker.name for speaker in self._network.peers)
        role = f"You are {peer.name}, in a discussion between {names}."
        turn = f"Round {number} of {self._network.max_rounds}: {peer.name}, it is your turn."
        return (SystemMessage(role), *self._shared, UserMessage(turn))


class Broadcast(BaseRunnable[str]):
    """Peers of a network, each asked once and independently; see `AgentNetwork.as_broadcast`.

    Its answer consists of their contributions; their results are `related`.

    Args:
        network: the network of the peers.
    """

    def __init__(self, network: AgentNetwork) -> None:
        self.name = f"{network.name} (broadcast)"
        self.description, self.own_description = network.description, network.own_description
        self.trace = network.trace
        self.network = network

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return tuple(Member("peer", peer) for peer in self.network.peers)

    @property
    @override
    def input_types(self) -> InputTypes:
        return find_input_types(*self.network.peers)

    async def _work(self, input: Input, context: RunContext) -> RunResult[str]:
        attempts, peers = Attempts(context), self.network.peers
        results = await gather_or_suspend(*(attempts.run(f"{n}", peer, input) for n, peer in enumerate(peers, start=1)))
        contributions = list(map(format_contribution, peers, results))
        answered = [
            text for text, result in zip(contributions, results, strict=True) if result.status is not RunStatus.FAILED
        ]
        if not answered:
            raise attempts.create_error(self.name, input, contributions) from attempts.last_error
        text = "\n\n".join(answered)
        messages = (*messages_of(input), AssistantMessage((Text(text),)))
        return as_own_result(RunResult(text, messages=messages), context, results)
