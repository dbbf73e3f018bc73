"""Market research led by a model: it decides which actions to call, with what, and in which order.

Run it with `tactician run examples/market_research.py "The cloud market: Amazon and Microsoft"`. The embedded model is
too small to lead others; with `--scripted`, a script plays a larger one.
"""

from pydantic import BaseModel

from tactician import Ai, Planner, achieves_goal, action, planned_agent
from tactician.testing import ScriptedModel, ToolCall


class MarketDataRequest(BaseModel):
    topic: str


class MarketData(BaseModel):
    revenues: dict[str, str]
    market_share: dict[str, float]


class CompetitorAnalysisRequest(BaseModel):
    companies: list[str]


class CompetitorAnalysis(BaseModel):
    strengths: dict[str, list[str]]


class ReportRequest(BaseModel):
    topic: str
    companies: list[str]


class FinalReport(BaseModel):
    title: str
    sections: list[str]

    def __str__(self) -> str:
        return "\n\n".join((f"# {self.title}", *self.sections))


@planned_agent(planner=Planner.SUPERVISOR, description="Writes reports about markets")
class MarketResearcher:
    @action(description="Gather market data, with revenues and market shares")
    async def gather_market_data(self, request: MarketDataRequest, ai: Ai) -> MarketData:
        return await ai.create(MarketData, f"Give market data for: {request.topic}")

    @action(description="Analyze competitors: strengths and positions")
    async def analyze_competitors(self, request: CompetitorAnalysisRequest, ai: Ai) -> CompetitorAnalysis:
        return await ai.create(CompetitorAnalysis, f"Analyze these competitors: {', '.join(request.companies)}")

    @achieves_goal("All that was found out is compiled into a final report")
    @action(description="Compile the final report")
    async def compile_report(
        self, request: ReportRequest, data: MarketData | None, analysis: CompetitorAnalysis | None, ai: Ai
    ) -> FinalReport:
        found = "\n".join(part.model_dump_json() for part in (data, analysis) if part is not None)
        return await ai.create(FinalReport, f"Write a market research report about {request.topic}.\n{found}")


def script() -> ScriptedModel:
    """Return a model that leads well. Its numbers are made up."""
    companies = ["Amazon", "Microsoft"]
    return ScriptedModel(
        ToolCall("gather_market_data", market_data_request={"topic": "the cloud market"}),
        MarketData(revenues={"Amazon": "$108B", "Microsoft": "$75B"}, market_share={"Amazon": 0.31, "Microsoft": 0.24}),
        ToolCall("analyze_competitors", competitor_analysis_request={"companies": companies}),
        CompetitorAnalysis(strengths={"Amazon": ["breadth", "scale"], "Microsoft": ["enterprise customers"]}),
        ToolCall("compile_report", report_request={"topic": "the cloud market", "companies": companies}),
        FinalReport(
            title="The cloud market",
            sections=["Amazon leads with 31 %, Microsoft follows with 24 %.", "Microsoft is strong in enterprises."],
        ),
    )


agent = MarketResearcher()
