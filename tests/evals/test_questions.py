"""Questions about this project's documentation, answered by the ragbot and compared with a stored baseline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic_evals import Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext

from examples.ragbot.ragbot import CHUNKING, EMBEDDER, RagbotProperties, create_bot, ingest
from tactician import Platform, runnable
from tactician.evals import EvalReport, compare_reports, evaluate, load_dataset
from tactician.llm import LlmOptions
from tactician.rag import Library
from tests.support.effort import EFFORT

RAGBOT = Path(__file__).parents[2] / "examples" / "ragbot"
DOCS = Path(__file__).parents[2] / "docs" / "how-to"
SMALL = RagbotProperties(model_searches=False, chat_llm=LlmOptions(max_tokens=100, temperature=0))


@dataclass
class CitesPage(Evaluator[str, str, Any]):
    """The sources of the answer name the page that is expected."""

    def evaluate(self, ctx: EvaluatorContext[str, str, Any]) -> bool:
        return f"({ctx.expected_output})" in ctx.output


async def answer_questions(folder: Path, most: int) -> EvalReport:
    """Evaluate the ragbot on the embedded model."""
    dataset: Dataset[Any, Any, Any] = load_dataset(RAGBOT / "questions.yaml", evaluators=[CitesPage])
    dataset = Dataset(name=dataset.name, cases=dataset.cases[:: 20 // most], evaluators=dataset.evaluators)
    async with Library(folder / "library.db", chunking=CHUNKING, embedder=EMBEDDER) as library, Platform() as platform:
        await ingest(library, str(DOCS))
        bot = await create_bot(platform, library, SMALL)

        @runnable
        async def ask(question: str) -> str:
            """Ask the ragbot in a session of its own."""
            return (await (await bot.session("tester")).send(question)).text

        return await evaluate(dataset, ask, platform=platform, max_parallel=2, name="ragbot")


@pytest.mark.embedded
@pytest.mark.soak
async def test_the_ragbot_is_not_worse_than_its_baseline(tmp_path: Path) -> None:
    report = await answer_questions(tmp_path, most=4 if EFFORT == 1 else 20)
    assert report.is_complete
    assert not report.failures
    compared = compare_reports(EvalReport.from_json(RAGBOT / "baseline.json"), report)
    assert not compared.is_worse, compared.scores
    assert compared.scores["CitesPage"].cases == len(report.cases)
