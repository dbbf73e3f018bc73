"""Sources of instructions: files, and providers of prompts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.prompts.providers import PromptProvider, prompt_providers
from tactician.prompts.templates import render_template
from tactician.prompts.texts import read_text_file


class InstructionSource(ABC):
    """Source of the text of instructions."""

    @property
    @abstractmethod
    def text(self) -> str | None:
        """The text, if it is known already."""

    @abstractmethod
    async def resolve(self) -> str:
        """Return the text for a run that begins.

        Raises:
            ConfigurationError: when it cannot be loaded.
        """


@frozen
class InstructionFile(InstructionSource):
    """Instructions in a text file, which is read on creation.

    Args:
        path: the file, as shown in messages.
        file: the actual path, if it differs.

    Raises:
        ConfigurationError: when it cannot be read, or is longer than a million characters.
    """

    path: str | Path
    file: Path | None = field(default=None, compare=False)
    read: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        file = Path(self.file or self.path)
        object.__setattr__(self, "read", read_text_file(file, f"The instructions in {file}"))

    @property
    def text(self) -> str:
        """The text of the file when it was read."""
        return self.read

    async def resolve(self) -> str:
        """Return the text of the file when it was read."""
        return self.read


@frozen
class InstructionTemplate(InstructionSource):
    """Instructions of a Jinja template, which is rendered when a run begins.

    Attributes:
        template: its name in the folder of templates, such as `ragbot`; or, as a `Path`, a file.
        values: the values of its variables.
    """

    template: str | Path
    values: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> None:
        """`None`, since the template is rendered for each run."""
        return

    async def resolve(self) -> str:
        """Return the text of the template with its values.

        Raises:
            ConfigurationError: when no text can be made of the template.
        """
        return await render_template(self.template, self.values)


@frozen
class ProvidedInstructions(InstructionSource):
    """Instructions of a registered prompt provider, which is called when a run begins.

    Attributes:
        provider: the name by which it is registered with `prompt_providers`.
        prompt: the prompt's name there.
        filters: filters that select a version, such as `{"label": "production"}`.
    """

    provider: str
    prompt: str
    filters: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> None:
        """`None`, since only the provider knows the text."""
        return

    def check(self) -> PromptProvider:
        """Return the provider.

        Raises:
            ConfigurationError: when none is registered by this name.
        """
        return prompt_providers.find(self.provider)

    async def resolve(self) -> str:
        """Return the current prompt of the provider.

        Raises:
            ConfigurationError: when there is no such provider, or it has no such prompt.
            MissingPromptVariable: when a variable of the prompt has no value among the filters.
        """
        text: object = await self.check().get_prompt(self.prompt, self.filters)
        if isinstance(text, str):
            return text
        raise ConfigurationError(
            f"The provider of prompts {self.provider!r} must return a text for {self.prompt!r}, not a "
            f"{type(text).__name__}."
        )
