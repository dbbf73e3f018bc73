"""Objects one by one, while the model writes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from pydantic import BaseModel

from tactician import Ai
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, Text, Thinking
from tactician.llm.model import Delta, TextDelta, ThinkingDelta
from tactician.runs import OutputError
from tactician.testing import ScriptedModel


class Month(BaseModel):
    name: str
    heat: int


class Writing:
    """A model that writes its answers in pieces, and remembers how far it has come."""

    name = "writing"
    features = Features(json_schema=True)

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.written = 0

    async def generate(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(AssistantMessage((Text("".join(self.answers.pop(0))),)))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        pieces = self.answers.pop(0)
        yield ThinkingDelta("hm")
        for piece in pieces:
            self.written += 1
            yield TextDelta(piece)
            await asyncio.sleep(0)  # as if it had to wait for the next piece
        yield ModelResponse(AssistantMessage((Text("".join(pieces)),)))


JULY, JUNE, MAY = Month(name="July", heat=33), Month(name="June", heat=31), Month(name="May", heat=29)
LIST = ['{"value": [', JULY.model_dump_json(), ",", JUNE.model_dump_json(), ",", MAY.model_dump_json(), "]}"]


async def test_each_comes_as_soon_as_it_is_complete() -> None:
    model, seen = Writing(LIST), list[tuple[object, int]]()
    async for item in Ai.over(model).stream_objects(Month, "the hottest months"):
        seen.append((item, model.written))

    assert [item for item, _ in seen] == [Thinking("hm"), JULY, JUNE, MAY]
    after = [written for _, written in seen]
    assert after[1] < after[2] < after[3]


async def test_however_it_is_cut() -> None:
    model = Writing(list("".join(LIST)))
    items = [item async for item in Ai.over(model).stream_objects(Month, "x") if not isinstance(item, Thinking)]

    assert items == [JULY, JUNE, MAY]


async def test_an_answer_that_is_not_valid_is_written_anew_and_nothing_comes_twice() -> None:
    broken = ['{"value": [', JULY.model_dump_json(), ",", JUNE.model_dump_json(), ',{"name": "x"}, {"na', "]}"]
    model = Writing(broken, LIST)
    items = [item async for item in Ai.over(model).stream_objects(Month, "x") if not isinstance(item, Thinking)]

    assert items == [JULY, JUNE, MAY]


async def test_models_without_json_schemas_give_all_at_the_end() -> None:
    model = ScriptedModel('[{"name": "July", "heat": 33}]', features=Features())

    assert [item async for item in Ai.over(model).stream_objects(Month, "x")] == [JULY]


async def test_simple_values() -> None:
    model = ScriptedModel({"value": [1, 2, 3]})

    assert [item async for item in Ai.over(model).stream_objects(int, "x")] == [1, 2, 3]


async def test_no_valid_answer() -> None:
    with pytest.raises(OutputError):
        async for _ in Ai.over(ScriptedModel("a", "b", "c")).stream_objects(Month, "x"):
            pass
