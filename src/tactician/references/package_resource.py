"""Files as references: beside the program, and inside of installed packages."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tactician.errors import ConfigurationError
from tactician.prompts import LlmReference
from tactician.prompts.package_files import find_package_folders
from tactician.prompts.texts import find_text_file, read_text_file
from tactician.references.entry_fields import EntryPath
from tactician.suggestions import suggest_options


@suggest_options
@dataclass(frozen=True)
class TextFile(LlmReference):
    """Text of a file as a reference. The file is read on creation.

    Args:
        name: the name.
        description: the description.
        path: the file.

    Raises:
        ConfigurationError: when it cannot be read, or is longer than a million characters.
    """

    name: str
    description: str
    path: EntryPath
    notes: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", read_text_file(Path(self.path), f"The file {Path(self.path).name!r}"))


@suggest_options
@dataclass(frozen=True)
class PackageResource(LlmReference):
    """Text of a file inside of an installed package as a reference. The package is not imported.

    Args:
        name: the name.
        description: the description.
        package: the full name of the package, such as `acme.support`.
        path: the file in the folder of the package, such as `texts/returns.md`.

    Raises:
        ConfigurationError: when there is no such package or file.
    """

    name: str
    description: str
    package: str
    path: str
    notes: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        folders = find_package_folders(self.package)
        file = next((file for folder in folders if (file := find_text_file(folder, self.path, ("",)))), None)
        if file is None:
            raise ConfigurationError(f"The package {self.package!r} has no file {self.path!r}.")
        object.__setattr__(self, "notes", read_text_file(file, f"The file {self.path!r} of {self.package}"))
