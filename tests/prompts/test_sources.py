"""Instructions that are not in the code: what a model is told in the end."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest

from tactician import (
    Agent,
    Department,
    HierarchicalAgents,
    RunContext,
    RunStatus,
    SupervisorAgent,
    approve,
    tool,
)
from tactician.errors import ConfigurationError, DeclarationError
from tactician.prompts import InstructionFile, ProvidedInstructions, prompt_providers
from tactician.prompts.providers import PromptProvider
from tactician.prompts.sources import InstructionSource
from tactician.testing import ScriptedModel, ToolCall
from tests.support.told import told

ASKED_FOR = ProvidedInstructions("team", "support", {"label": "production"})


class Shelf:
    """A provider of prompts that can be changed, and counts how often it is asked."""

    def __init__(self, text: str = "Be kind.") -> None:
        self.text = text
        self.asked: list[tuple[str, Mapping[str, str]]] = []

    async def get_prompt(self, name: str, filters: Mapping[str, str]) -> str:
        self.asked.append((name, dict(filters)))
        return self.text


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    prompt_providers.register("team", shelf)
    return shelf


def written(folder: Path, content: bytes) -> Path:
    file = folder / "support.md"
    file.write_bytes(content)
    return file


class TestInstructionFile:
    async def test_the_model_is_told_what_the_file_says(self, tmp_path: Path) -> None:
        model = ScriptedModel("Hello")
        agent = Agent("A", model=model, instructions=InstructionFile(written(tmp_path, b"Be kind.\n")))

        await agent.run("hi")

        assert told(model) == ["Be kind.\n"]
        assert agent.instructions == agent.description == "Be kind.\n"

    async def test_it_is_read_once(self, tmp_path: Path) -> None:
        file = written(tmp_path, b"Be kind.")
        source = InstructionFile(file)
        file.write_text("Be rude.", encoding="utf-8")

        assert (source.text, await source.resolve()) == ("Be kind.", "Be kind.")
        assert InstructionFile(file).text == "Be rude."

    def test_a_byte_order_mark_is_no_text(self, tmp_path: Path) -> None:
        assert InstructionFile(written(tmp_path, b"\xef\xbb\xbfSei nett, \xc3\x84nne\r\n")).text == "Sei nett, Änne\n"

    def test_an_empty_file_is_no_instructions(self, tmp_path: Path) -> None:
        agent = Agent("A", instructions=InstructionFile(written(tmp_path, b"")))
        assert (agent.instructions, agent.description) == ("", "A")

    def test_it_is_known_by_its_name_and_read_where_it_is(self, tmp_path: Path) -> None:
        source = InstructionFile("prompts/support.md", written(tmp_path, b"Be kind."))

        assert source.text == "Be kind."
        assert source == InstructionFile("prompts/support.md", written(tmp_path, b"Be rude."))
        assert str(tmp_path) in repr(source)
        assert "kind" not in repr(source)

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    def test_a_copy_says_the_same(self, again: Callable[[object], object], tmp_path: Path) -> None:
        source = InstructionFile(written(tmp_path, b"Be kind."))
        made = cast("InstructionFile", again(source))
        assert (made, hash(made), made.text) == (source, hash(source), "Be kind.")

    def test_the_longest(self, tmp_path: Path) -> None:
        assert InstructionFile(written(tmp_path, "ä".encode() * 1_000_000)).text == "ä" * 1_000_000
        with pytest.raises(ConfigurationError, match=r"support\.md cannot be read: the file has more than 1,000,000 "):
            InstructionFile(written(tmp_path, b"a" * 1_000_001))

    @pytest.mark.parametrize("content", [b"caf\xe9", b"\xff\xfeB\x00", b"\xed\xa0\x80"])
    def test_only_utf_8(self, content: bytes, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match=r"support\.md cannot be read: the file is not UTF-8"):
            InstructionFile(written(tmp_path, content))

    @pytest.mark.parametrize(
        ("name", "why"),
        [
            ("missing.md", "No such file or directory"),
            (".", "it is not a file"),
            ("pipe", "it is not a file"),
            ("support.md/more", "Not a directory"),
            ("a\0b", "embedded null byte"),
            ("x" * 300, "File name too long"),
        ],
    )
    def test_what_cannot_be_read(self, name: str, why: str, tmp_path: Path) -> None:
        written(tmp_path, b"Be kind.")
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ConfigurationError) as caught:
            InstructionFile(tmp_path / name)
        assert str(caught.value) == f"The instructions in {tmp_path / name} cannot be read: {why}."

    def test_a_file_is_all_that_the_agent_is(self, tmp_path: Path) -> None:
        with pytest.raises(DeclarationError, match="instructions from a source cannot be combined with a role"):
            Agent("A", role="Helper", instructions=InstructionFile(written(tmp_path, b"Be kind.")))

    async def test_instructions_for_one_request_come_before_it(self, tmp_path: Path) -> None:
        model = ScriptedModel("Hello")
        agent = Agent("A", model=model, instructions=InstructionFile(written(tmp_path, b"Be kind.")))

        await agent.with_changes(instructions="Be brief.").run("hi")

        assert told(model) == ["Be brief."]


class TestProvidedInstructions:
    async def test_the_model_is_told_what_the_provider_has(self, shelf: Shelf) -> None:
        model = ScriptedModel("Hello")
        agent = Agent("A", model=model, instructions=ASKED_FOR)
        assert (agent.instructions, agent.description, shelf.asked) == ("", "A", [])

        await agent.run("hi")

        assert told(model) == ["Be kind."]
        assert shelf.asked == [("support", {"label": "production"})]

    async def test_a_run_asks_once_and_the_next_run_again(self, shelf: Shelf) -> None:
        @tool
        def rewrite(text: str) -> str:
            """Change the prompt."""
            shelf.text = text
            return "done"

        model = ScriptedModel(ToolCall("rewrite", text="Be rude."), "Done", "Go away")
        agent = Agent("A", model=model, instructions=ASKED_FOR, tools=[rewrite])

        await agent.run("hi")
        assert (told(model), len(shelf.asked)) == (["Be kind.", "Be kind."], 1)

        await agent.run("hi")
        assert (told(model)[2:], len(shelf.asked)) == (["Be rude."], 2)

    async def test_a_streamed_run_is_told_the_same(self, shelf: Shelf) -> None:
        model = ScriptedModel("Hello")
        async for _ in Agent("A", model=model, instructions=ASKED_FOR).stream("hi"):
            pass
        assert (told(model), len(shelf.asked)) == (["Be kind."], 1)

    async def test_a_supervisor_is_told_of_its_workers_besides(self, shelf: Shelf) -> None:
        model = ScriptedModel("Done")
        worker = Agent("Writer", model=ScriptedModel())
        lead = SupervisorAgent("Lead", model=model, instructions=ASKED_FOR, workers={"writes texts": worker})

        await lead.run("Write")

        assert told(model)[0].startswith("Be kind.\n\nThese work for you")
        assert "- invoke_writer: writes texts" in told(model)[0]

    async def test_a_hierarchy_tells_both_to_all_who_lead(self, shelf: Shelf) -> None:
        top = ScriptedModel(ToolCall("invoke_chief_supervisor", request="Write"), "Done")
        middle = ScriptedModel(ToolCall("invoke_writer", request="Write"), "Written")
        bottom = ScriptedModel("A text")
        texts = Department(
            Agent("Chief", model=middle, instructions=ASKED_FOR),
            workers=[Agent("Writer", model=bottom, instructions=ASKED_FOR, description="writes texts")],
        )
        firm = HierarchicalAgents(
            executive=Agent("Boss", model=top, instructions=ASKED_FOR), departments={"Texts": texts}
        )

        await firm.run("Write")

        assert len(shelf.asked) == 3
        assert told(bottom) == ["Be kind."]
        for model, worker in ((top, "- invoke_chief_supervisor: Texts: "), (middle, "- invoke_writer: writes texts")):
            assert all(one.startswith("Be kind.\n\nThese work for you") and worker in one for one in told(model))

    async def test_a_supervisor_that_leads_a_department_keeps_its_own_workers(self, shelf: Shelf) -> None:
        middle = ScriptedModel("Written")
        lead = SupervisorAgent(
            "Chief", model=middle, instructions=ASKED_FOR, workers={"reads": Agent("Reader", model=ScriptedModel())}
        )
        firm = HierarchicalAgents(
            executive=Agent("Boss", model=ScriptedModel()),
            departments={"Texts": Department(lead, workers=[Agent("Writer", model=ScriptedModel())])},
        )

        await firm.send_to_department("Texts", "Write")

        (text,) = told(middle)
        assert text.startswith("Be kind.\n\n")
        assert [f"- invoke_{name}: " in text for name in ("reader", "writer")] == [True, True]

    async def test_a_run_that_waited_goes_on(self, shelf: Shelf) -> None:
        @tool(needs_approval=True)
        def pay() -> str:
            """Pay."""
            return "paid"

        model = ScriptedModel(ToolCall("pay"), "Done")
        agent, context = Agent("A", model=model, instructions=ASKED_FOR, tools=[pay]), RunContext.over(model)
        waiting = await agent.run("Pay", context=context)
        assert waiting.status is RunStatus.WAITING
        shelf.text = "Be rude."

        done = await agent.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)

        assert done.output == "Done"
        assert told(model) == ["Be kind.", "Be rude."]

    async def test_a_run_that_waited_still_waits_when_its_instructions_are_gone(self, shelf: Shelf) -> None:
        @tool(needs_approval=True)
        def pay() -> str:
            """Pay."""
            return "paid"

        model = ScriptedModel(ToolCall("pay"), "Done")
        agent, context = Agent("A", model=model, instructions=ASKED_FOR, tools=[pay]), RunContext.over(model)
        waiting = await agent.run("Pay", context=context)
        answers = {waiting.pending[0].id: approve()}
        prompt_providers.clear()

        with pytest.raises(ConfigurationError, match="No provider of prompts"):
            await agent.resume(waiting.run_id, answers, context=context)
        prompt_providers.register("team", shelf)

        assert (await agent.resume(waiting.run_id, answers, context=context)).output == "Done"

    async def test_no_provider(self) -> None:
        prompt_providers.register("teams", Shelf())
        with pytest.raises(ConfigurationError) as caught:
            await Agent("A", model=ScriptedModel(), instructions=ASKED_FOR).run("hi")
        assert str(caught.value) == (
            "No provider of prompts is registered as 'team'. Did you mean 'teams'? Registered: teams. "
            "Call prompt_providers.register('team', ...) first, or add [prompts.team] to tactician.toml."
        )
        with pytest.raises(ConfigurationError, match="No provider of prompts is registered as 'team'"):
            ASKED_FOR.check()

    async def test_a_provider_that_gives_no_text(self) -> None:
        class Nothing:
            async def get_prompt(self, name: str, filters: Mapping[str, str]) -> None:
                return None

        prompt_providers.register("team", cast("PromptProvider", Nothing()))
        with pytest.raises(ConfigurationError, match=r"'team' must return a text for 'support', not a NoneType\."):
            await Agent("A", model=ScriptedModel(), instructions=ASKED_FOR).run("hi")

    async def test_instructions_for_one_request_come_before_it(self, shelf: Shelf) -> None:
        model = ScriptedModel("Hello")
        await Agent("A", model=model, instructions=ASKED_FOR).with_changes(instructions="Be brief.").run("hi")
        assert (told(model), shelf.asked) == (["Be brief."], [])

    def test_the_same_source_is_equal_and_can_be_a_key(self) -> None:
        again = ProvidedInstructions("team", "support", {"label": "production"})
        assert {ASKED_FOR: 1}[again] == 1
        assert again != ProvidedInstructions("team", "support")
        assert again.text is None


async def test_a_source_of_ones_own() -> None:
    class Tide(InstructionSource):
        level = 0

        @property
        def text(self) -> None:
            return None

        async def resolve(self) -> str:
            self.level += 1
            return f"The water is at {self.level} m."

    model = ScriptedModel("Fine", "Fine")
    agent = Agent("A", model=model, instructions=Tide())

    await agent.run("Is it safe?")
    await agent.run("And now?")

    assert told(model) == ["The water is at 1 m.", "The water is at 2 m."]
