"""The examples in which a model leads: market research, and the preparation of a meal."""

from examples.market_research import (
    CompetitorAnalysis,
    FinalReport,
    MarketData,
    MarketResearcher,
    ReportRequest,
)
from examples.meal import REQUEST, Cook, Meal, agent, prepare, script
from tactician import Platform, ProcessStatus
from tactician.testing import ScriptedModel, ToolCall

DATA = MarketData(revenues={"Amazon": "$100B"}, market_share={"Amazon": 0.31})
ANALYSIS = CompetitorAnalysis(strengths={"Amazon": ["scale"]})
REPORT = FinalReport(title="Clouds", sections=["Amazon leads."])


async def test_the_model_makes_the_requests_and_the_report_has_what_was_found() -> None:
    model = ScriptedModel(
        ToolCall("gather_market_data", market_data_request={"topic": "clouds"}),
        DATA,
        ToolCall("analyze_competitors", competitor_analysis_request={"companies": ["Amazon"]}),
        ANALYSIS,
        ToolCall("compile_report", report_request={"topic": "clouds", "companies": ["Amazon"]}),
        REPORT,
    )
    platform = Platform(models=model).register(MarketResearcher())
    assert await platform.invoke(FinalReport, "Research the cloud market") == REPORT
    assert "$100B" in model.calls[5].prompt
    assert "scale" in model.calls[5].prompt
    assert str(REPORT) == "# Clouds\n\nAmazon leads."
    (process,) = await platform.processes()
    assert process.last(ReportRequest) == ReportRequest(topic="clouds", companies=["Amazon"])
    model.assert_exhausted()


async def test_the_meal_is_prepared_when_there_are_a_cook_and_an_order() -> None:
    model = script()
    meal = await prepare(Platform(models=model), REQUEST)
    assert meal == Meal(dish="omelette", quantity=2, ordered_by="Ann", cooked_by="Bob")
    assert str(meal) == "2 x omelette for Ann, by Bob"
    assert "Bob, 44, cooks 2 x omelette" in model.calls[4].prompt
    assert REQUEST in model.calls[4].prompt
    model.assert_exhausted()


async def test_the_kitchen_as_an_agent_prepares_the_same_meal() -> None:
    process = await Platform(models=script()).start(agent, REQUEST)
    assert process.status is ProcessStatus.COMPLETED, process.failure
    assert isinstance(process.result, Meal)
    assert process.last(Cook) == Cook(name="Bob", age=44)
