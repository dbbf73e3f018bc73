"""Git repositories as references."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

from typing_extensions import override

from tactician.data_fields import CODE_ONLY
from tactician.errors import ConfigurationError, ToolError
from tactician.references.folder import FolderReference
from tactician.references.git import DEFAULT_SCHEMES, RepositoryAddress, fetch_repository, find_cache_folder
from tactician.suggestions import suggest_options
from tactician.tools.builtin.confined_folder import ConfinedFolder

_EVERYTHING: Final = ("*",)


@suggest_options
@dataclass(frozen=True)
class GitRepository(FolderReference):
    """Git repository as a reference. The git command fetches it when the model first uses a tool.

    Neither hooks nor submodules, filters, links and settings of this machine play a part.

    Args:
        url: the repository; also the page of a folder, as `https://github.com/acme/agents/tree/main/docs`.
        description: the description.
        name: the name; the name of the repository by default.
        ref: a branch or a tag; the default branch by default.
        commit: the commit that must be used; it is fetched once.
        path: the folder in the repository.
        usage_notes: notes for the model on the use of the files.
        patterns: patterns of the paths of the files that are shown, such as `*.py`.
        schemes: the allowed schemes of the URL, of `https`, `ssh` and `file`.
        cache: folder of the fetched files; one in the cache of the user by default.
        timeout: seconds for each command.

    Raises:
        ConfigurationError: when the address is not valid.
    """

    url: str
    description: str
    name: str = ""
    ref: str = ""
    commit: str = ""
    path: str = ""
    usage_notes: str = ""
    patterns: tuple[str, ...] = _EVERYTHING
    schemes: Annotated[tuple[str, ...], CODE_ONLY] = field(default=DEFAULT_SCHEMES, repr=False)
    cache: Annotated[Path | None, CODE_ONLY] = field(default=None, repr=False)
    timeout: float = field(default=60.0, repr=False)
    notes: str = field(default="", init=False)
    _address: RepositoryAddress = field(init=False, repr=False, compare=False)
    _folders: list[ConfinedFolder] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        address = RepositoryAddress.parse(
            self.url, ref=self.ref, commit=self.commit, path=self.path, schemes=self.schemes
        )
        object.__setattr__(self, "_address", address)
        object.__setattr__(self, "name", self.name or _find_name(address))
        notes = f"Repository: {address.shown_url}\n{self.usage_notes}"
        object.__setattr__(self, "notes", notes.strip())

    @override
    def open_folder(self) -> ConfinedFolder:
        if not self._folders:
            cache = find_cache_folder() if self.cache is None else self.cache.absolute()
            try:
                folder = fetch_repository(self._address, cache, self.timeout)
            except ConfigurationError as error:
                raise ToolError(str(error)) from error
            self._folders.append(ConfinedFolder(folder))
        return self._folders[0]


def _find_name(address: RepositoryAddress) -> str:
    last = urlsplit(address.url).path.rstrip("/").rpartition("/")[2]
    return last.removesuffix(".git") or "repository"
