"""Evaluators of answers: their form, their likeness to what is expected, their cost and their time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import pydantic
from pydantic_core import to_jsonable_python
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext, EvaluatorOutput

from tactician.amounts import need_amount
from tactician.errors import ConfigurationError
from tactician.evals.context import judge_problems, read_context
from tactician.llm import EmbeddingModel
from tactician.llm.model_sources import as_media_source
from tactician.runs.life.output import format_output
from tactician.suggestions import suggest_options
from tactician.tools.schema_check import SchemaCheck


@suggest_options
@dataclass(repr=False)
class Schema(Evaluator[Any, Any, Any]):
    """Assertion that the output is valid. Text is read as JSON.

    Attributes:
        kind: a JSON schema, or a type that pydantic can validate.
    """

    kind: Any

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the output is valid."""
        try:
            value = json.loads(ctx.output) if isinstance(ctx.output, str) else to_jsonable_python(ctx.output)
        except ValueError as error:
            return EvaluationReason(value=False, reason=f"the output is not JSON: {error}")
        if isinstance(self.kind, Mapping):
            problems = SchemaCheck("Schema", self.kind).find_problems(value)
            return judge_problems(iter(["checking the output takes too long"] if problems is None else problems))
        try:
            pydantic.TypeAdapter(self.kind).validate_python(value)
        except pydantic.ValidationError as error:
            return EvaluationReason(value=False, reason=str(error))
        return EvaluationReason(value=True)


@suggest_options
@dataclass(repr=False)
class Similar(Evaluator[Any, Any, Any]):
    """Score of the likeness of the output to the expected output: the cosine of their embeddings, 1 for the same.

    Attributes:
        model: name of an embedding model, or the model itself; the default embedding model by default.
        threshold: the least cosine; then the result is an assertion.
    """

    model: str | EmbeddingModel | None = None
    threshold: float | None = None

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluatorOutput:
        """Return the cosine, or whether it is large enough."""
        if ctx.expected_output is None:
            raise ConfigurationError("Similar: the case has no expected_output to compare with")
        context = read_context(ctx)
        if context.run is None:
            raise ConfigurationError("Similar: a plan has no text to compare")
        model = self.model
        if model is None or isinstance(model, str):
            model = as_media_source(context.run.models).embedding_model(model)
        texts = [format_output(ctx.output), format_output(ctx.expected_output)]
        embedded = await model.embed(texts)
        context.run.tally.add(embedded.usage.attribute_to(model.name))
        cosine = measure_cosine(*embedded.vectors)
        if self.threshold is None:
            return cosine
        return EvaluationReason(value=cosine >= self.threshold, reason=f"cosine {cosine:.3f}")


@suggest_options
@dataclass(repr=False)
class Cheaper(Evaluator[Any, Any, Any]):
    """Assertion that a run costs no more than a limit.

    Attributes:
        limit: US dollars. A run with a model without a known price does not pass.
    """

    limit: float

    def __post_init__(self) -> None:
        need_amount("Cheaper.limit", self.limit)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the run is cheap enough."""
        cost = read_context(ctx).tally.total.cost
        if cost is None:
            return EvaluationReason(value=False, reason="the price of a model is not known")
        return EvaluationReason(value=cost <= self.limit, reason=f"${cost:.4f}, at most ${self.limit:.4f}")


@suggest_options
@dataclass(repr=False)
class Faster(Evaluator[Any, Any, Any]):
    """Assertion that a run takes no longer than a limit, by the clock of the platform.

    Attributes:
        limit: seconds.
    """

    limit: float

    def __post_init__(self) -> None:
        need_amount("Faster.limit", self.limit)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the run is fast enough."""
        reason = f"{ctx.duration:.2f} s, at most {self.limit:g} s"
        return EvaluationReason(value=ctx.duration <= self.limit, reason=reason)


def measure_cosine(left: tuple[float, ...], right: tuple[float, ...]) -> float:
    """Return the cosine of two vectors; 0 for a vector without length."""
    lengths = sqrt(sum(x * x for x in left) * sum(y * y for y in right))
    return sum(x * y for x, y in zip(left, right, strict=True)) / lengths if lengths else 0.0
