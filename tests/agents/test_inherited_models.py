"""All that an agent causes reaches its own models, at its own instances, with its own key: never another server."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from tactician import (
    Agent,
    Ai,
    Autonomy,
    LlmOptions,
    ModelRouter,
    ParallelAgents,
    PlannedAgent,
    Platform,
    RouterAgent,
    RunContext,
    SupervisorAgent,
    UserInput,
    achieves_goal,
    action,
    condition,
    planned_agent,
    tool,
)
from tactician import guardrails as rails
from tactician.config import ModelSettings
from tactician.config.model_settings import RetryPolicySettings, RetryRuleSettings, RouterSettings
from tactician.conversation import Conversation, Summarization
from tactician.guardrails import GuardrailResult
from tactician.llm import AssistantMessage, Message, Text, UserMessage
from tactician.runs import RunResult
from tests.agents.judging import HELPER, Judge, Model, Verdict, with_tool
from tests.agents.team_causes import TEAM_CAUSES
from tests.support.chat_server import ChatServer, Received, call, chunk, completion, sse, usage_chunk

PNG = base64.b64encode(b"\x89PNG picture").decode()
QUICK = RetryPolicySettings(server=RetryRuleSettings.model_validate({"base": 0.01}))
Cause = Callable[[Model, RunContext], Awaitable[object]]


class Brain:
    """What a server of models answers: a tool is called once, what is asked for as an object is wrong once."""

    def __init__(self) -> None:
        self._done: set[str] = set()

    def _is_first(self, what: str) -> bool:
        is_first = what not in self._done
        self._done.add(what)
        return is_first

    async def reply(self, request: web.Request, received: Received) -> web.StreamResponse:
        body = received.body
        if "embeddings" in received.path:
            return web.json_response({"data": [{"index": 0, "embedding": [1.0]}], "usage": {"prompt_tokens": 1}})
        if "images" in received.path:
            return web.json_response({"data": [{"b64_json": PNG}]})
        if body["model"] == "broken" or ("fail once" in json.dumps(body) and self._is_first("down")):
            return web.json_response({"error": {"message": "down"}}, status=503)
        if body.get("stream"):
            streamed = sse(chunk(content="fi"), chunk(content="ne"), chunk(finish="stop"), usage_chunk())
            return web.Response(body=streamed, headers={"Content-Type": "text/event-stream"})
        return web.json_response(self._complete(body))

    def _complete(self, body: dict[str, object]) -> dict[str, object]:
        messages = body["messages"]
        assert isinstance(messages, list)
        if "response_format" in body:
            return completion("nonsense" if self._is_first("wrong") else '{"good": true}')
        if body.get("tools") and messages[-1]["role"] != "tool":
            return completion(None, call("c1", "ask_helper"))
        return completion("fine")


@planned_agent(description="asks a model in a condition and a cost")
class Doubter:
    @condition
    async def is_clear(self, text: UserInput, ai: Ai) -> bool:
        return await ai.evaluate_condition("the text is clear", text.content) is not None

    @achieves_goal("judged")
    @action(pre=["is_clear"])
    async def judge(self, text: UserInput, ai: Ai) -> Verdict:
        return Verdict(bool(await ai.generate_text(text.content)))


async def sum_up(model: Model, context: RunContext) -> object:
    said: list[Message] = [UserMessage("Tell me about frogs, and in great detail. " * 5)]
    said += [AssistantMessage((Text("Frogs hop, they croak, they swim. " * 10),)), UserMessage("More. " * 30)] * 3
    window = Summarization(max_tokens=300, keep_recent=1)
    result = await Agent("Boss", model=model, window=window).run(
        "Go on", context=context, conversation=Conversation(said)
    )
    assert result.usage.requests == 2
    return result


async def run_inside(model: Model, context: RunContext) -> object:
    return await with_tool(model, context, lambda: HELPER.run("help"))


async def run_inside_by_name(model: Model, context: RunContext) -> object:
    return await with_tool(model, context, lambda: Agent("Named", model="m").run("help"))


async def run_a_blocking_tool(model: Model, context: RunContext) -> object:
    @tool(blocking=True)
    def ask_helper() -> str:
        """Helps."""
        return HELPER.run_sync("help").output

    return await Agent("Boss", model=model, tools=[ask_helper]).run("Go", context=context)


async def run_a_planned_agent(model: Model, context: RunContext) -> object:
    return await with_tool(model, context, lambda: PlannedAgent(Judge()).run("help"))


async def embed(model: Model, context: RunContext) -> object:
    return await with_tool(model, context, lambda: Ai.default().embed("frogs"))


async def paint(model: Model, context: RunContext) -> object:
    async def work() -> int:
        return len((await Ai.default().image("frogs")).data or "")

    return await with_tool(model, context, work)


async def ask_a_guardrail(model: Model, context: RunContext) -> object:
    async def is_polite(text: str) -> GuardrailResult:
        answer = (await HELPER.run(f"Is this polite? {text}")).output
        return rails.passed() if answer == "fine" else rails.failed("it is not")

    agent = Agent("Boss", model=model, input_guardrails=[is_polite], output_guardrails=[is_polite])
    return await agent.run("Go", context=context)


async def ask_again(model: Model, context: RunContext) -> object:
    result = await Agent("Boss", model=model, output_type=Verdict).run("Go", context=context)
    assert result.usage.requests == 2
    return result


async def stream(model: Model, context: RunContext) -> object:
    return [event async for event in Agent("Boss", model=model).stream("Go", context=context)]


async def retry(model: Model, context: RunContext) -> object:
    return await Agent("Boss", model=model).run("fail once", context=context)


async def hand_over(model: Model, context: RunContext) -> object:
    return await with_tool(model, context, lambda: Agent("Outer", tools=[HELPER.as_tool("ask_helper")]).run("Go"))


async def route(model: Model, context: RunContext) -> object:
    desk = RouterAgent("Desk", routes={"help": HELPER}, fallback=HELPER)
    return await with_tool(model, context, lambda: desk.run("help"))


async def rank(model: Model, context: RunContext) -> object:
    platform = Platform(context.models).register(HELPER)
    return await with_tool(model, context, lambda: Autonomy(platform).rank("help"))


async def rank_and_run(model: Model, context: RunContext) -> object:
    platform = Platform(context.models).register(Judge())
    return await with_tool(model, context, lambda: Autonomy(platform).run("help"))


async def supervise(model: Model, context: RunContext) -> object:
    team = SupervisorAgent("Team", workers={"helps": HELPER})
    return await with_tool(model, context, lambda: team.run("help"))


async def synthesize(model: Model, context: RunContext) -> object:
    panel = ParallelAgents("Panel", [HELPER, Agent("Other")])
    return await with_tool(model, context, lambda: panel.run_and_synthesize("help", synthesizer=Agent("Judge")))


async def stream_inside(model: Model, context: RunContext) -> object:
    async def work() -> int:
        return len([event async for event in HELPER.stream("help")])

    return await with_tool(model, context, work)


async def stream_objects(model: Model, context: RunContext) -> object:
    async def work() -> int:
        return len([item async for item in Ai.default().stream_objects(Verdict, "Judge")])

    return await with_tool(model, context, work)


async def retry_inside(model: Model, context: RunContext) -> object:
    return await with_tool(model, context, lambda: HELPER.run("fail once"))


async def fall_back_inside(model: Model, context: RunContext) -> object:
    return await with_tool(model, context, lambda: Agent("Named", model="broken").run("help"))


async def check_in_a_planned_agent(model: Model, context: RunContext) -> object:
    return await with_tool(model, context, lambda: PlannedAgent(Doubter()).run("help"))


CAUSES: list[Cause] = [
    *TEAM_CAUSES,
    sum_up, run_inside, run_inside_by_name, run_a_blocking_tool, run_a_planned_agent, embed, paint, ask_a_guardrail,
    ask_again, stream, retry, hand_over, route, rank, rank_and_run, supervise, synthesize, stream_inside,
    stream_objects, retry_inside, fall_back_inside, check_in_a_planned_agent,
]  # fmt: skip


def _router(**sites: ChatServer) -> ModelRouter:
    listed = [
        {
            "id": name,
            "url": one.url,
            "key": f"sk-{name}",
            "models": "m,broken,my-embed,gpt-image-1",
            "provider": "openai",
        }
        for name, one in sites.items()
    ]
    settings = ModelSettings(
        default="m", fallbacks={"broken": ("m",)}, router=RouterSettings(max_retries=1, retries=QUICK)
    )
    return ModelRouter.from_json(json.dumps(listed), settings)


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.__name__)
@pytest.mark.parametrize("way", ["a router of its own", "an instance", "an instance of a model with a fallback"])
async def test_nothing_reaches_the_other_server(cause: Cause, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ChatServer(Brain().reply) as own, ChatServer(Brain().reply) as other:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        if way == "a router of its own":
            model: Model = _router(own=own)
            context = RunContext.over(_router(other=other))
        else:
            name = "broken" if "fallback" in way else "m"
            model, context = LlmOptions(model=name, instances=("own",)), RunContext.over(_router(own=own, other=other))
        result = await cause(model, context)
        assert not isinstance(result, RunResult) or result.output is not None
    assert other.received == []
    assert own.received
    assert {one.headers["authorization"] for one in own.received} == {"Bearer sk-own"}
