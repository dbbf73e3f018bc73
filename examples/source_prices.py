"""A research agent that learns which of its sources is worth its price.

    tactician run examples/source_prices.py "Who wrote Middlemarch?" --store runs.db --objective dollars
    tactician experience --store runs.db

Nobody tells it that the archive is cheap and often silent, that the web is reliable, and that the expert is dear: the
record of its runs does. The archive closes after a while, and the agent leaves it. `python -m examples.source_prices`
shows forty questions in a moment, on a clock of its own.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from tactician import OperationContext, Platform, ProcessOptions, UserInput, achieves_goal, action, planned_agent
from tactician.llm import Usage
from tactician.llm.usage import ModelPrice
from tactician.planning import MEASURED, Objective
from tactician.testing import FakeClock, ScriptedModel

PRICE = ModelPrice(input=1.0, output=0.0)


@dataclass
class Facts:
    """What a source knows."""

    source: str


@dataclass
class Sources:
    """Three sources: the price of a question, and how often it is answered."""

    odds: dict[str, tuple[float, float]] = field(
        default_factory=lambda: {"archive": (0.05, 0.8), "web": (0.10, 0.95), "expert": (0.60, 1.0)}
    )
    random: Random = field(default_factory=lambda: Random(7))

    async def ask(self, source: str, context: OperationContext) -> Facts | None:
        """Ask a source, which costs its price whether or not it answers."""
        dollars, chance = self.odds[source]
        await context.run.clock.sleep(1)
        usage = Usage(input_tokens=round(dollars * 1_000_000), requests=1, model=f"{source}:search", price=PRICE)
        context.run.tally.add(usage)
        return Facts(source) if self.random.random() < chance else None


@planned_agent(description="Answers questions from the source that is worth its price", objective=Objective.DOLLARS)
class PricedResearch:
    """Three ways to the same facts."""

    def __init__(self, sources: Sources | None = None) -> None:
        self.sources = sources or Sources()

    @action(cost=MEASURED)
    async def ask_archive(self, question: UserInput, context: OperationContext) -> Facts | None:
        """Ask the archive."""
        return await self.sources.ask("archive", context)

    @action(cost=MEASURED)
    async def search_web(self, question: UserInput, context: OperationContext) -> Facts | None:
        """Search the web."""
        return await self.sources.ask("web", context)

    @action(cost=MEASURED)
    async def ask_expert(self, question: UserInput, context: OperationContext) -> Facts | None:
        """Ask an expert."""
        return await self.sources.ask("expert", context)

    @achieves_goal("The question is answered")
    @action
    def answer(self, facts: Facts) -> str:
        """Answer from the facts."""
        return f"answered by the {facts.source}"


async def ask_questions(platform: Platform, agent: PricedResearch, number: int) -> Counter[str]:
    """Ask so many questions, and return which source was asked first how often."""
    first = Counter[str]()
    for _ in range(number):
        process = await platform.start(agent, UserInput("Who was it?"), options=ProcessOptions(explore=7))
        first[process.history[0].action] += 1
    return first


async def main() -> None:
    """Show what is learned, and that a source that becomes bad is left."""
    sources = Sources()
    agent, platform = PricedResearch(sources), Platform(ScriptedModel(), clock=FakeClock())
    print("first asked:", dict(await ask_questions(platform, agent, 20)))
    sources.odds["archive"] = 0.05, 0.0
    print("the archive has closed:", dict(await ask_questions(platform, agent, 20)))
    for measured in await platform.list_experience():
        experience = measured.experience
        print(f"{measured.name}: {experience.runs} runs, {experience.success:.0%}, ${experience.dollars:.2f}")


if __name__ == "__main__":
    asyncio.run(main())
