"""The star news example: its own parts, a scripted run, and a run on the embedded model."""

import pytest

from examples.star_news import HoroscopeService, Sign, StarNewsFinder, StarPerson, Writeup, search_news
from tactician import Platform, ProcessStatus
from tactician.testing import ScriptedModel, ToolCall

REQUEST = "Lynda is a Scorpio, find news for her"


def test_there_is_a_horoscope_for_every_sign() -> None:
    service = HoroscopeService()
    assert len({service.today(sign) for sign in Sign}) == 12


def test_the_search_finds_articles_by_their_words() -> None:
    found = search_news("comet telescope")
    assert found[0] == "Students find a new comet on their second night at the telescope"
    assert len(found) == 3


async def test_the_steps_follow_from_the_types() -> None:
    model = ScriptedModel(
        StarPerson(name="Lynda", sign=Sign.SCORPIO),
        ToolCall("search_news", topic="secret"),
        {"items": [{"title": "A lighthouse keeps its light on"}]},
        "Ha!",
    )
    process = await Platform(models=model).start(StarNewsFinder(HoroscopeService()), REQUEST)
    assert process.status is ProcessStatus.COMPLETED
    assert [run.action for run in process.history] == ["extract_person", "read_horoscope", "find_news", "write_up"]
    assert process.result == Writeup(text="Ha!")
    assert "A secret comes to light" in model.calls[3].prompt
    assert "A lighthouse keeps its light on" in model.calls[3].prompt
    assert model.calls[3].options.temperature == 0.9
    model.assert_exhausted()


@pytest.mark.embedded
async def test_it_runs_on_the_embedded_model() -> None:
    process = await Platform().start(StarNewsFinder(HoroscopeService()), REQUEST)
    assert process.status is ProcessStatus.COMPLETED, process.failure
    assert process.last(StarPerson) == StarPerson(name="Lynda", sign=Sign.SCORPIO)
    assert isinstance(process.result, Writeup)
    assert process.result.text
    assert process.cost == 0
    assert process.usage.total_tokens > 100
