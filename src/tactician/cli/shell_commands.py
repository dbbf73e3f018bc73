"""Commands of the shell: typed functions, whose signature says what people type."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from types import UnionType
from typing import Annotated, Final, Literal, TypeVar, Union, cast, get_args, get_origin, overload

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.tools.signature import parse_docstring, resolve_hints

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])
OWN_GROUP: Final = "your commands"
_MARK: Final = "__tactician_shell_command__"
_NO_DEFAULT: Final = inspect.Parameter.empty
_VARIADIC: Final = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


@frozen
class ShellOption:
    """Details of a parameter of a shell command, as in `Annotated[bool, ShellOption("-l", "Print all of it.")]`.

    Attributes:
        short: short form, such as `"-l"`.
        help: purpose; that in the docstring by default.
    """

    short: str = ""
    help: str = ""


@frozen
class ShellParameter:
    """Parameter of a shell command.

    Attributes:
        name: name of the parameter of the function.
        kind: its type; the type of an item, when it takes all remaining words.
        default: its default, unless it is required.
        takes_rest: true when it takes all remaining words.
        is_option: true when only its name introduces it, and not its place.
        short: short form of the option.
        help: its purpose.
    """

    name: str
    kind: object
    default: object = _NO_DEFAULT
    takes_rest: bool = False
    is_option: bool = False
    short: str = ""
    help: str = ""

    @property
    def is_required(self) -> bool:
        """True when it has no default."""
        return self.default is _NO_DEFAULT

    @property
    def is_flag(self) -> bool:
        """True for an option without a value."""
        return self.kind is bool and not self.is_required

    @property
    def option(self) -> str:
        """Long form of the option. A flag that is on by default is turned off by its option."""
        name = self.name.strip("_").replace("_", "-")
        return f"--no-{name}" if self.is_flag and self.default is True else f"--{name}"

    @property
    def choices(self) -> tuple[str, ...]:
        """All values, where the type lists them."""
        for kind in _list_alternatives(self.kind):
            if get_origin(kind) is Literal:
                return tuple(map(str, get_args(kind)))
            if isinstance(kind, type) and issubclass(kind, Enum):
                return tuple(str(member.value) for member in kind)
        return ()

    def parse(self, text: str) -> object:
        """Return the value that a word stands for: text as it is, anything else as its type reads it, or as JSON.

        Raises:
            ValueError: when it stands for none; the message says why.
        """
        if str in _list_alternatives(self.kind):
            return text
        adapter = _create_adapter(self.kind)
        try:
            return adapter.validate_strings(text)
        except ValidationError as error:
            try:
                return adapter.validate_json(text)
            except ValidationError:
                problem = error.errors(include_url=False)[0]["msg"]
                raise ValueError(f"{text!r}: {problem[:1].lower()}{problem[1:]}") from None


@frozen
class ShellCommand:
    """Command of the shell.

    Attributes:
        name: name that people type.
        function: function that carries it out. It may return what is printed, or an awaitable of that.
        description: its purpose.
        parameters: what people type behind the name.
        services: names of the parameters that the shell itself fills in, with their types.
        aliases: other names.
        group: heading in the list of commands.
    """

    name: str
    function: Callable[..., object]
    description: str
    parameters: tuple[ShellParameter, ...]
    services: Mapping[str, type]
    aliases: tuple[str, ...] = ()
    group: str = OWN_GROUP

    @property
    def usage(self) -> str:
        """Its name, with what people type behind it."""
        places = [f"{p.name.upper()}{'...' if p.takes_rest else ''}" for p in self.parameters if not p.is_option]
        needed = [p.is_required for p in self.parameters if not p.is_option]
        shown = (place if is_needed else f"[{place}]" for place, is_needed in zip(places, needed, strict=True))
        return " ".join((self.name, *shown, *(["[options]"] if any(self.options) else [])))

    @property
    def options(self) -> tuple[ShellParameter, ...]:
        """Parameters that can be typed as options."""
        return tuple(p for p in self.parameters if p.is_option or not (p.is_required or p.takes_rest))


@overload
def shell_command(function: FunctionT, /) -> FunctionT: ...
@overload
def shell_command(*, name: str | None = None, aliases: Iterable[str] = ()) -> Callable[[FunctionT], FunctionT]: ...
def shell_command(
    function: FunctionT | None = None, /, *, name: str | None = None, aliases: Iterable[str] = ()
) -> FunctionT | Callable[[FunctionT], FunctionT]:
    """Make a function a command of `tactician shell`, when the shell loads its file.

    A parameter without a default is an argument, in order; one with a default is an option too, as in `--id 5`. A flag
    is a `bool` with a default, and a `list` takes all remaining words. Words are converted to the types of the
    parameters, and text that is no value of its type is refused before the function runs. A parameter of the type
    `Platform` receives the platform of the shell. What the function returns is printed; it may be `async`.

    Args:
        function: the function.
        name: name of the command; the name of the function with `-` for `_` by default.
        aliases: other names.
    """

    def mark(function: FunctionT) -> FunctionT:
        command_name = name or function.__name__.strip("_").replace("_", "-")
        setattr(function, _MARK, (command_name, tuple(aliases)))
        return function

    return mark if function is None else mark(function)


def find_commands(values: Iterable[object]) -> list[Callable[..., object]]:
    """Return the functions among some values that are commands of the shell."""
    return [value for value in values if inspect.isroutine(value) and hasattr(value, _MARK)]


def create_command(
    function: Callable[..., object],
    services: Iterable[type],
    *,
    name: str | None = None,
    aliases: tuple[str, ...] = (),
    group: str = OWN_GROUP,
) -> ShellCommand:
    """Return the command of a function.

    Args:
        function: the function.
        services: types of the parameters that the shell fills in.
        name: name of the command; by default, that with which it was marked.
        aliases: other names.
        group: heading in the list of commands.

    Raises:
        DeclarationError: when a parameter has no type, or one that no text can be converted to.
    """
    marked, also = getattr(function, _MARK, (function.__name__, ()))
    hints, service_types = resolve_hints(function, {}), tuple(services)
    docstring, problems = parse_docstring(function), list[str]()
    parameters, filled = list[ShellParameter](), dict[str, type]()
    for parameter in inspect.signature(function).parameters.values():
        kind = hints.get(parameter.name)
        if isinstance(kind, type) and kind in service_types:
            filled[parameter.name] = kind
        elif parameter.kind in _VARIADIC or kind is None:
            problems.append(f"parameter {str(parameter)!r} needs a type of its own; `list[str]` takes all words")
        else:
            read = _read_parameter(parameter, kind, docstring.parameters.get(parameter.name, ""), problems)
            is_behind = any(earlier.takes_rest for earlier in parameters)  # of which only an option can be typed
            parameters.append(replace(read, is_option=True) if is_behind else read)
    if problems:
        raise DeclarationError(f"The shell command {function.__qualname__}", problems)
    return ShellCommand(
        name or marked, function, docstring.summary, tuple(parameters), filled, (*aliases, *also), group
    )


def _read_parameter(
    parameter: inspect.Parameter, annotated: object, purpose: str, problems: list[str]
) -> ShellParameter:
    details, kind = ShellOption(), annotated
    if get_origin(annotated) is Annotated:
        kind, *metadata = get_args(annotated)
        options = [detail for detail in metadata if isinstance(detail, ShellOption)]
        details = options[0] if options else details
        kind = kind if options and len(metadata) == 1 else annotated
    takes_rest = get_origin(kind) is list and parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    kind = get_args(kind)[0] if takes_rest else kind
    try:
        _create_adapter(kind)
    except PydanticSchemaGenerationError:
        problems.append(f"parameter {parameter.name!r}: no text can be converted to {kind}")
    is_flag = kind is bool and parameter.default is not _NO_DEFAULT
    is_option = is_flag or parameter.kind is inspect.Parameter.KEYWORD_ONLY
    return ShellParameter(
        parameter.name, kind, parameter.default, takes_rest, is_option, details.short, details.help or purpose
    )


def _create_adapter(kind: object) -> TypeAdapter[object]:
    return TypeAdapter(cast("type[object]", kind))


def _list_alternatives(kind: object) -> Iterator[object]:
    """Yield the types of a union, or the type itself, without their metadata."""
    if get_origin(kind) in (Union, UnionType):
        for alternative in get_args(kind):
            yield from _list_alternatives(alternative)
    elif get_origin(kind) is Annotated:
        yield from _list_alternatives(get_args(kind)[0])
    else:
        yield kind
