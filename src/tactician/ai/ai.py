"""`Ai`: a typed call to a model, with a fluent interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, TypeVar, cast

from typing_extensions import TypeForm

from tactician.ai.prompt_parts import attach_images, format_example, generate_example
from tactician.ai.settings import AiSettings
from tactician.conversation import Conversation
from tactician.errors import ConfigurationError
from tactician.events import Event
from tactician.frozen import frozen
from tactician.llm import AssistantMessage, Image, LanguageModel, Message, RoutingOptions, Text, Thinking
from tactician.llm.model_sources import MediaModelSource, ModelSource, as_media_source
from tactician.loop import output_type
from tactician.loop.output import OutputType
from tactician.loop.turns import TurnLoop
from tactician.prompts import LlmReference
from tactician.prompts.contributor_adapters import build_instructions
from tactician.runs import Input, OutputError, RunContext, RunResult
from tactician.runs.context.threads import run_blocking
from tactician.runs.reporting import report_model_call
from tactician.runs.runnable import messages_of, stream_events
from tactician.tools import as_tool
from tactician.tools.group_registry import load_group_tools
from tactician.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from tactician.llm.embeddings.model import Vector

T = TypeVar("T")


@frozen
class Ai(AiSettings):
    """Model with the settings of a call. Every `with_...` returns a changed copy.

    Created by `Ai.default()`, from `Ai.over(model)`, or passed as a parameter of an action.
    """

    @classmethod
    def default(cls) -> Ai:
        """Return the models of the current run.

        Outside of runs they come from `tactician.toml` and the environment, else the embedded model.
        """
        return cls.__from_run__(RunContext.current())

    @classmethod
    def __from_run__(cls, run: RunContext) -> Ai:
        """Return the models of a run; inside an action, with the tools that the action has."""
        run_ai = run.find(Ai)
        return Ai(run) if run_ai is None else replace(run_ai, context=run)

    @classmethod
    def over(cls, models: ModelSource | LanguageModel) -> Ai:
        """Return an `Ai` with exactly these models, or with this model for every name."""
        return cls(RunContext.over(models))

    async def generate_text(self, prompt: Input) -> str:
        """Return the model's answer as plain text.

        Raises:
            ModelError: when the model cannot be called.
            TurnLimitError: when it calls tools without an end.
        """
        return (await self._run(output_type(str), prompt)).output

    def generate_text_sync(self, prompt: Input) -> str:
        """Return the model's answer as plain text, in a program without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .generate_text(...)` there.
        """
        return run_blocking(self.generate_text(prompt))

    async def create(self, kind: TypeForm[T], prompt: Input) -> T:
        """Return an object of a type: a pydantic model, a dataclass, an enum, a list, a number ...

        An answer that is not valid goes back to the model with the reason, `max_attempts` times in all.

        Raises:
            OutputError: when no answer was valid; it holds the last answer.
            ModelError: when the model cannot be called.
        """
        return (await self._run(output_type(kind), prompt)).output

    def create_sync(self, kind: TypeForm[T], prompt: Input) -> T:
        """Return an object of a type, in a program without an event loop; see `create`."""
        return run_blocking(self.create(kind, prompt))

    async def create_if_possible(self, kind: TypeForm[T], prompt: Input) -> T | None:
        """Return an object of a type, or `None` when the prompt lacks information or no answer is valid.

        Raises:
            ModelError: when the model cannot be called.
        """
        optional: OutputType[T | None] = output_type(kind | None)  # type: ignore[arg-type]  # a union is not a class
        hesitant = self.with_system_prompt("When the input does not say enough, the value is null. Invent nothing.")
        try:
            return (await hesitant._run(optional, prompt)).output
        except OutputError:
            return None

    async def evaluate_condition(self, condition: str, subject: str) -> bool:
        """Return whether a condition holds for a text, in the model's judgement.

        Raises:
            OutputError: when the model gives no judgement.
            ModelError: when the model cannot be called.
        """
        return await self.create(bool, f"Is this condition true: {condition}?\n\n<subject>\n{subject}\n</subject>")

    def stream_objects(
        self, kind: TypeForm[T], prompt: Input, *, timeout: float | None = None
    ) -> AsyncGenerator[Thinking | T]:
        """Stream objects of a type as soon as the model has written each, and its thinking.

        Models without JSON schemas of their own give all objects at the end.

        Args:
            kind: the type.
            prompt: the prompt.
            timeout: seconds that the whole stream may take; no limit, when `None`.

        Raises:
            OutputError: when no answer was valid.
            StreamTimeoutError: when it took too long.
            ModelError: when the model cannot be called.
        """
        from tactician.ai.streams import ItemReader, select_own_turns

        whole = cast("type[object]", list[kind])  # type: ignore[valid-type]  # known at runtime only
        events = self.stream(whole, prompt, timeout=timeout)
        return ItemReader(output_type(kind), len(self.context.path)).read(select_own_turns(events, self.context.run_id))

    def stream_text(self, prompt: Input, *, timeout: float | None = None) -> AsyncGenerator[str]:
        """Stream the model's answer as plain text, as it comes.

        Text that the model writes before it calls a tool is a paragraph of its own.

        Args:
            prompt: the prompt.
            timeout: seconds that the whole stream may take; no limit, when `None`.

        Raises:
            StreamTimeoutError: when it took too long.
            ModelError: when the model cannot be called.
        """
        from tactician.ai.streams import select_own_turns
        from tactician.loop import read_answer_text

        events = self.stream(str, prompt, timeout=timeout)
        return read_answer_text(select_own_turns(events, self.context.run_id), len(self.context.path))

    def stream(self, kind: type[object], prompt: Input, *, timeout: float | None = None) -> AsyncGenerator[Event]:
        """Stream all events of the creation of an object: text, thinking, partial objects, calls of tools.

        The last event is `RunCompleted`; the `output` of its result is what `create` returns.

        Args:
            kind: the type of the object; `str` for text.
            prompt: the prompt.
            timeout: seconds that the whole stream may take; no limit, when `None`.

        Raises:
            OutputError: when no answer was valid.
            StreamTimeoutError: when it took too long.
            ModelError: when the model cannot be called.
        """

        async def run(heard: RunContext) -> RunResult[object]:
            return await replace(self, context=heard)._run(output_type(kind), prompt)

        return stream_events(run, self.context, limit=timeout)

    async def respond(
        self, conversation: Sequence[Message] | Conversation, values: Mapping[str, object] | None = None
    ) -> AssistantMessage:
        """Return the next message of a conversation, without adding it.

        Args:
            conversation: the conversation.
            values: the values of the variables of the template, which is the system prompt then: see `with_template`.

        Raises:
            ConfigurationError: when there are values without a template, or no text can be made of the template.
            ModelError: when the model cannot be called.
        """
        messages = conversation.messages if isinstance(conversation, Conversation) else conversation
        inside = await self._with_rendered_prompt(values)
        text = (await inside._run(output_type(str), list(messages))).output
        return AssistantMessage((Text(text),))

    async def _with_rendered_prompt(self, values: Mapping[str, object] | None) -> Self:
        """Return the same with its template, if any, as a part of the system prompt."""
        if self._template is None:
            if values is not None:
                raise ConfigurationError("values need a template: set it with with_template(...)")
            return self
        return replace(self, _template=None).with_system_prompt(await self._render(values or {}))

    async def embed(self, text: str, *, model: str | None = None) -> Vector:
        """Return the embedding of a text, by the embedding model with this name, else the default.

        Raises:
            ConfigurationError: when there is no such model.
            ModelError: when it cannot be called.
        """
        return (await self.embed_all((text,), model=model))[0]

    async def embed_all(self, texts: Sequence[str], *, model: str | None = None) -> tuple[Vector, ...]:
        """Return an embedding for each text, in order.

        Raises:
            ConfigurationError: when there is no such model.
            ModelError: when it cannot be called.
        """
        from tactician.llm.embeddings.model import EmbeddingOptions

        options = EmbeddingOptions(timeout=self.options.timeout)
        embedder = self._media_models.embedding_model(model, self._routing)
        response = await report_model_call(embedder.embed(texts, options), self.context, "embeddings", embedder.name)
        self.context.tally.add(response.usage)
        return response.vectors

    async def image(self, prompt: str, *, model: str | None = None) -> Image:
        """Generate an image for the prompt, with the image model of this name, else the default.

        Raises:
            ConfigurationError: when there is no such model.
            ModelError: when it cannot be called.
        """
        from tactician.llm.images import ImageOptions

        image_model = self._media_models.image_model(model, self._routing)
        generating = image_model.generate(prompt, options=ImageOptions(timeout=self.options.timeout))
        response = await report_model_call(generating, self.context, "images", image_model.name)
        self.context.tally.add(response.usage)
        return response.images[0]

    @property
    def _media_models(self) -> MediaModelSource:
        models: object = self._models
        return models if isinstance(models, MediaModelSource) else as_media_source(self.context.models)

    @property
    def _routing(self) -> RoutingOptions:
        """The instances and the session of the options or of the surrounding agent, also for embeddings and images."""
        options = self.options.with_defaults(self.context.pins)
        return RoutingOptions(instances=options.instances, session=options.session, observer=self.context.emitter)

    async def _run(self, output: OutputType[T], prompt: Input) -> RunResult[T]:
        asked = prompt if self._template is None else await self._render(prompt)
        model, options = self.context.find_model(self.options, self._models)
        loop = TurnLoop(
            model,
            output,
            self.context.step("ai"),
            instructions=await build_instructions(
                (*self._system, *self._format_examples(output)), self._contributors, self.context
            ),
            tools=await self._load_toolbox(),
            options=options,
            policy=self.policy,
        )
        return await loop.run(attach_images(messages_of(asked), self._images))

    async def _render(self, values: object) -> str:
        from tactician.prompts.templates import render_template

        assert self._template is not None, "callers look first"
        return await render_template(self._template, values)

    async def _load_toolbox(self) -> Toolbox:
        grouped = await load_group_tools(self._groups, self.context) if self._groups else ()
        references = (contributor for contributor in self._contributors if isinstance(contributor, LlmReference))
        looked_up = (tool for reference in references for tool in reference.named_tools)
        return Toolbox(map(as_tool, (*self._tools, *looked_up, *grouped)))

    def _format_examples(self, output: OutputType[T]) -> Sequence[str]:
        if self._examples or not self._has_generated_example:
            return tuple(map(format_example, self._examples))
        return generate_example(output)
