"""`tactician.toml`: settings that belong to a project, not to its code."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tactician.errors import ConfigurationError

FILE_NAME = "tactician.toml"
PATH_VARIABLE = "TACTICIAN_CONFIG"


class ModelSettings(BaseModel):
    """The `[models]` table.

    Attributes:
        default: the model where nobody names one.
        default_embedding: the embedding model where nobody names one.
        roles: the model that each role stands for.
        fallbacks: the models to use, in order, when a model cannot answer.
        facts: what is known of models beside what Tactician knows: see `tactician.llm.facts`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    default: str | None = None
    default_embedding: str | None = None
    roles: dict[str, str] = Field(default_factory=dict)
    fallbacks: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    facts: tuple[dict[str, object], ...] = ()


class Settings(BaseModel):
    """All that `tactician.toml` can say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: ModelSettings = Field(default_factory=ModelSettings)


def load_settings(path: str | Path | None = None) -> Settings:
    """The settings in `path`, else in the file that TACTICIAN_CONFIG names, else in `./tactician.toml`.

    Without any of these, the defaults.

    Raises:
        ConfigurationError: when a named file is missing, is not TOML, or has a setting that does not exist.
    """
    named = path or os.environ.get(PATH_VARIABLE)
    file = Path(named or FILE_NAME)
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        return Settings.model_validate(data)
    except FileNotFoundError:
        if named is None:
            return Settings()
        raise ConfigurationError(f"{file}: the configuration file does not exist") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file}: cannot be read as TOML: {error}") from error
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ConfigurationError(f"{file}: {problems}") from error
