"""`Autonomy`: a model decides which agent, or which goal, a request is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import getitem
from typing import Annotated, Literal, TypeAlias, cast, get_args

from pydantic import AfterValidator, Field, RootModel, create_model
from pydantic_core import PydanticCustomError

from tactician.agents import Agent, RouteChosen
from tactician.agents.planned.planned_agent import raise_unless_completed
from tactician.agents.planned.specs import planned_spec
from tactician.amounts import need_amount
from tactician.config.loading import load_settings
from tactician.config.settings import AttemptSettings
from tactician.errors import ConfigurationError, NoAgentFitsError, Ranked
from tactician.frozen import frozen
from tactician.llm import LanguageModel, LlmOptions
from tactician.llm.messages import join_text
from tactician.loop.policy import AnswerAttempts
from tactician.platform.composed_agents import assemble_for, combine_all
from tactician.platform.platform import Platform
from tactician.process import ProcessOptions, ProcessStatus
from tactician.runs import Input, RunContext, Runnable, RunResult, RunStatus
from tactician.runs.context.threads import run_blocking
from tactician.runs.runnable import messages_of
from tactician.suggestions import suggest_options

_PROMPT = """How well does each of these fit the request?
{candidates}

<request>
{request}
</request>

Give each a confidence from 0 (does not fit at all) to 1 (is exactly what is asked for), and say why in a few words."""
Mode: TypeAlias = Literal["closed", "open"]


async def rank_candidates(
    request: Input,
    candidates: Mapping[str, str],
    model: str | LlmOptions | LanguageModel | None,
    settings: AttemptSettings,
    context: RunContext,
) -> tuple[Ranked, ...]:
    """Rank all candidates, which are described by their values, the best first; equal ones stay in their order.

    The model is asked once, and again with the reason if it names something else, or something twice. Candidates that
    it leaves out have a confidence of 0.

    Raises:
        OutputError: when the ranking is not valid after all attempts.
        ModelError: when the model cannot be called.
    """
    listed = "\n".join(f"- {name}: {description}" for name, description in candidates.items())
    output_type = _create_ranking_type(tuple(candidates))
    ranker = Agent("Ranker", model=model, output_type=output_type)
    inside = context.with_service(AnswerAttempts(settings)).as_internal()
    prompt = _PROMPT.format(candidates=listed, request=join_text(messages_of(request)))
    ranked = {entry.name: entry for entry in (await ranker.run(prompt, context=inside)).output.root}
    everything = (ranked.get(name) or Ranked(name, 0.0, "not ranked") for name in candidates)
    return tuple(sorted(everything, key=lambda entry: -entry.confidence))


@lru_cache(maxsize=32)
def _create_ranking_type(names: tuple[str, ...]) -> type[RootModel[list[Ranked]]]:
    """Create the type of a ranking of these names."""
    # Names that are known at runtime only make a type for pydantic, and none for mypy.
    name_type = cast("type[str]", getitem(Literal, names))
    entry = create_model(
        "Ranked",
        name=(name_type, ...),
        confidence=(Annotated[float, Field(ge=0, le=1)], ...),
        reason=(str, ""),
    )
    entries = Annotated[list[entry], AfterValidator(_each_once)]  # type: ignore[valid-type]  # known at runtime only
    return cast("type[RootModel[list[Ranked]]]", create_model("Ranking", __base__=RootModel[entries]))


def _each_once(ranking: list[Ranked]) -> list[Ranked]:
    names = [entry.name for entry in ranking]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise PydanticCustomError("repeated", "{names} is listed more than once", {"names": ", ".join(repeated)})
    return [Ranked(entry.name, entry.confidence, entry.reason) for entry in ranking]


@frozen
class AgentChoice:
    """Agent that a model chose for a request.

    Attributes:
        agent: the agent; for a goal, an agent with the actions of all agents, towards the goal.
        best: the name of the agent or the goal, how sure the model is, and why.
        ranking: all agents or goals, the best first.
    """

    agent: Runnable
    best: Ranked
    ranking: tuple[Ranked, ...]

    @property
    def name(self) -> str:
        """Name of the agent or the goal."""
        return self.best.name


@suggest_options
class Autonomy:
    """Choice of the agent or the goal that a request is for, and its run.

    In `"closed"` mode a model chooses among the registered agents, and the best runs as it is. In `"open"` mode it
    chooses among the goals of all planned agents, and what is done is planned from the actions of all of them. Nothing
    is done when the model is not sure enough.

    Args:
        platform: whose agents there are.
        model: the model that is asked; `tactician.toml` names it, else the default model of the platform, when `None`.
        agent_cutoff: how sure it must be of an agent, from 0 to 1; as `tactician.toml` says, else 0.6, when `None`.
        goal_cutoff: how sure it must be of a goal, likewise.
        retries: how often it is asked again when its ranking is not valid; as `tactician.toml` says, else 2, when
            `None`.

    Raises:
        ConfigurationError: when `platform` is not a platform, or a cutoff or `retries` is out of its range.
    """

    def __init__(
        self,
        platform: Platform,
        *,
        model: str | LlmOptions | LanguageModel | None = None,
        agent_cutoff: float | None = None,
        goal_cutoff: float | None = None,
        retries: int | None = None,
    ) -> None:
        if not isinstance(platform, Platform):
            kind = type(platform).__name__
            raise ConfigurationError(f"Autonomy takes a Platform, not {kind}: Autonomy(Platform(...).register(agents))")
        settings = load_settings().platform.ranking
        self._platform = platform
        self._model = settings.model if model is None else model
        self._agent_cutoff = settings.agent_cutoff if agent_cutoff is None else agent_cutoff
        self._goal_cutoff = settings.goal_cutoff if goal_cutoff is None else goal_cutoff
        need_amount("Autonomy.agent_cutoff", self._agent_cutoff, most=1)
        need_amount("Autonomy.goal_cutoff", self._goal_cutoff, most=1)
        if retries is not None:
            need_amount("Autonomy.retries", retries, whole=True)
            settings = settings.model_copy(update={"attempts": retries + 1})
        self._attempts = settings

    async def run(
        self, request: Input, *, mode: Mode = "closed", options: ProcessOptions | None = None
    ) -> RunResult[object]:
        """Choose an agent or a goal for the request, and run it. `delegation_path` of the result names the agents.

        If the run has to wait, its status is `WAITING`: continue a process with `platform.respond`, and another run
        with `platform.resume_run`.

        Args:
            request: the request of the user.
            mode: `"closed"` to choose an agent, `"open"` to choose a goal and use the actions of all agents.
            options: options of the process, if any is started.

        Raises:
            ConfigurationError: when there is no such mode.
            NoAgentFitsError: when the model is not sure enough of any agent or goal; with the whole ranking.
            OutputError: when its ranking is not valid after all retries.
            ProcessError: when the process is stuck or fails.
            RunError: when the agent fails.
        """
        context = self._context()
        choice = await self._choose(request, mode, context)
        result = await self._run_chosen(choice.agent, request, options, context)
        return replace(result, tally=context.tally, delegation_path=(choice.name, *result.delegation_path))

    def run_sync(
        self, request: Input, *, mode: Mode = "closed", options: ProcessOptions | None = None
    ) -> RunResult[object]:
        """Call `run` from a program without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(self.run(request, mode=mode, options=options))

    async def choose(self, request: Input, *, mode: Mode = "closed") -> AgentChoice:
        """Choose an agent or a goal for the request as `run` does, without running it.

        Raises:
            ConfigurationError: when there is no such mode.
            NoAgentFitsError: when the model is not sure enough of any agent or goal; with the whole ranking.
            OutputError: when its ranking is not valid after all retries.
        """
        return await self._choose(request, mode, self._context())

    async def choose_among(self, request: Input, candidates: Mapping[str, str]) -> Ranked:
        """Choose among candidates by name that their values describe, as `choose` does among agents.

        Raises:
            NoAgentFitsError: when the model is not sure enough of any candidate; with the whole ranking.
            OutputError: when its ranking is not valid after all retries.
        """
        ranking = await rank_candidates(request, candidates, self._model, self._attempts, self._context())
        return self._admit_best(ranking, "closed")

    async def rank(self, request: Input, *, mode: Mode = "closed") -> tuple[Ranked, ...]:
        """Rank the agents, or in `"open"` mode the goals, by how well they fit a request, the best first.

        Raises:
            NoAgentFitsError: when no agent fits.
            OutputError: when the model's ranking is not valid after all retries.
        """
        return await self._rank(request, mode, self._context())

    def _context(self) -> RunContext:
        """Return the context in which is ranked and done what is asked: inside the run whose code runs, if any.

        So what an agent causes uses the agent's own model and instances, and its budget.
        """
        current = RunContext.find_current()
        return self._platform.context() if current is None else current.child("Autonomy")

    async def _rank(self, request: Input, mode: Mode, context: RunContext) -> tuple[Ranked, ...]:
        if mode not in get_args(Mode):
            raise ConfigurationError(f"The mode is {mode!r}; it must be 'closed' or 'open'")
        candidates = self._describe_agents() if mode == "closed" else self._describe_goals()
        if not candidates:
            what = "agent" if mode == "closed" else "planned agent with a goal"
            raise NoAgentFitsError(f"No {what} is registered on the platform: call platform.register(...) first.", ())
        return await rank_candidates(request, candidates, self._model, self._attempts, context)

    def _describe_agents(self) -> Mapping[str, str]:
        return {name: agent.description for name, agent in self._platform.candidates.items()}

    def _describe_goals(self) -> Mapping[str, str]:
        spec = combine_all(self._platform.agents)
        return {} if spec is None else {goal.name: goal.description for goal in spec.goals}

    async def _choose(self, request: Input, mode: Mode, context: RunContext) -> AgentChoice:
        ranking = await self._rank(request, mode, context)
        best = self._admit_best(ranking, mode)
        agent: Runnable | None = self._platform.agents[best.name] if mode == "closed" else None
        agent = agent or assemble_for(best.name, self._platform.agents)
        assert agent is not None
        context.emit(RouteChosen, target=best.name, description=agent.description)
        return AgentChoice(agent, best, ranking)

    def _admit_best(self, ranking: Sequence[Ranked], mode: Mode) -> Ranked:
        """Return the best of a ranking, if the model is sure enough."""
        cutoff = self._agent_cutoff if mode == "closed" else self._goal_cutoff
        if (best := ranking[0]).confidence >= cutoff:
            return best
        what = "agent" if mode == "closed" else "goal"
        listed = "; ".join(map(str, ranking))
        raise NoAgentFitsError(
            f"No {what} fits the request with a confidence of {cutoff:g} or more: {listed}. Ask for something else, "
            f"describe the {what}s better, or lower `{what}_cutoff`.",
            ranking,
        )

    async def _run_chosen(
        self, agent: Runnable, request: Input, options: ProcessOptions | None, context: RunContext
    ) -> RunResult[object]:
        if planned_spec(agent) is None or RunContext.find_current() is not None:
            inside = {} if options is None else {"options": options}
            return await agent.run(request, context=context, **inside)
        process = await self._platform.start(agent, request, options=options)
        for used in process.tally.by_model.values():
            context.tally.add(used)
        if process.status is ProcessStatus.WAITING:
            waiting = RunStatus.WAITING
            return RunResult(None, waiting, process_id=process.id, run_id=process.id, pending=process.pending)
        raise_unless_completed(process)
        return RunResult(process.result, process_id=process.id, run_id=process.id)
