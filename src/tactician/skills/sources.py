"""Sources of skills: folders and repositories."""

from __future__ import annotations

from pathlib import Path

from tactician.errors import ConfigurationError
from tactician.frozen import frozen


@frozen
class SkillSource:
    """Folder of this machine, or folder of a Git repository, that skills come from.

    Attributes:
        folder: the folder of this machine.
        url: the repository.
        ref: a branch or a tag; the default branch, when empty.
        commit: the commit that must be used.
        path: the folder in the repository.
        nested: true to search folders in folders too.

    Raises:
        ConfigurationError: when there is neither a folder nor a URL, or both.
    """

    folder: Path | None = None
    url: str = ""
    ref: str = ""
    commit: str = ""
    path: str = ""
    nested: bool = False

    def __post_init__(self) -> None:
        if (self.folder is None) == (not self.url):
            raise ConfigurationError("skills come from a folder or from the url of a repository: say one of them")
