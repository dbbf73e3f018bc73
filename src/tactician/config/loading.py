"""Settings of a project, from `tactician.toml` and the environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tactician.errors import ConfigurationError

if TYPE_CHECKING:
    from tactician.config.settings import Settings

FILE_NAME = "tactician.toml"
PATH_VARIABLE = "TACTICIAN_CONFIG"
_PREFIX = "TACTICIAN_"


def find_settings() -> Settings | None:
    """Return the settings of `load_settings`; `None` where neither a file nor a variable sets anything.

    Without settings, their models need not be loaded, which takes a sixth of the time that a small program runs.

    Raises:
        ConfigurationError: as `load_settings`.
    """
    is_set = os.path.lexists(FILE_NAME) or any(name.startswith(_PREFIX) for name in os.environ)
    return load_settings() if is_set else None


def load_settings(path: str | Path | None = None) -> Settings:
    """Return the settings in `path`, else in the file of TACTICIAN_CONFIG, else in `./tactician.toml`.

    Without any of these files, and with an empty TACTICIAN_CONFIG, the settings are the defaults. Environment
    variables come before the file: see `find_variable`. Settings of models are read by a `ModelCatalog`.

    Raises:
        ConfigurationError: when a named file is missing, or a file is not TOML; with every setting that does not exist
            or has a wrong value.
    """
    from tactician.config.variables import apply_variables

    return apply_variables(_load_file(path), os.environ)


def _load_file(path: str | Path | None) -> Settings:
    from tactician.config.settings import Settings
    from tactician.documents.document import load_document
    from tactician.documents.files import UnreadableFileError
    from tactician.documents.models import validate_document

    variable = os.environ.get(PATH_VARIABLE)
    if path is None and variable == "":
        return Settings.model_construct()  # an empty variable means no file at all
    named = path or variable
    file = Path(named or FILE_NAME)
    try:
        document = load_document(file, format="toml")
    except UnreadableFileError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        if named is None:
            return Settings.model_construct()  # without a file there is nothing to validate
        raise ConfigurationError(f"{file}: the configuration file does not exist") from None
    return validate_document(document, Settings.model_validate, f"{file} is wrong")
