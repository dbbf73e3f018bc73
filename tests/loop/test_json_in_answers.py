"""Typed answers with prose, thoughts, braces and code fences around the JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tactician import Agent, Ensemble, Task
from tactician.errors import DeclarationError
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput
from tactician.testing import ScriptedModel
from tests.support.effort import examples


class City(BaseModel):
    name: str
    people: int


ROME = '{"name": "Rome", "people": 3}'
ANSWERS = [
    f"{ROME} Bye.",
    f"Here it is: {ROME}",
    f"<think>{{a}}</think>\n{ROME}",
    f'<think>Is it {{"name": "Paris", "people": 1}}?</think>\n{ROME}',
    f'<think>Is it {{"name": "Paris", "people": 1}}?</think>\n{ROME} Bye.',
    f"Use {{braces}} so:\n```json\n{ROME}\n```",
    f"```json\n{ROME}\n```\nwhere {{x}} stands for {{y}}",
    f'```json\n{ROME}\n```\nbut not {{"name": "Paris", "people": 1}}',
    f'A draft: {{"name": "Paris", "people": 1}}. The answer: {ROME}',
    f"As [1] says: {ROME} and {{}}.",
    f'{{"city": "no"}} is wrong, {ROME} is right',
]


@pytest.mark.parametrize("answer", ANSWERS)
async def test_the_object_is_found_at_the_first_attempt(answer: str) -> None:
    model = ScriptedModel(answer)
    result = await Agent("A", model=model, output_type=City).run("Which city?")
    assert result.output == City(name="Rome", people=3)
    task = Task("Find", agent=Agent("B", model=ScriptedModel(answer)), output_type=City)
    assert (await Ensemble("E", [task]).run({})).output == City(name="Rome", people=3)


prose = st.text(st.sampled_from('ab {}[]",.\n`:\\1'), max_size=30)


@examples(300)
@given(before=prose, after=prose, name=st.text(max_size=20), people=st.integers(-(10**9), 10**9), thinks=st.booleans())
def test_the_object_is_found_in_any_prose(before: str, after: str, name: str, people: int, *, thinks: bool) -> None:
    written = json.dumps({"name": name, "people": people})
    thoughts = f"<think>{before}</think>" if thinks else before.replace("{", "").replace("[", "").replace("`", "")
    answer = f"{thoughts}\n{written}\n{after}"
    assert output_type(City).parse(answer) == City(name=name, people=people)


@given(text=st.text(st.sampled_from('{}[]"ab:,1\\`\n <>/think'), max_size=200))
def test_any_text_is_an_answer_or_not_valid(text: str) -> None:
    for kind in (City, list[int]):
        with suppress(InvalidOutput):
            output_type(kind).parse(text)


HOSTILE = [
    "{", '{"', "[", "[1,", '{"a":', '{"a":[', "{}", "```", "</think>", "{ ", '{"a ', '"\\', '{"name":"x","people":1}',
    "[" + "1" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_answers_take_linear_time(piece: str) -> None:
    def measure(length: int) -> float:
        text = "x" + piece * (length // len(piece)) + "y"
        began = process_time()
        with suppress(InvalidOutput):
            output_type(City).parse(text)
        return process_time() - began

    small, large = min(measure(50_000) for _ in range(3)), min(measure(400_000) for _ in range(2))
    assert large < max(0.2, 8 * small) * 4, "eight times the text takes about eight times as long"


class Opaque:
    """Class that pydantic does not know."""


@pytest.mark.parametrize("kind", [Opaque, list[Opaque], lambda: 0])
async def test_an_output_type_without_a_schema_is_an_error_that_says_what_to_do(kind: type[object]) -> None:
    with pytest.raises(DeclarationError, match="no JSON schema: give a pydantic model, a dataclass"):
        await Agent("A", model=ScriptedModel("x"), output_type=kind).run("x")
