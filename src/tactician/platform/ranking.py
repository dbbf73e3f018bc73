"""Ranking of candidates by how well they fit a request, in a model's judgement."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from operator import getitem
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, Field, RootModel, create_model
from pydantic_core import PydanticCustomError

from tactician.agents import Agent
from tactician.config.settings import AttemptSettings
from tactician.errors import Ranked
from tactician.llm import LanguageModel, LlmOptions
from tactician.llm.messages import join_text
from tactician.loop.policy import AnswerAttempts
from tactician.runs import Input, RunContext
from tactician.runs.runnable import messages_of

_PROMPT = """How well does each of these fit the request?
{candidates}

<request>
{request}
</request>

Give each a confidence from 0 (does not fit at all) to 1 (is exactly what is asked for), and say why in a few words."""


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
    known = cast("type[str]", getitem(Literal, names))
    entry = create_model(
        "Ranked",
        name=(known, ...),
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
