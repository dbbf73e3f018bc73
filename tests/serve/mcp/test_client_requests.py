"""What runs ask of the client itself: answers of its model, its roots, and questions of prompts; keys of questions."""

from __future__ import annotations

from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from tactician import Agent, Platform, achieves_goal, action, ask_human, confirm, planned_agent
from tactician.errors import ConfigurationError
from tactician.runs import RunStatus
from tactician.serve import ClientModel, McpPublisher, ServedPrompt, list_client_roots
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel
from tests.serve.mcp.kitchen import ERAS, Era, Person, Wish, connect, read

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


class Answer(BaseModel):
    text: str


class Model:
    """The model of a client."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[types.CreateMessageRequestParams] = []

    async def answer(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        self.asked.append(params)
        text = types.TextContent(text=self._answers.pop(0))
        return types.CreateMessageResult(role="assistant", content=text, model="of-the-client")


async def list_roots(context: ClientRequestContext) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///home/ann", name="Ann")])  # type: ignore[arg-type]


def connect_with_model(publisher: McpPublisher, era: Era, model: Model) -> Client:
    return Client(publisher.server, mode=era, sampling_callback=model.answer, list_roots_callback=list_roots)


@planned_agent(description="Uses what the client has.")
class Guest:
    @achieves_goal("Somebody is greeted")
    @action
    async def greet(self, wish: Wish) -> Answer:
        first = await Agent("Poet", model=ClientModel(max_tokens=9)).run(f"Praise {wish.dish}")
        second = await Agent("Critic", model=ClientModel()).run(f"Mend {first.output}")
        return Answer(text=second.output)

    @achieves_goal("The roots are listed")
    @action
    async def show_roots(self, wish: Wish) -> str:
        return ", ".join(f"{root.name} {root.uri}" for root in await list_client_roots())


@pytest.mark.parametrize("era", ERAS)
class TestTheModelOfTheClient:
    async def test_an_agent_uses_it(self, era: Era) -> None:
        poet = Agent("Poet", instructions="Be brief.", model=ClientModel(max_tokens=7))
        model = Model("Roses are red")
        async with connect_with_model(McpPublisher(Platform(ScriptedModel()), poet), era, model) as client:
            assert read(await client.call_tool("poet", {"request": "Write"})) == "Roses are red"
        (asked,) = model.asked
        assert (asked.max_tokens, asked.system_prompt) == (7, "Be brief.")
        assert [read_block(message) for message in asked.messages] == [("user", "Write")]

    async def test_an_action_uses_it_twice(self, era: Era) -> None:
        model = Model("good pie", "better pie")
        async with connect_with_model(McpPublisher(Platform(ScriptedModel()), Guest()), era, model) as client:
            result = await client.call_tool("greet", {"dish": "pie"})
        assert result.structured_content == {"text": "better pie"}
        assert [read_block(asked.messages[-1])[1] for asked in model.asked] == ["Praise pie", "Mend good pie"]

    async def test_a_typed_answer_is_described_in_words(self, era: Era) -> None:
        poet = Agent("Poet", output_type=Answer, model=ClientModel())
        model = Model('{"text": "yes"}')
        async with connect_with_model(McpPublisher(Platform(ScriptedModel()), poet), era, model) as client:
            assert (await client.call_tool("poet", {"request": "Write"})).structured_content == {"text": "yes"}

    async def test_a_client_without_a_model_gets_an_error_and_no_run_waits(self, era: Era, tmp_path: Path) -> None:
        platform = Platform(ScriptedModel(), store=SqliteStore(str(tmp_path / "runs.db")))
        publisher = McpPublisher(platform, Agent("Poet", model=ClientModel()))
        async with platform, connect(publisher, era, Person()) as client:
            if era == "auto":
                with pytest.raises(MCPError, match="needs a client with sampling"):
                    await client.call_tool("poet", {"request": "Write"})
            else:
                result = await client.call_tool("poet", {"request": "Write"})
                assert (result.is_error, read(result)) == (True, "This needs a client with sampling.")
            assert [run.status for run in await platform.runs()] == ["killed"]

    async def test_roots(self, era: Era) -> None:
        async with connect_with_model(McpPublisher(Platform(ScriptedModel()), Guest()), era, Model()) as client:
            assert read(await client.call_tool("show_roots", {"dish": "pie"})) == "Ann file:///home/ann"


def read_block(message: types.SamplingMessage) -> tuple[str, str]:
    block = message.content
    assert isinstance(block, types.TextContent)
    return message.role, block.text


async def test_the_answer_may_come_after_a_restart(tmp_path: Path) -> None:
    """Who is asked for the client's model outside of MCP waits, and anybody may give its answer."""
    store = str(tmp_path / "runs.db")

    def create() -> Platform:
        platform = Platform(ScriptedModel(), store=SqliteStore(store))
        return platform.register(Agent("Poet", model=ClientModel()))

    async with create() as platform:
        run = await platform.find_agent("Poet").run("Write", context=platform.context())
        assert run.status is RunStatus.WAITING
    async with create() as platform:
        done = await platform.respond(run.run_id, run.pending[0].id, "Roses are red")
        assert getattr(done, "output", None) == "Roses are red"


async def test_outside_of_runs_there_is_no_client() -> None:
    with pytest.raises(ConfigurationError, match="only by a run"):
        await list_client_roots()


@planned_agent(description="Asks under names.")
class Named:
    @achieves_goal("The name is known")
    @action
    async def ask_name(self, wish: Wish) -> str:
        name = await ask_human(Answer, "Who?", key="user_name")
        return f"{name.text} {await confirm(None, 'Sure?', key='is_sure')}"


async def test_a_key_names_the_request_and_answers_may_come_with_the_call() -> None:
    publisher = McpPublisher(Platform(ScriptedModel()), Named())
    async with connect(publisher, person=Person()) as client:
        asked = await client.session.call_tool("ask_name", {"dish": "x"}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        assert [*(asked.input_requests or {})] == ["user_name"]
        answers: types.InputResponses = {
            "user_name": types.ElicitResult(action="accept", content={"text": "Ann"}),
            "is_sure": types.ElicitResult(action="accept", content={"confirmed": True}),
            "unknown": types.ElicitResult(action="decline"),
        }
        done = await client.call_tool("ask_name", {"dish": "x"}, input_responses=answers)
        assert read(done) == "Ann True"


async def test_a_key_is_a_name() -> None:
    @planned_agent(description="Asks")
    class Wrong:
        @achieves_goal("done")
        @action
        async def ask(self, wish: Wish) -> str:
            return await ask_human(str, "Who?", key="a name")

    async with connect(McpPublisher(Platform(ScriptedModel()), Wrong())) as client:
        assert "the key is 'a name'" in read(await client.call_tool("ask", {"dish": "x"}))


async def write_review(season: str) -> str:
    """Review the menu."""
    taste = await ask_human(Answer, f"What is {season} for you?", key="taste")
    return f"Review it for {season}, which is {taste.text}."


@pytest.mark.parametrize("era", ERAS)
class TestPromptsThatAsk:
    @pytest.fixture
    def publisher(self) -> McpPublisher:
        return McpPublisher(Platform(ScriptedModel()), prompts=[ServedPrompt("review", write_review)])

    async def test_the_person_is_asked(self, era: Era, publisher: McpPublisher) -> None:
        person = Person({"text": "green"})
        async with connect(publisher, era, person) as client:
            prompt = await client.get_prompt("review", {"season": "spring"})
        block = prompt.messages[0].content
        assert isinstance(block, types.TextContent)
        assert block.text == "Review it for spring, which is green."
        assert person.asked[0].message.startswith("What is spring for you?")

    async def test_a_client_without_forms_gets_an_error(self, era: Era, publisher: McpPublisher) -> None:
        async with connect(publisher, era) as client:
            with pytest.raises(MCPError, match="The prompt asks a person"):
                await client.get_prompt("review", {"season": "spring"})


async def test_what_the_client_is_asked_is_kept_in_the_store(tmp_path: Path) -> None:
    store, secret = str(tmp_path / "runs.db"), "an example of a secret, long enough"

    def create() -> tuple[Platform, McpPublisher]:
        platform = Platform(ScriptedModel(), store=SqliteStore(store))
        return platform, McpPublisher(platform, Agent("Poet", model=ClientModel()), Named(), secret=secret)

    platform, publisher = create()
    states: list[str | None] = []
    async with platform, connect_with_model(publisher, "auto", Model()) as client:
        asked = await client.session.call_tool("poet", {"request": "Write"}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        states.append(asked.request_state)
    platform, publisher = create()
    model = Model("Roses are red")
    async with platform, connect_with_model(publisher, "auto", model) as client:
        done = await client.call_tool("poet", {"request": "Write"}, request_state=states[0])
        assert read(done) == "Roses are red"
    assert len(model.asked) == 1
