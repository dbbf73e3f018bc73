"""Folders of installed packages, found without importing them."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tactician.errors import ConfigurationError
from tactician.frozen import frozen

PREFIX: Final = "package:"
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)


@frozen
class PackagePath:
    """Path of a file or folder inside of a package, written as `package:acme.support/prompts/ragbot`.

    Attributes:
        package: the full name of the package.
        path: the path in its folder; empty for the folder itself.
    """

    package: str
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> PackagePath | None:
        """Return the path that a text with the prefix `package:` stands for; `None` for another text."""
        if not text.startswith(PREFIX):
            return None
        package, _, path = text.removeprefix(PREFIX).partition("/")
        return cls(package, path.strip("/"))

    def split_name(self) -> tuple[PackagePath, str]:
        """Return the path of the folder, and the name in it."""
        folder, _, name = self.path.rpartition("/")
        return PackagePath(self.package, folder), name

    def find_folder(self) -> Path:
        """Return the path as a folder of this machine.

        Raises:
            ConfigurationError: when there is no such package, or the path is not a folder in it.
        """
        for root in find_package_folders(self.package):
            folder = (root / self.path).resolve()
            if folder.is_dir() and folder.is_relative_to(root.resolve()):
                return folder
        raise ConfigurationError(f"The package {self.package!r} has no folder {self.path!r}.")


def find_package_folders(name: str) -> tuple[Path, ...]:
    """Return the folders of a package; a namespace package has several. The package itself is not imported.

    Raises:
        ConfigurationError: when there is no such package, or it is a single module, or in an archive.
    """
    if _NAME.fullmatch(name) is None:
        raise ConfigurationError(f"{name!r} is not the name of a package.")
    top, *inner = name.split(".")
    try:
        spec = find_spec(top)  # the name of a package inside of another would import the outer one
    except (ImportError, ValueError) as error:
        raise ConfigurationError(f"The package {name!r} cannot be found: {error}") from error
    roots = () if spec is None else spec.submodule_search_locations or ()
    folders = tuple(folder for root in roots if (folder := Path(root, *inner)).is_dir())
    if not folders:
        raise ConfigurationError(f"There is no package {name!r} with a folder. Is it installed?")
    return folders
