"""Server for the conformance suite: the tools and prompts that it calls, made of agents and tools of a platform."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Literal

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field, JsonValue

from tactician import (
    Agent,
    Export,
    Image,
    Platform,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
    runnable,
    tool,
)
from tactician.agents.function import FunctionRunnable
from tactician.errors import ToolError
from tactician.llm import Document, Text, UserMessage
from tactician.llm.model import JsonSchema
from tactician.serve import ClientModel, McpPublisher, McpResource, ServedPrompt, list_client_roots
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tactician.tools import DeclaredTool, RunnableTool, ToolOutput

DOT = Image(data="iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


@tool
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@tool
def test_image_content() -> ToolOutput:
    """Return a picture."""
    return ToolOutput("", (DOT,))


@tool
def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


class Nothing(BaseModel):
    pass


class Message(BaseModel):
    message: str = "Please answer"


class Region(BaseModel):
    region: str = Field(json_schema_extra={"x-mcp-header": "Region"})


class User(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Name(BaseModel):
    name: str


class Color(BaseModel):
    color: str


class Confirmed(BaseModel):
    ok: bool


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


TITLED: list[JsonValue] = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
LEGACY: dict[str, JsonValue] = {
    "enum": ["opt1", "opt2", "opt3"],
    "enumNames": ["Option One", "Option Two", "Option Three"],
}
Plain = Literal["option1", "option2", "option3"]


class Choices(BaseModel):
    untitledSingle: Plain  # noqa: N815 - names of the suite
    titledSingle: str = Field(json_schema_extra={"oneOf": [*TITLED]})  # noqa: N815
    legacyEnum: str = Field(json_schema_extra={**LEGACY})  # noqa: N815
    untitledMulti: list[Plain]  # noqa: N815
    titledMulti: list[Annotated[str, Field(json_schema_extra={"anyOf": [*TITLED]})]]  # noqa: N815


def export(name: str) -> Export:
    return Export(remote=True, name=name, starting_input_types=[Nothing])


@planned_agent(description="Asks the person at the client.")
class Asking:
    @achieves_goal("The user is known", export=Export(remote=True, name="test_elicitation"))
    @action
    async def ask(self, message: Message) -> str:
        user = await ask_human(User, message.message)
        return f"User response: {user.username}, {user.email}"

    @achieves_goal("The defaults are checked", export=export("test_elicitation_sep1034_defaults"))
    @action
    async def ask_with_defaults(self, nothing: Nothing) -> int:
        return (await ask_human(Defaults, "Please review")).age

    @achieves_goal("The choices are made", export=export("test_elicitation_sep1330_enums"))
    @action
    async def ask_with_choices(self, nothing: Nothing) -> float:
        return float(len((await ask_human(Choices, "Please choose")).untitledMulti))

    @achieves_goal("The region is known", export=Export(remote=True, name="test_region"))
    @action
    def find_region(self, region: Region) -> bytes:
        return region.region.encode()


class Asked(BaseModel):
    text: str


@planned_agent(description="Asks for a name.")
class AskingName:
    @achieves_goal("The name is known", export=export("test_input_required_result_elicitation"))
    @action
    async def ask_name(self, nothing: Nothing) -> Asked:
        return Asked(text=f"Hello, {(await ask_human(Name, 'What is your name?', key='user_name')).name}!")


@planned_agent(description="Asks twice.")
class AskingTwice:
    @achieves_goal("Name and color are known", export=export("test_input_required_result_multi_round"))
    @action
    async def ask_twice(self, nothing: Nothing) -> Asked:
        name = await ask_human(Name, "Step 1: What is your name?")
        color = await ask_human(Color, "Step 2: What is your favorite color?")
        return Asked(text=f"{name.name} likes {color.color}")


@planned_agent(description="Asks for a confirmation.")
class AskingConfirmation:
    @achieves_goal("It is confirmed", export=export("test_input_required_result_request_state"))
    @action
    async def ask_state(self, nothing: Nothing) -> Asked:
        await ask_human(Confirmed, "Please confirm")
        return Asked(text="state-ok")


@planned_agent(description="Asks for a confirmation, with a state that nobody changes.")
class AskingSafely:
    @achieves_goal("It is confirmed", export=export("test_input_required_result_tampered_state"))
    @action
    async def ask_safely(self, nothing: Nothing) -> Asked:
        await ask_human(Confirmed, "Please confirm")
        return Asked(text="confirmed")


@planned_agent(description="Asks in a stream.")
class AskingInAStream:
    @achieves_goal("It is confirmed", export=export("test_streaming_elicitation"))
    @action
    async def ask_in_a_stream(self, nothing: Nothing) -> Asked:
        await ask_human(Confirmed, "Please confirm")
        return Asked(text="confirmed")


@planned_agent(description="Takes its time.")
class Working:
    @achieves_goal("The work is done", export=export("test_tool_with_progress"))
    @action
    async def work(self, nothing: Nothing) -> Asked:
        await asyncio.sleep(0.05)
        return Asked(text="done")


@planned_agent(description="Works, and its events are log messages.")
class Logging:
    @achieves_goal("The work is done", export=export("test_tool_with_logging"))
    @action
    async def work_with_logs(self, nothing: Nothing) -> Asked:
        await asyncio.sleep(0.05)
        return Asked(text="done")


class Compute(BaseModel):
    seconds: float
    label: str = ""


class Deletion(BaseModel):
    filename: str


class Confirm(BaseModel):
    confirm: bool


async def compute(task: Compute) -> str:
    """Compute slowly."""
    await asyncio.sleep(task.seconds)
    return f"{task.label} is computed"


async def greet(person: Name) -> str:
    """Greet somebody."""
    return f"Hello, {person.name}!"


async def fail(nothing: Nothing) -> str:
    """Fail after a while."""
    await asyncio.sleep(1)
    raise ToolError("This job intentionally fails")


async def break_protocol(nothing: Nothing) -> str:
    """Fail as a request fails."""
    await asyncio.sleep(1)
    raise MCPError(types.INTERNAL_ERROR, "This job breaks intentionally")


@planned_agent(description="Asks while a task runs.")
class AskingInTasks:
    @achieves_goal("It is deleted", export=Export(remote=True, name="confirm_delete"))
    @action
    async def delete(self, file: Deletion) -> Asked:
        await asyncio.sleep(1)
        confirmed = await ask_human(Confirm, f"Delete {file.filename}?")
        return Asked(text=f"deleted: {confirmed.confirm}")

    @achieves_goal("Both are known", export=export("multi_input"))
    @action
    async def ask_both(self, nothing: Nothing) -> str:
        await asyncio.sleep(1)
        both = await asyncio.gather(ask_human(Name, "Your name?"), ask_human(Confirm, "Sure?"), return_exceptions=False)
        return f"{both[0].name}: {both[1].confirm}"

    @achieves_goal("Somebody is known", export=export("test_tool_with_task"))
    @action
    async def ask_and_work(self, nothing: Nothing) -> bytes:
        name = (await ask_human(Name, "What is your name?")).name
        await asyncio.sleep(1)
        return name.encode()


class Prompt(BaseModel):
    prompt: str


class Context(BaseModel):
    context: str


async def sample(prompt: Prompt) -> Asked:
    """Ask the model of the client."""
    answer = await Agent("Sampler", model=ClientModel(max_tokens=100)).run(prompt.prompt)
    return Asked(text=f"LLM response: {answer.output}")


async def ask_capital(nothing: Nothing) -> Asked:
    return await sample(Prompt(prompt="What is the capital of France?"))


async def show_roots(nothing: Nothing) -> Asked:
    return Asked(text=", ".join(root.uri for root in await list_client_roots()))


@planned_agent(description="Asks several at once.")
class AskingSeveral:
    @achieves_goal("All are known", export=export("test_input_required_result_multiple_inputs"))
    @action
    async def ask_all(self, nothing: Nothing) -> Asked:
        name = ask_human(Name, "What is your name?", key="user_name")
        greeting = Agent("Greeter", model=ClientModel(max_tokens=50)).run("Generate a greeting")
        given = await asyncio.gather(name, greeting, list_client_roots(), return_exceptions=True)
        return Asked(text=str(find_results(given)))

    @achieves_goal("What the client can give", export=export("test_input_required_result_capabilities"))
    @action
    async def ask_two(self, nothing: Nothing) -> float:
        name = ask_human(Name, "What is your name?", key="user_name")
        greeting = Agent("Greeter", model=ClientModel(max_tokens=50)).run("Generate a greeting")
        return float(len(find_results(await asyncio.gather(name, greeting, return_exceptions=True))))


def find_results(given: tuple[object, ...]) -> tuple[object, ...]:
    """The results of what ran side by side, once nothing waits."""
    for one in given:
        if isinstance(one, BaseException):
            raise one
    return given


async def write_with_context() -> str:
    """Ask what the prompt is about."""
    return f"Talk about {(await ask_human(Context, 'What context should the prompt use?', key='user_context')).context}"


@tool
async def test_reconnection() -> str:
    """Take a moment."""
    await asyncio.sleep(0.2)
    return "done"


@tool
def test_logging_tool() -> str:
    """Do something that a log would have."""
    return "done"


@tool
def test_trigger_tool_change() -> str:
    """Register another agent, so that the lists change."""
    platform.register(_create_agent())
    return "changed"


@tool
def test_trigger_prompt_change() -> str:
    """Register another agent, so that the lists change."""
    platform.register(_create_agent())
    return "changed"


def _create_agent() -> FunctionRunnable[str]:
    return runnable(_echo, name=f"Agent {len(platform.agents)}", description="Is new.")


async def _echo(input: object) -> str:
    return str(input)


SCHEMA: JsonSchema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _describe_entry(id: str) -> str:
    return f'{{"id": "{id}"}}'


class Arguments(BaseModel):
    arg1: str
    arg2: str


def create_file(text: str, media_type: str, url: str) -> Document:
    return replace(Document.from_bytes(text.encode(), media_type), url=url)


async def _play(input: Nothing) -> Document:
    return Document.from_bytes(b"RIFF$\0\0\0WAVEfmt ", "audio/wav", "beep.wav")


async def _embed(input: Nothing) -> Document:
    return create_file("This is an embedded resource content.", "text/plain", "test://embedded-resource")


async def _mix(input: Nothing) -> list[str | Image | Document]:
    resource = create_file('{"test":"data","value":123}', "application/json", "test://mixed-content-resource")
    return ["Multiple content types test:", DOT, resource]


def write_with_image() -> UserMessage:
    """Ask about a picture."""
    return UserMessage((DOT, Text("Please analyze the image above.")))


def write_with_resource(resourceUri: str) -> list[str | UserMessage]:  # noqa: N803 - a name of the suite
    """Ask about a resource."""
    embedded = create_file("Embedded resource content for testing.", "text/plain", resourceUri)
    return [UserMessage((embedded,)), "Please process the embedded resource above."]


def publish(
    name: str, function: Callable[..., Awaitable[object]], arguments: type[BaseModel] = Nothing
) -> RunnableTool[BaseModel]:
    return RunnableTool(runnable(function, name=name, description="Returns content."), name, arguments=arguments)


platform = Platform(ScriptedModel(), store=MemoryStore()).register(
    Asking(),
    AskingName(),
    AskingTwice(),
    AskingConfirmation(),
    AskingSafely(),
    AskingInAStream(),
    Working(),
    Logging(),
    AskingInTasks(),
    AskingSeveral(),
)
publisher = McpPublisher(
    platform,
    [test_simple_text, test_image_content, test_error_handling, test_logging_tool, test_reconnection],
    [test_trigger_tool_change, test_trigger_prompt_change],
    DeclaredTool("json_schema_2020_12_tool", "Has a rich schema", SCHEMA, execute=lambda call: "done"),
    RunnableTool(
        runnable(_echo, name="Simple", description="A simple prompt."), "test_simple_prompt", arguments=Nothing
    ),
    RunnableTool(
        runnable(_echo, name="Arguments", description="A prompt with arguments."),
        "test_prompt_with_arguments",
        arguments=Arguments,
    ),
    publish("test_audio_content", _play),
    publish("test_embedded_resource", _embed),
    publish("test_multiple_content_types", _mix),
    publish("test_sampling", sample, Prompt),
    publish("test_missing_capability", ask_capital),
    publish("test_input_required_result_sampling", ask_capital),
    publish("test_input_required_result_list_roots", show_roots),
    publish("greet", greet, Name),
    publish("slow_compute", compute, Compute),
    publish("failing_job", fail),
    publish("protocol_error_job", break_protocol),
    task_only=["failing_job", "test_tool_with_task"],
    prompts=[
        ServedPrompt("test_input_required_result_prompt", write_with_context),
        ServedPrompt("test_prompt_with_image", write_with_image),
        ServedPrompt("test_prompt_with_embedded_resource", write_with_resource),
    ],
    resources=[
        McpResource("test://watched-resource", lambda: "Watched."),
        McpResource("test://static-text", lambda: "This is the content of the static text resource."),
        McpResource("test://static-binary", lambda: base64.b64decode(DOT.data or ""), mime_type="image/png"),
        McpResource("test://template/{id}/data", _describe_entry, mime_type="application/json"),
    ],
)
