"""`LanguageModel` over any model of pydantic-ai, which is imported when the first model is created."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tactician.errors import ConfigurationError, MissingExtraError
from tactician.extras import describe_install
from tactician.llm.model import Delta, Features, ModelRequest, ModelResponse
from tactician.llm.remote import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from pydantic_ai.models import Model

INSTALL_HINT: Final = describe_install("pydantic-ai")


class PydanticAiModel:
    """Model of pydantic-ai (Bedrock, Vertex, Cohere, Groq ...) as a `LanguageModel`.

    Tactician does the retries: the provider's SDK does none, unless the model's own settings
    specify their number.

    Args:
        model: a pydantic-ai model, or its name there, such as `"bedrock:amazon.nova-pro-v1:0"`.
        timeout: seconds for a call, or for each wait of a stream, if the options have no timeout.

    Raises:
        MissingExtraError: when pydantic-ai, or the SDK that the model needs, is not installed.
        ConfigurationError: when pydantic-ai knows no such model, or its key is not set.
    """

    def __init__(self, model: Model | str, *, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._model = _infer_model(model)
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"PydanticAiModel({self.name!r})"

    @property
    def name(self) -> str:
        """Provider and model, for example `bedrock:amazon.nova-pro-v1:0`."""
        return self._model.model_id

    @property
    def features(self) -> Features:
        """Native features of the model, as its pydantic-ai profile says."""
        profile = self._model.profile
        return Features(
            tools=profile.get("supports_tools", True),
            json_schema=profile.get("supports_json_schema_output", False),
            images=profile.get("supports_image_input", True),
        )

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Call the model, and return its answer.

        Raises:
            ModelError: of the class that matches the failure.
        """
        from pydantic_ai.direct import model_request

        from tactician.llm.pydantic_ai_adapter import requests, responses

        seconds = request.options.timeout or self._timeout
        with self._convert_errors(seconds):
            call = requests.encode(request, self._model)
            async with asyncio.timeout(seconds):
                answer = await model_request(
                    self._model,
                    call.messages,
                    model_settings=call.settings,
                    model_request_parameters=call.parameters,
                )
        return responses.decode(answer, self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the deltas as they come, then the response.

        Raises:
            ModelError: of the class that matches the failure.
        """
        from pydantic_ai.direct import model_request_stream

        from tactician.llm.pydantic_ai_adapter import requests, responses

        seconds = request.options.timeout or self._timeout
        with self._convert_errors(seconds):
            call = requests.encode(request, self._model)
            opening = model_request_stream(
                self._model, call.messages, model_settings=call.settings, model_request_parameters=call.parameters
            )
            decoder = responses.PydanticAiStreamDecoder()
            async with responses.open_stream(opening, seconds) as events:
                iterator = aiter(events)
                while (event := await responses.next_event(iterator, seconds)) is not None:
                    if (delta := decoder.feed(event)) is not None:
                        yield delta
                answer = events.get()
        yield responses.decode(answer, self.name)

    @contextmanager
    def _convert_errors(self, seconds: float) -> Iterator[None]:
        from tactician.llm.pydantic_ai_adapter import responses

        try:
            yield
        except responses.KNOWN_ERRORS as error:
            # An SDK's error can hold the key: so it is not shown as the cause, and its text comes without the key.
            raise responses.convert_error(error, self._model, seconds) from None


def _infer_model(model: Model | str) -> Model:
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as error:
        raise MissingExtraError(f"pydantic-ai is not installed. {INSTALL_HINT}") from error
    try:
        return infer_model(model)
    except ImportError as error:
        raise MissingExtraError(f"{model} needs an SDK that is not installed: {error}") from error
    except (UserError, ValueError) as error:
        raise ConfigurationError(f"{model}: {error}") from error
