"""Prompts from Jinja templates."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache, cached_property, lru_cache
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Final

from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError, MissingTemplateVariables, TacticianError, TemplateError
from tactician.grammar import add_article
from tactician.prompts.package_files import PackagePath
from tactician.prompts.texts import find_text_file, read_text_file

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.lexer import Lexer

_LINE_END = re.compile(r"\r\n|\r|\n")
_PRINTING: Final = "include"
"""Tag that prints, so that its line has an end of its own."""
_DEFAULT_FOLDER = "prompts"
_ENDINGS = (".jinja", "")
_NOT_GIVEN = re.compile(r"'(\w+)' is undefined")


def keep_line_ends(source: str) -> str:
    """Return the source of a template for an environment with `trim_blocks`, which removes the line end after any tag.

    A line keeps its end by a `+` in its last tag, unless it has nothing but tags that print nothing, and comments. A
    source that is not correct stays as it is.
    """
    from jinja2 import TemplateSyntaxError

    text = _LINE_END.sub("\n", source)
    try:
        places = _find_ends(text)
    except TemplateSyntaxError:
        return source
    parts = (text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True))
    return "+".join(parts)


def _find_ends(text: str) -> list[int]:
    """Return the places of the ends of tags and comments after which the line ends, and has to."""
    ends: list[int] = []
    place, end, is_bare, opens = 0, -1, True, False
    for _, kind, value in _create_lexer().tokeniter(text, None):
        place = text.index(value, place)
        if kind == "data":
            if end >= 0 and not is_bare and value.startswith("\n"):
                ends.append(end)
            _, newline, after = value.rpartition("\n")
            is_bare = not after.strip() and (bool(newline) or is_bare)
            end = -1
        elif kind == "variable_end" or (opens and kind == "name" and value == _PRINTING):
            is_bare, end = False, -1
        elif kind in ("block_end", "comment_end", "raw_end"):
            end = -1 if value.strip()[:1] in "+-" else place + len(value) - 2
        opens = kind == "block_begin" or (opens and kind == "whitespace")
        place += len(value)
    return ends


@cache
def _create_lexer() -> Lexer:
    from jinja2 import Environment

    return Environment().lexer  # it renders nothing


class Templates:
    """Jinja templates in folders: `stories/brief` is the file `stories/brief.jinja`.

    A line with tags alone, such as `{% if ... %}`, leaves nothing behind; all other lines keep their ends, the end of
    an `{% include ... %}` too. Files are read when they are needed, and again when they have changed. Templates run in
    Jinja's sandbox: they read the values and change nothing. Values are inserted without escaping.

    Args:
        folders: the folders, also of packages, as `package:acme.support/prompts`. The first folder with a template
            counts, so a program overrides templates of a package by files of its own. Nothing outside of the folders
            is read.

    Raises:
        ConfigurationError: when a package does not exist.
    """

    def __init__(self, *folders: str | Path) -> None:
        self.folders = tuple(map(_locate_folder, folders))
        self._files: set[str] = set()

    def __repr__(self) -> str:
        return f"Templates({', '.join(repr(str(folder)) for folder in self.folders)})"

    async def render(self, name: str, values: Mapping[str, object]) -> str:
        """Return the text of a template with values for its variables, stripped.

        Raises:
            MissingTemplateVariables: when the template needs values that are not there; it names them all.
            TemplateError: when there is no such template, or it is not correct, or fails.
            ConfigurationError: when its file cannot be read.
        """
        try:
            template = await asyncio.to_thread(self._load, name)
            return template.render(values).strip()
        except TacticianError:
            raise
        except Exception as error:
            raise self._create_error(name, values, error) from error

    def _load(self, name: str) -> Template:
        return self._environment.get_template(name)

    def _create_error(self, name: str, values: Mapping[str, object], error: Exception) -> TemplateError:
        from jinja2 import TemplateNotFound, UndefinedError

        if isinstance(error, UndefinedError) and (missing := _find_missing_variables(self._load(name), values)):
            return MissingTemplateVariables(name, missing, tuple(values))
        problem = str(error) or type(error).__name__
        if isinstance(error, TemplateNotFound):
            problem = f"there is no file {error.name}.jinja in {', '.join(map(str, self.folders))}"
        lines = [line for line in extract_tb(error.__traceback__) if line.filename in self._files]
        where = f"{lines[-1].filename}, line {lines[-1].lineno}: " if lines else ""
        return TemplateError(name, f"{where}{problem}")

    @cached_property
    def _environment(self) -> Environment:
        from jinja2 import FunctionLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        return ImmutableSandboxedEnvironment(
            loader=FunctionLoader(self._read), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )

    def _read(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        if (file := self._find(name)) is None:
            return None
        changed = _read_modification_time(file)
        self._files.add(str(file))
        return (
            keep_line_ends(read_text_file(file, f"The template {name!r}")),
            str(file),
            lambda: self._find(name) == file and _read_modification_time(file) == changed,
        )

    def _find(self, name: str) -> Path | None:
        return next((file for folder in self.folders if (file := find_text_file(folder, name, _ENDINGS))), None)


async def render_template(template: str | Path, values: object) -> str:
    """Render a template of the program, of a package, as `package:acme.support/prompts/ragbot`, or a file.

    Raises:
        ConfigurationError: when there are no values by name, or no prompt can be made of the template.
    """
    if not isinstance(values, Mapping):
        raise ConfigurationError(
            f"The template {str(template)!r} needs values by name, such as {{'topic': ...}}, where a prompt would be; "
            f"it got {add_article(type(values).__name__)}."
        )
    if isinstance(template, Path):
        return await _load_folder(template.parent).render(template.name, values)
    if (inside := PackagePath.parse(template)) is not None:
        folder, name = inside.split_name()
        return await _load_folder(folder.find_folder()).render(name, values)
    return await load_default_templates().render(template, values)


@cache
def load_default_templates() -> Templates:
    """Return the templates of this program, in the folders that `tactician.toml` names under `[templates]`.

    The default folders are `prompts` beside the program, and in the working directory.
    """
    if folders := load_settings().templates.folders:
        return Templates(*folders)
    program: object = getattr(sys.modules["__main__"], "__file__", None)
    beside = (Path(program).parent / _DEFAULT_FOLDER,) if isinstance(program, str) else ()
    return Templates(*beside, _DEFAULT_FOLDER)


@lru_cache(maxsize=128)
def _load_folder(folder: Path) -> Templates:
    return Templates(folder)


def _locate_folder(folder: str | Path) -> Path:
    inside = PackagePath.parse(folder) if isinstance(folder, str) else None
    return Path(folder) if inside is None else inside.find_folder()


def _read_modification_time(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def _find_missing_variables(template: Template, values: Mapping[str, object]) -> tuple[str, ...]:
    """Return the variables that a rendering needs and that have no value; each is empty after its turn."""
    from jinja2 import ChainableUndefined

    missing: dict[str, object] = {}
    while (name := _find_first_missing(template, {**values, **missing})) is not None and name not in missing:
        missing[name] = ChainableUndefined(name=name)
    return tuple(missing)


def _find_first_missing(template: Template, values: Mapping[str, object]) -> str | None:
    from jinja2 import UndefinedError

    try:
        template.render(values)
    except UndefinedError as error:
        match = _NOT_GIVEN.fullmatch(str(error))
        return match and match[1]
    except Exception:  # values that are empty lead elsewhere; what is missing is all that is of interest
        return None
    return None
