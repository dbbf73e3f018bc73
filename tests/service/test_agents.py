"""Agents by id: registered, found, asked."""

from __future__ import annotations

import asyncio
import base64

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    AgentService,
    AssistantMessage,
    Budget,
    Image,
    LlmOptions,
    ModelRouter,
    Platform,
    RouterAgent,
    UserInput,
    UserMessage,
    achieves_goal,
    action,
    handoff,
    planned_agent,
    runnable,
    tool,
)
from tactician.errors import (
    AgentNotFoundError,
    ConfigurationError,
    DeclarationError,
    MissingPromptVariable,
    UnknownModelError,
)
from tactician.events import Event
from tactician.llm import Deployment, LanguageModel, Message, Text
from tactician.loop import TextReceived, TurnStarted
from tactician.runs import BudgetError, RunCompleted
from tactician.testing import ScriptedModel, ToolCall

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n picture").decode()


def system_of(model: ScriptedModel, call: int = 0) -> str:
    first = model.calls[call].messages[0]
    assert first.role == "system"
    return first.text


async def test_a_registered_agent_answers() -> None:
    model = ScriptedModel("Ahoy, matey!")
    service = AgentService(model)
    service.register(Agent("Pirate Agent", id="pirate", model="gpt-5.4", instructions="You are a pirate."))
    result = await service.request_agent("pirate", "Hello!")
    assert result.output == "Ahoy, matey!"
    assert result.usage.total_tokens == 15
    assert (system_of(model), model.calls[0].prompt) == ("You are a pirate.", "Hello!")
    assert model.calls[0].options.model == "gpt-5.4"


def test_there_is_a_twin_for_programs_without_an_event_loop() -> None:
    service = AgentService(ScriptedModel("4", "5")).register(Agent("simple"))
    assert service.request_agent_sync("simple", "What is 2+2?").output == "4"
    assert service.request_model_sync("scripted", "2+3?", output_type=int).output == 5


async def test_agents_are_found_by_id_or_by_their_name_in_snake_case() -> None:
    service = AgentService(ScriptedModel()).register(Agent("Front Desk"), Agent("x", id="Desk 2"))
    assert set(service.agents) == {"front_desk", "Desk 2"}
    service.unregister("front_desk")
    assert set(service.agents) == {"Desk 2"}
    with pytest.raises(AgentNotFoundError, match="No agent is registered as 'front_desk'"):
        service.unregister("front_desk")


async def test_an_unknown_agent_is_an_error_that_knows_similar_ones() -> None:
    service = AgentService(ScriptedModel()).register(Agent("assistant"))
    with pytest.raises(AgentNotFoundError, match=r"'asistant'. Did you mean 'assistant'\? Registered: assistant"):
        await service.request_agent("asistant", "Hi")


def test_what_cannot_be_registered_is_one_error_and_then_nothing_is() -> None:
    service = AgentService(ScriptedModel()).register(Agent("a"))
    with pytest.raises(DeclarationError) as caught:
        service.register(Agent("b"), Agent("a"), Agent("b"), 7, Agent)
    assert len(caught.value.problems) == 4
    assert set(service.agents) == {"a"}


async def test_an_agent_can_be_registered_in_the_place_of_another() -> None:
    model = ScriptedModel("ok")
    service = AgentService(model).register(Agent("a", instructions="old"))
    service.register(Agent("a", instructions="new"), replace=True)
    await service.request_agent("a", "Hi")
    assert system_of(model) == "new"


class Greeting(BaseModel):
    text: str


@planned_agent(description="Greets")
class Greeter:
    @achieves_goal("Greet")
    @action
    async def greet(self, user_input: UserInput) -> Greeting:
        return Greeting(text=f"Hello {user_input.content}")


async def test_any_runnable_can_be_asked() -> None:
    async def shout(text: object) -> str:
        return f"{text}!"

    model = ScriptedModel("1", "sold")
    router = RouterAgent("Router", routes={"Sales": Agent("Sales")})
    service = AgentService(model).register(runnable(shout), router, Greeter())
    assert str((await service.request_agent("shout", "hey")).output).endswith("!")
    assert (await service.request_agent("router", "buy")).output == "sold"
    greeted = (await service.request_agent("greeter", "Ada")).output
    assert isinstance(greeted, Greeting)
    assert greeted.text == "Hello Ada"


async def test_history_comes_before_the_message() -> None:
    model = ScriptedModel("Your name is Alice.")
    service = AgentService(model).register(Agent("assistant"))
    history: list[Message] = [UserMessage("My name is Alice."), AssistantMessage((Text("Hello Alice."),))]
    await service.request_agent("assistant", "What is my name?", history=history)
    assert model.calls[0].prompt == "My name is Alice.\nHello Alice.\nWhat is my name?"
    with pytest.raises(ValueError, match="conversation_id or a history"):
        await service.request_agent("assistant", "Hi", history=history, conversation_id=service.create_conversation())


@pytest.mark.parametrize(
    ("picture", "image"),
    [
        (PNG, Image(data=PNG)),
        (base64.b64decode(PNG), Image(data=PNG)),
        ("https://example.org/a.png", Image(url="https://example.org/a.png")),
        (f"data:image/png;base64,{PNG}", Image(data=PNG)),
        (Image(url="x"), Image(url="x")),
        (b"\xff\xd8\xff", Image(data="/9j/", media_type="image/jpeg")),
        (b"GIF89a", Image(data="R0lGODlh", media_type="image/gif")),
        (b"RIFF0000WEBP", Image(data=base64.b64encode(b"RIFF0000WEBP").decode(), media_type="image/webp")),
    ],
)
async def test_images_are_a_part_of_the_message(picture: Image | str | bytes, image: Image) -> None:
    model = ScriptedModel("red")
    service = AgentService(model).register(Agent("vision", instructions="You are an image analyst."))
    await service.request_agent("vision", "What color is this?", images=[picture])
    asked = model.calls[0].messages[-1]
    assert isinstance(asked, UserMessage)
    assert asked.parts == (Text("What color is this?"), image)


async def test_images_without_a_message_of_the_user_are_one() -> None:
    model = ScriptedModel("red")
    service = AgentService(model).register(Agent("vision"))
    await service.request_agent("vision", AssistantMessage((Text("Show me."),)), images=[PNG])
    assert model.calls[0].messages[-1] == UserMessage((Image(data=PNG),))


@pytest.mark.parametrize("wrong", ["no base64!", "AAAA", b"plain", "data:image/png,raw", "data:text/plain;base64,AAAA"])
async def test_what_is_no_picture_is_an_error(wrong: str | bytes) -> None:
    model = ScriptedModel()
    service = AgentService(model).register(Agent("vision"))
    with pytest.raises(ValueError, match=r"picture|type"):
        await service.request_agent("vision", "What is this?", images=[wrong])
    assert model.calls == []


async def test_variables_are_filled_in_for_one_request_only() -> None:
    model = ScriptedModel("Bonjour", "Hallo")
    greeter = Agent("greeter", instructions="Greet {{ name }} in {{language}}.")
    service = AgentService(model).register(greeter)
    await service.request_agent("greeter", "{{name}}?", variables={"name": "Ada", "language": "French"})
    await service.request_agent("greeter", "Hi", variables={"name": "{{language}}", "language": "German"})
    assert system_of(model) == "Greet Ada in French."
    assert system_of(model, 1) == "Greet {{language}} in German."
    assert model.calls[0].prompt == "{{name}}?"
    assert greeter.instructions == "Greet {{ name }} in {{language}}."


async def test_concurrent_requests_share_no_variables() -> None:
    model = ScriptedModel(*["ok"] * 20)
    service = AgentService(model).register(Agent("greeter", instructions="Greet {{name}}."))
    await asyncio.gather(*(service.request_agent("greeter", f"{n}", variables={"name": n}) for n in range(20)))
    assert {(system_of(model, n), model.calls[n].prompt) for n in range(20)} == {
        (f"Greet {n}.", f"{n}") for n in range(20)
    }


@pytest.mark.parametrize("variables", [{}, {"name": None}, {"nam": "Ada"}])
async def test_a_variable_without_a_value_is_an_error_before_the_model_is_asked(variables: dict[str, object]) -> None:
    model = ScriptedModel()
    service = AgentService(model).register(Agent("Greeter", id="greeter", instructions="Greet {{name}}."))
    with pytest.raises(MissingPromptVariable) as caught:
        await service.request_agent("greeter", "Hi", variables=variables)
    assert (caught.value.agent_id, caught.value.variable) == ("greeter", "name")
    assert caught.value.provided_keys == tuple(variables)
    assert model.calls == []


async def test_an_agent_without_variables_is_used_as_it_is() -> None:
    used: list[object] = []

    class Watched(Agent[str]):
        @property
        def model(self) -> str | LlmOptions | LanguageModel | None:
            used.append(self)
            return super().model

    agent = Watched("a", instructions="plain")
    service = AgentService(ScriptedModel("ok")).register(agent)
    await service.request_agent("a", "Hi", variables={"name": "unused"})
    assert set(map(id, used)) == {id(agent)}


async def test_tools_can_be_replaced_while_a_request_is_answered() -> None:
    replaced: list[int] = []

    @tool
    def pin() -> str:
        """Pins a tool."""
        replaced.append(service.update_tools("worker", [pin, after]))
        return "pinned"

    @tool
    def after() -> str:
        """Comes later."""
        return "after"

    model = ScriptedModel(ToolCall("pin"), ToolCall("after"), "done")
    service = AgentService(model).register(Agent("worker", tools=[pin], instructions="Work for {{name}}."))
    result = await service.request_agent("worker", "go", variables={"name": "Ada"})
    assert result.output == "done"
    assert [[spec.name for spec in call.tools] for call in model.calls] == [["pin"], ["pin", "after"], ["pin", "after"]]
    assert replaced == [1]
    assert service.update_tools("worker", []) == 0


async def test_tools_of_what_is_no_agent_cannot_be_replaced() -> None:
    async def shout(text: str) -> str:
        return text

    service = AgentService(ScriptedModel()).register(runnable(shout))
    with pytest.raises(AgentNotFoundError, match="'shout' is a FunctionRunnable and not an Agent"):
        service.update_tools("shout", [])
    with pytest.raises(AgentNotFoundError, match="No agent is registered as 'nobody'"):
        service.update_tools("nobody", [])


async def test_a_budget_holds_for_the_request() -> None:
    @tool
    def look() -> str:
        """Looks."""
        return "nothing"

    service = AgentService(ScriptedModel(ToolCall("look"), "late")).register(Agent("a", tools=[look]))
    with pytest.raises(BudgetError, match="1 turn"):
        await service.request_agent("a", "Hi", budget=Budget(turns=1))


async def test_everybody_who_listens_hears_every_request() -> None:
    heard: list[Event] = []
    service = AgentService(Platform(ScriptedModel("one two"), on_event=heard.append)).register(Agent("a"))
    streamed = [event async for event in service.stream_agent("a", "Hi")]
    assert [one.text for one in streamed if isinstance(one, TextReceived)] == ["one ", "two"]
    assert isinstance(streamed[-1], RunCompleted)
    assert [one.path for one in heard if isinstance(one, TurnStarted)] == [("a", "a")]


async def test_agents_beside_the_service_can_use_its_models() -> None:
    service = AgentService(ScriptedModel("hi"))
    assert (await Agent("a").run("Hello", context=service.context())).output == "hi"


async def test_a_handoff_of_an_agent_works_as_ever() -> None:
    model = ScriptedModel(ToolCall("transfer_to_billing"), "paid")
    service = AgentService(model).register(Agent("desk", handoffs=[handoff(Agent("billing"))]))
    result = await service.request_agent("desk", "pay", variables={})
    assert (result.output, result.delegation_path) == ("paid", ("desk", "billing"))


def router(*names: str, model: ScriptedModel) -> ModelRouter:
    return ModelRouter([Deployment("main", name, model) for name in names])


@pytest.mark.parametrize(
    ("asked", "model_name", "native"),
    [
        ("gpt-5.4", "gpt-5.4", ()),
        ("gpt-5.4-websearch", "gpt-5.4", ("web_search",)),
        ("gpt-5.4-codeinterpreter", "gpt-5.4", ("code_interpreter",)),
        ("odd-websearch", "odd-websearch", ()),
    ],
)
async def test_a_served_model_answers_without_registration(
    asked: str, model_name: str, native: tuple[str, ...]
) -> None:
    model = ScriptedModel("hi")
    service = AgentService(router("gpt-5.4", "odd", "odd-websearch", model=model))
    assert (await service.request_agent(asked, "Hello")).output == "hi"
    assert (model.calls[0].options.model, model.calls[0].options.native_tools) == (model_name, native)


async def test_a_registered_agent_comes_before_a_model_of_its_name() -> None:
    model = ScriptedModel("hi")
    service = AgentService(router("gpt-5.4", model=model)).register(Agent("gpt-5.4", id="gpt-5.4", instructions="Me."))
    await service.request_agent("gpt-5.4", "Hello")
    assert system_of(model) == "Me."


@pytest.mark.parametrize("asked", ["gpt-9", "gpt-9-websearch", "-websearch"])
async def test_a_model_that_nobody_serves_is_no_agent(asked: str) -> None:
    service = AgentService(router("gpt-5.4", model=ScriptedModel()))
    with pytest.raises(AgentNotFoundError):
        await service.request_agent(asked, "Hello")


class Shop:
    """A source of models of one's own."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model

    def resolve(self, options: LlmOptions) -> LanguageModel:
        if options.model == "house":
            return self.model
        raise UnknownModelError("we have house only")


async def test_any_source_can_serve_models_without_registration() -> None:
    model = ScriptedModel("plain", "searched")
    service = AgentService(Shop(model))
    assert (await service.request_agent("house", "Hi")).output == "plain"
    assert (await service.request_agent("house-websearch", "Hi")).output == "searched"
    assert model.calls[1].options.native_tools == ("web_search",)
    with pytest.raises(AgentNotFoundError):
        await service.request_agent("castle", "Hi")


async def test_an_agent_keeps_to_its_instances() -> None:
    first, second = ScriptedModel(), ScriptedModel("second")
    models = ModelRouter([Deployment("one", "gpt-5.4", first), Deployment("two", "gpt-5.4", second)])
    service = AgentService(models).register(Agent("a", model=LlmOptions(model="gpt-5.4", instances=("two",))))
    assert (await service.request_agent("a", "Hi")).output == "second"


async def test_a_service_without_a_folder_cannot_read_it_again() -> None:
    with pytest.raises(ConfigurationError, match="no folder of agents"):
        AgentService(ScriptedModel()).reload()
