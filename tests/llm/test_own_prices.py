"""`[models.prices]`: prices of one's own, and which of them holds."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tactician import Agent, Budget, tool
from tactician.cli.models import show_models
from tactician.config import Settings
from tactician.config.loading import load_settings
from tactician.config.model_settings import PriceSettings
from tactician.errors import ConfigurationError
from tactician.llm import LlmOptions, ModelCatalog, ModelRequest, ModelResponse, Usage, UserMessage
from tactician.llm.usage import calculate_cost
from tactician.runs import BudgetError, RunContext
from tests.support.chat_server import ChatServer, answers, call, chunk, completion, streams, usage_chunk

USED = Usage(input_tokens=11, output_tokens=7, cache_read_tokens=3)  # what the server says
PRICES = """
[models.prices]
"gpt-5.4" = { input = 1.0, output = 4.0, cache_read = 0.1, cache_write = 1.25 }
"gpt-5.4-mini" = { input = 0.5, output = 2 }
"eu:gpt-5.4" = { input = 100, output = 0 }
"""


def instance(id: str, url: str, **more: object) -> dict[str, object]:
    return {"id": id, "url": url, "models": "gpt-5.4,gpt-5.4-mini", "provider": "openai", "key": "k", **more}


def custom(url: str) -> dict[str, object]:
    spec = {
        "apiFormat": "openai-chat",
        "auth": {"header": "X-Key"},
        "endpoints": {"chat_completions": "/v1/chat/completions"},
        "modelPricing": {"gpt-5.4": {"input": 1000, "output": 0}},
    }
    return instance("mine", url, provider="custom", custom=spec)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "t.toml").write_text(PRICES)
    return load_settings(tmp_path / "t.toml")


async def answered(catalog: ModelCatalog, name: str) -> ModelResponse:
    return await catalog.resolve(LlmOptions(model=name)).generate(ModelRequest((UserMessage("hi"),)))


@pytest.mark.parametrize(
    ("name", "millionths"),
    [
        ("us:gpt-5.4", 8 * 1.0 + 3 * 0.1 + 7 * 4.0),
        ("us:gpt-5.4-mini", 11 * 0.5 + 7 * 2),
        ("eu:gpt-5.4", 11 * 100),
        ("eu:gpt-5.4-mini", 11 * 0.5 + 7 * 2),
        ("mine:gpt-5.4", 11 * 1000),
        ("openai:gpt-5.4", 8 * 1.0 + 3 * 0.1 + 7 * 4.0),
    ],
)
async def test_the_longest_beginning_wins_under_an_instances_own(
    server: ChatServer, settings: Settings, name: str, millionths: float
) -> None:
    listed = [instance("us", server.url), instance("eu", server.url), custom(server.url)]
    catalog = ModelCatalog(settings, {"LLM_INSTANCES": json.dumps(listed), "OPENAI_BASE_URL": server.url})

    assert (await answered(catalog, name)).usage.cost == pytest.approx(millionths / 1e6)


async def test_without_one_the_price_list_holds(server: ChatServer, settings: Settings) -> None:
    response = await answered(ModelCatalog(settings, {"OPENAI_BASE_URL": server.url}), "openai:gpt-4o")

    assert response.usage.cost == calculate_cost("openai:gpt-4o", USED)
    assert response.usage.cost


def test_the_table_of_models_shows_them(settings: Settings) -> None:
    listed = [instance("us", "https://us.example"), custom("https://mine.example")]
    shown = StringIO()

    show_models(
        Console(file=shown, width=200), ModelCatalog(settings, {"LLM_INSTANCES": json.dumps(listed)}), check=False
    )

    us, mine = (line for line in shown.getvalue().splitlines() if "gpt-5.4 " in line and "/" in line)
    assert "1.00 / 4.00" in us
    assert "1000.00 / 0.00" in mine


def test_a_price_has_to_be_one(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        "[models]\ndefault = 7\n[models.prices]\na = {input = -1, output = 2}\nb = {input = 1}\n"
        "c = {input = nan, output = inf}\nd = {input = 1, output = 1, cached = 1}\ne = 3"
    )

    with pytest.raises(ConfigurationError) as raised:
        load_settings(file)

    told = str(raised.value)
    for place in ("default", "prices.a.input", "prices.b.output", "prices.c.input", "prices.c.output"):
        assert f"models.{place}: " in told
    assert "line 7: models.prices.d.cached: there is no such field" in told
    assert "models.prices.e: " in told


def test_cache_prices_may_be_left_out(settings: Settings) -> None:
    assert settings.models.prices["gpt-5.4-mini"] == PriceSettings(input=0.5, output=2)


def deployed(url: str) -> str:
    return json.dumps([instance("azure", url, models="prod-gpt", apiFormat="openai-chat")])


def says_by(model: str) -> dict[str, object]:
    return {**completion("hello"), "model": model}


@pytest.mark.parametrize("answered_by", ["gpt-5.4", "gpt-5.4-2026-03-05"])
async def test_a_deployment_is_priced_by_the_model_that_answered(server: ChatServer, answered_by: str) -> None:
    piece = {**chunk("stop", content="x"), "model": answered_by}
    server.will(streams(piece, usage_chunk()), answers(says_by(answered_by)))
    model = ModelCatalog(Settings(), {"LLM_INSTANCES": deployed(server.url)}).resolve(LlmOptions(model="prod-gpt"))
    request = ModelRequest((UserMessage("hi"),))
    streamed = [item async for item in model.stream(request)][-1]

    for response in (await model.generate(request), streamed):
        assert isinstance(response, ModelResponse)
        assert response.usage.model == "azure:prod-gpt"
        assert response.usage.cost == calculate_cost("openai:gpt-5.4", USED)
        assert response.usage.cost


async def test_a_price_of_ones_own_may_be_that_of_the_model_that_answered(
    server: ChatServer, settings: Settings
) -> None:
    server.will(answers(says_by("gpt-5.4-mini-2026")))
    catalog = ModelCatalog(settings, {"LLM_INSTANCES": deployed(server.url)})

    assert (await answered(catalog, "prod-gpt")).usage.cost == pytest.approx((11 * 0.5 + 7 * 2) / 1e6)


async def test_an_unknown_name_in_the_answer_changes_nothing(server: ChatServer) -> None:
    server.will(answers(says_by("/models/of-our-own")))
    catalog = ModelCatalog(Settings(), {"LLM_INSTANCES": json.dumps([instance("eu", server.url)])})

    assert (await answered(catalog, "gpt-5.4")).usage.cost == calculate_cost("openai:gpt-5.4", USED)


def test_sums_keep_what_each_model_costs() -> None:
    one = Usage(10**6, 0, requests=1, model="azure:prod", answered_by="gpt-5.4")
    two = Usage(10**6, 0, requests=1, model="azure:prod", answered_by="gpt-4o")
    total = one + two + one

    assert one.cost
    assert two.cost
    assert total.cost == pytest.approx(2 * one.cost + two.cost)
    assert (total.model, len(total.parts)) == ("azure:prod", 2)


async def test_a_budget_in_money_bites_at_a_deployment(server: ChatServer) -> None:
    usage = {"prompt_tokens": 10**6, "completion_tokens": 10**6}
    asked = call("1", "look", "{}")
    server.will(answers({**completion(None, asked, usage=usage), "model": "gpt-5.4"}))
    catalog = ModelCatalog(Settings(), {"LLM_INSTANCES": deployed(server.url)})

    @tool
    def look() -> str:
        """Look."""
        return "nothing"

    agent = Agent("A", model="prod-gpt", tools=[look])
    with pytest.raises(BudgetError):
        await agent.run("hi", context=RunContext.over(catalog), budget=Budget(cost=1.0))
    assert len(server.received) == 1
