"""`tactician.toml`: settings that belong to a project, not to its code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from tactician.documents import DocumentModel, UnreadableFileError, load_document, validate_document
from tactician.errors import ConfigurationError

FILE_NAME = "tactician.toml"
PATH_VARIABLE = "TACTICIAN_CONFIG"


_Dollars: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PriceSettings(DocumentModel):
    """What a model costs, in US dollars per million tokens: a line of `[models.prices]`.

    Without prices of their own, cached tokens cost what input costs.
    """

    input: _Dollars
    output: _Dollars
    cache_read: _Dollars | None = None
    cache_write: _Dollars | None = None


class ModelSettings(DocumentModel):
    """The `[models]` table.

    Attributes:
        default: the model where nobody names one.
        default_embedding: the embedding model where nobody names one.
        default_image: the model that makes pictures where nobody names one.
        roles: the model that each role stands for.
        fallbacks: the models to use, in order, when a model cannot answer.
        prices: prices of one's own, by the beginning of `model` or `instance:model`; the longest that fits wins.
        facts: profiles of models, before the built-in ones: see `tactician.llm.model_profiles`.
    """

    default: str | None = None
    default_embedding: str | None = None
    default_image: str | None = None
    roles: dict[str, str] = Field(default_factory=dict)
    fallbacks: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    prices: dict[str, PriceSettings] = Field(default_factory=dict)
    facts: tuple[dict[str, object], ...] = ()

    def named(self, name: str) -> str:
        """The name of a model: for `role:<role>`, that of the model which the role stands for.

        Raises:
            ConfigurationError: when the role stands for no model.
        """
        prefix, colon, role = name.partition(":")
        if prefix != "role" or not colon:
            return name
        if (model := self.roles.get(role)) is None:
            known = ", ".join(sorted(self.roles)) or "none"
            raise ConfigurationError(
                f'No model has the role {role!r}. Add `{role} = "<model>"` to [models.roles] in tactician.toml '
                f"(configured roles: {known})."
            )
        if model.startswith("role:"):
            raise ConfigurationError(f"The role {role!r} stands for {model!r}: a role has to name a model, not a role.")
        return model


class ProcessSettings(DocumentModel):
    """The `[process]` table.

    Attributes:
        store: where the command line keeps processes where nobody names a store: a SQLite file, or a database URL.
    """

    store: str | None = None


class PlatformSettings(DocumentModel):
    """The `[platform]` table.

    Attributes:
        personality: how the command line tells progress where nobody says so: see `tactician run --personality`.
        ranking_model: whom `Autonomy` asks; the default model, when `None`.
        agent_cutoff: how sure it has to be of an agent, from 0 to 1.
        goal_cutoff: how sure it has to be of a goal, from 0 to 1.
    """

    personality: str | None = None
    ranking_model: str | None = None
    agent_cutoff: float = Field(default=0.6, ge=0, le=1)
    goal_cutoff: float = Field(default=0.6, ge=0, le=1)


class ToolGroupSettings(DocumentModel):
    """A table `[tool_groups.<name>]`: a tool group that is made of tools of others.

    Attributes:
        tools: their names, or patterns such as `brave_*`; with the name of their group before them where one of
            several is meant, as in `docker:fetch`.
        description: what they can do.
        provider: who offers them.
        version: of the group.
        permissions: what they reach outside of the program.
    """

    tools: tuple[str, ...] = Field(min_length=1)
    description: str = ""
    provider: str = ""
    version: str = ""
    permissions: tuple[Literal["internet_access", "host_access"], ...] = ()


class PromptSettings(DocumentModel):
    """A table `[prompts.<name>]`: a provider of prompts.

    Attributes:
        kind: what it is; the keys of `langfuse` are in the environment.
        folder: where the prompts of a `folder` are, seen from the working directory.
    """

    kind: Literal["folder", "langfuse"] = "folder"
    folder: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _has_its_folder(self) -> Self:
        if (self.folder is not None) != (self.kind == "folder"):
            raise ValueError('say `folder = "..."`, or `kind = "langfuse"` and no folder')
        return self


class TemplateSettings(DocumentModel):
    """The `[templates]` table.

    Attributes:
        folder: where the Jinja templates of prompts are, seen from the working directory; `prompts`, when `None`.
    """

    folder: str | None = Field(default=None, min_length=1)


class Settings(DocumentModel):
    """All that `tactician.toml` can say."""

    models: ModelSettings = Field(default_factory=ModelSettings)
    process: ProcessSettings = Field(default_factory=ProcessSettings)
    platform: PlatformSettings = Field(default_factory=PlatformSettings)
    tool_groups: dict[str, ToolGroupSettings] = Field(default_factory=dict)
    prompts: dict[str, PromptSettings] = Field(default_factory=dict)
    templates: TemplateSettings = Field(default_factory=TemplateSettings)


def load_settings(path: str | Path | None = None) -> Settings:
    """The settings in `path`, else in the file that TACTICIAN_CONFIG names, else in `./tactician.toml`.

    Without any of these, the defaults.

    Raises:
        ConfigurationError: when a named file is missing, or a file is not TOML; with every setting that does not exist
            or has a wrong value.
    """
    named = path or os.environ.get(PATH_VARIABLE)
    file = Path(named or FILE_NAME)
    try:
        document = load_document(file, format="toml")
    except UnreadableFileError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        if named is None:
            return Settings()
        raise ConfigurationError(f"{file}: the configuration file does not exist") from None
    return validate_document(document, Settings.model_validate, f"{file} is wrong")
