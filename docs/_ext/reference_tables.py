"""Tables of the reference that are read from the code when the site is built, so that they cannot be out of date."""

from __future__ import annotations

import ast
import dataclasses
import json
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import getdoc
from pathlib import Path
from typing import Any, Protocol, cast

import typer.main
from docutils import nodes
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import tactician
from tactician.blueprint import json_schema
from tactician.cli.commands import app
from tactician.config import Settings
from tactician.config.variables import find_variable
from tactician.errors import TacticianError
from tactician.events import Event

_NAMED = ("tool_groups", "mcp", "prompts")
HAS_EVALS = find_spec("pydantic_evals") is not None
"""False where the extra `evals` is not installed, as beside newer versions of pydantic-ai than it allows."""
NOT_LOADED = ("tactician.testing.plugin", "tactician.__main__")
_FEWEST_COLUMNS = 2
PAGES = Path(__file__).parent.parent
_IMPORTS = re.compile(r"^\s*from (tactician[\w.]*) import (.+)$", re.MULTILINE)


def load_package() -> None:
    """Import every module, so that all errors and events are known."""
    for module in pkgutil.walk_packages(tactician.__path__, "tactician."):
        if module.name not in NOT_LOADED and (HAS_EVALS or not module.name.startswith("tactician.evals.")):
            import_module(module.name)


def describe(thing: object) -> str:
    """Return the first line of a docstring."""
    return (getdoc(thing) or "").partition("\n")[0]


def make_table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Write a table in Markdown, without the columns behind the first two that are empty."""
    listed = list(rows)
    kept = [place for place in range(len(heads)) if place < _FEWEST_COLUMNS or any(row[place] for row in listed)]
    heads, listed = tuple(heads[place] for place in kept), [tuple(row[place] for place in kept) for row in listed]
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in listed:
        yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |"


def list_errors() -> Iterator[str]:
    """List the classes of errors as a tree."""
    load_package()
    yield from _branch(TacticianError, 0)


def _branch(kind: type[Exception], depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}- `{kind.__name__}` ({find_face(kind)}): {describe(kind)}"
    for child in sorted(kind.__subclasses__(), key=lambda one: one.__name__):
        if not child.__name__.startswith("_"):
            yield from _branch(child, depth + 1)


def find_face(kind: type) -> str:
    """Return the package that users import a class from."""
    parts = kind.__module__.split(".")
    for end in range(2, len(parts) + 1):
        module = ".".join(parts[:end])
        if hasattr(import_module(module), kind.__name__):
            return f"`{module}`"
    return f"`{kind.__module__}`"


def list_events() -> Iterator[str]:
    """List the events by package, with their fields."""
    load_package()
    kinds = {kind.type: kind for kind in _descendants(Event) if kind.__module__.startswith("tactician.")}
    faces: dict[str, list[type[Event]]] = {}
    for kind in kinds.values():
        faces.setdefault(find_face(kind), []).append(kind)
    for face, events in sorted(faces.items()):
        yield from ("", f"**{face}**", "")
        rows = ((f"`{one.type}`", describe(one), ", ".join(f"`{name}`" for name in _own_fields(one))) for one in events)
        yield from make_table(("event", "meaning", "fields"), rows)


def _descendants(kind: type[Event]) -> Iterator[type[Event]]:
    for child in kind.__subclasses__():
        yield child
        yield from _descendants(child)


def _own_fields(kind: type[Event]) -> list[str]:
    common = {field.name for field in dataclasses.fields(Event)}
    return [field.name for field in dataclasses.fields(kind) if field.name not in common]


def list_settings() -> Iterator[str]:
    """List the tables of `tactician.toml`."""
    yield from _tables_of(Settings, "", {})


def _tables_of(model: type[BaseModel], place: str, listed: dict[type[BaseModel], str]) -> Iterator[str]:
    """List the settings of a table, then the tables inside it; tables of the same kind are listed once."""
    listed[model] = place
    kinds = model.model_json_schema(by_alias=False)["properties"]
    meanings = read_attributes(model)
    inner = {name: found for name, field in model.model_fields.items() if (found := _model_in(field.annotation))}
    rows = [
        (f"`{name}`", _kind(kinds[name]), _default_of(kinds[name]), _variable_of(place, name), meanings.get(name, ""))
        for name in kinds
        if name not in inner
    ]
    if rows:
        yield from ("", f"**`[{place}]`** {_say_of_table(model)}", "")
        yield from make_table(("setting", "value", "default", "variable", "meaning"), rows)
    alike: list[str] = []
    for name, found in inner.items():
        many = "dict[" in str(model.model_fields[name].annotation)
        key = f"{place}.{name}".lstrip(".") + (".<name>" if many else "")
        if found in listed:
            alike.append(f"`[{key}]`")
        else:
            yield from _tables_of(found, key, listed)
    if alike:
        yield from ("", f"The same settings are in {', '.join(alike)}.", "")


def _default_of(field: Mapping[str, Any]) -> str:
    """Return the default of a setting, unless there is none, or nothing in it."""
    default = field.get("default")
    return "" if default in (None, "", [], {}) else f"`{json.dumps(default)}`"


def _variable_of(place: str, name: str) -> str:
    """Return the environment variable that overrides a setting; a setting in a table that users name has none."""
    variable = None if "<" in place or place in _NAMED else find_variable(f"{place}.{name}")
    return f"`{variable}`" if variable else ""


def _say_of_table(model: type[BaseModel]) -> str:
    return (
        re.sub(r"^[^:]*\]`? ?table:? ?|^[^:]*\]`: ", "", describe(model))
        .removeprefix("The `")
        .strip(".")
        .removeprefix("; ")
    )


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    arguments: tuple[object, ...] = getattr(annotation, "__args__", ())
    return next((found for one in arguments if (found := _model_in(one)) is not None), None)


def read_attributes(thing: type) -> Mapping[str, str]:
    """Read the section `Attributes` of a docstring."""
    section = (getdoc(thing) or "").partition("Attributes:\n")[2]
    entries = re.findall(r"^    (\w+): (.*(?:\n {8,}.*)*)", section, re.MULTILINE)
    return {name: re.sub(r"\s+", " ", text) for name, text in entries}


class Parameter(Protocol):
    """The part of a parameter of a command that the reference shows."""

    name: str | None
    opts: list[str]
    metavar: str | None
    default: object
    envvar: object
    param_type_name: str


class Command(Protocol):
    """The part of a command that the reference shows. It is of Typer's own copy of click, or of click."""

    help: str | None
    params: Sequence[Parameter]


def list_commands() -> Iterator[str]:
    """List the commands with their arguments and options."""
    yield from _commands_of(cast("Command", typer.main.get_command(app)), "tactician")


def _commands_of(command: Command, name: str) -> Iterator[str]:
    yield from ("", f"## `{name}`", "", (command.help or "").strip(), "")
    described = [one for one in command.params if getattr(one, "help", None) and one.name != "help"]
    if described:
        rows = ((_spelling(one), str(getattr(one, "help", "")), _default(one), _variable(one)) for one in described)
        yield from make_table(("argument", "meaning", "default", "environment"), rows)
    for child, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _commands_of(inner, f"{name} {child}")


def _spelling(parameter: Parameter) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or (parameter.name or '').upper()}`"
    return ", ".join(f"`{option}`" for option in sorted(parameter.opts, key=len, reverse=True))


def _default(parameter: Parameter) -> str:
    """Return the default of an option that has a value."""
    default = parameter.default
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`" if default and default is not True else ""


def _variable(parameter: Parameter) -> str:
    return f"`{parameter.envvar}`" if isinstance(parameter.envvar, str) else ""


def list_blueprint_fields() -> Iterator[str]:
    """List the fields of blueprints, by type and by part."""
    definitions: Mapping[str, Mapping[str, Any]] = json.loads(json.dumps(json_schema()["$defs"]))
    for definition in definitions.values():
        if fields := definition.get("properties"):
            yield from ("", f"**{definition.get('title', '')}**: {definition.get('description', '')}", "")
            needed = definition.get("required", [])
            rows = ((f"`{name}`", _kind(field), "yes" if name in needed else "") for name, field in fields.items())
            yield from make_table(("field", "value", "required"), rows)


def _kind(field: Mapping[str, Any]) -> str:
    """Say which values a JSON schema allows."""
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{one}`" for one in field["enum"])
    if "anyOf" in field:
        kinds = dict.fromkeys(_kind(one) for one in field["anyOf"] if one.get("type") != "null")
        return " or ".join(kind for kind in kinds if kind not in ("variable", "text with variables"))
    if "$ref" in field:
        name = re.sub(r"(Part|Blueprint)$", "", field["$ref"].rpartition("/")[2]) or "blueprint"
        return re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
    if "items" in field:
        return f"list of {_kind(field['items'])}"
    kinds_of_it = "table" if field.get("type") == "object" else field.get("type", "any value")
    return kinds_of_it if isinstance(kinds_of_it, str) else " or ".join(one for one in kinds_of_it if one != "null")


def list_packages() -> Iterator[str]:
    """List the packages of the API, each with a link to its page."""
    pages = sorted(page.stem for page in (PAGES / "reference" / "api").glob("*.md") if page.stem != "index")
    rows = ((f"[`tactician.{page}`]({page}.md)", describe(import_module(f"tactician.{page}"))) for page in pages)
    yield from make_table(("package", "contents"), rows)


def list_api(module: str) -> Iterator[str]:
    """List the names of a package that the documentation imports, with their docstrings."""
    public = import_module(module)
    offered: Collection[str] = getattr(public, "__all__", vars(public))
    names = _names_in_pages().get(module, set()) | {name for name, home in _homes().items() if home == module}
    if module == "tactician.errors":
        names |= {name for name, one in vars(public).items() if isinstance(one, type) and one.__module__ == module}
    chosen = ", ".join(sorted(name for name in names if name in offered))
    for name in names & set(offered):
        setattr(public, name, getattr(public, name))  # some are loaded when they are first used
    yield from ("```{eval-rst}", f".. automodule:: {module}", f"   :members: {chosen}", "```")


@cache
def _names_in_pages() -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for page in PAGES.rglob("*.md"):
        for module, names in _IMPORTS.findall(page.read_text("utf-8")):
            found.setdefault(module, set()).update(re.findall(r"(\w+)(?: as \w+)?(?:,|$|\))", names))
    return found


@cache
def _homes() -> Mapping[str, str]:
    """Return the packages from which the roof of the library exports its names."""
    nodes = ast.walk(ast.parse(Path(tactician.__file__).read_text("utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


TABLES: Mapping[str, Callable[[], Iterator[str]]] = {
    "errors": list_errors,
    "events": list_events,
    "settings": list_settings,
    "commands": list_commands,
    "blueprint-fields": list_blueprint_fields,
    "packages": list_packages,
}


class Api(SphinxDirective):
    """Directive that documents a package."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the Markdown that lists the names."""
        return self.parse_text_to_nodes("\n".join(list_api(self.arguments[0])), allow_section_headings=True)


def write_code_as_code(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Turn what docstrings write as in Markdown, names in backticks and indented code, into reStructuredText."""
    for number, line in enumerate(lines[:-2]):
        if line.endswith(":") and not lines[number + 1] and lines[number + 2].startswith(" "):
            lines[number] += ":"
    lines[:] = [re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``\\ ", line) for line in lines]


def skip_unchosen(app: Sphinx, what: str, name: str, thing: object, skip: bool, options: Mapping[str, object]) -> bool:
    """Skip the names of a package that were not chosen: the option for inherited members selects all of them."""
    chosen = options.get("members")
    return skip or (what == "module" and isinstance(chosen, list) and name not in chosen)


class ReferenceTable(SphinxDirective):
    """Directive that puts one of the tables in its place."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse the Markdown of the table."""
        lines = list(TABLES[self.arguments[0]]())
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("reference-table", ReferenceTable)
    app.add_directive("api-of", Api)
    app.connect("autodoc-process-docstring", write_code_as_code, priority=400)
    app.connect("autodoc-skip-member", skip_unchosen)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
