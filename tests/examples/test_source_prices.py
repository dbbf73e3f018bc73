"""The research agent of the examples learns which source is worth its price."""

from __future__ import annotations

from examples.source_prices import PricedResearch, Sources, ask_questions
from tactician import Platform
from tactician.testing import FakeClock, ScriptedModel


async def test_the_cheap_source_is_asked_until_it_closes() -> None:
    sources = Sources()
    agent, platform = PricedResearch(sources), Platform(ScriptedModel(), clock=FakeClock())

    learned = await ask_questions(platform, agent, 20)
    sources.odds["archive"] = 0.05, 0.0
    await ask_questions(platform, agent, 20)
    later = await ask_questions(platform, agent, 10)

    assert learned.most_common(1)[0][0] == "ask_archive"
    assert later.most_common(1)[0][0] == "search_web"
