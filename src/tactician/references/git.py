"""Git repositories, fetched by the git command."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final, Self
from urllib.parse import urlsplit, urlunsplit

from tactician.environment import read_environment
from tactician.errors import ConfigurationError
from tactician.frozen import frozen

DEFAULT_SCHEMES: Final = ("https", "ssh")
_SCHEMES: Final = ("https", "ssh", "file")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"[A-Za-z0-9_][\w./+@-]{0,199}")
_INHERITED: Final = ("PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "TMPDIR", "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE")
_MAX_FILES: Final = 20_000
_MAX_BYTES: Final = 200_000_000
_SAFE: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "submodule.recurse=false",
    "fetch.fsckObjects=true",
    "gc.auto=0",
)


@frozen
class RepositoryAddress:
    """Address of a folder in a Git repository.

    Attributes:
        url: the URL of the repository.
        ref: a branch or a tag; the default branch, when empty.
        commit: the commit that it must be, if it is pinned.
        path: the folder in the repository.
        schemes: the URL schemes that are allowed, of `https`, `ssh` and `file`.
    """

    url: str
    ref: str = ""
    commit: str = ""
    path: str = ""
    schemes: tuple[str, ...] = DEFAULT_SCHEMES

    @classmethod
    def parse(cls, url: str, *, ref: str, commit: str, path: str, schemes: Sequence[str]) -> Self:
        """Return the place that a URL names, also in the form of a page: `https://github.com/acme/skills/tree/main/office`.

        Raises:
            ConfigurationError: when a part is not valid.
        """
        parts = urlsplit(url)
        base, mark, rest = parts.path.partition("/tree/")
        if mark and parts.scheme == "https":
            found_ref, _, found_path = rest.strip("/").partition("/")
            url, ref, path = urlunsplit((*parts[:2], base, "", "")), ref or found_ref, path or found_path
        place = cls(url, ref, commit.lower(), path.strip("/"), tuple(schemes))
        if problem := place._find_problem():
            raise ConfigurationError(f"repository {place.shown_url}: {problem}")
        return place

    @property
    def shown_url(self) -> str:
        """The URL without a password."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], *parts[2:]))

    def _find_problem(self) -> str | None:
        scheme = urlsplit(self.url).scheme
        allowed = [name for name in self.schemes if name in _SCHEMES]
        if scheme not in allowed:
            return f"the scheme must be {' or '.join(allowed)}, not {scheme!r}"
        if self.ref and (not _REF.fullmatch(self.ref) or ".." in self.ref):
            return f"{self.ref!r} is not the name of a branch or a tag"
        if self.commit and not _COMMIT.fullmatch(self.commit):
            return f"{self.commit!r} is not the whole id of a commit"
        if ".." in PurePosixPath(self.path).parts:
            return f"{self.path!r} leads out of the repository"
        return None


def fetch_repository(place: RepositoryAddress, cache: Path, seconds: float) -> Path:
    """Return a folder of a repository in a cache. A pinned commit is fetched once.

    Neither hooks nor submodules, filters, links and settings of this machine play a part.

    Args:
        place: the place.
        cache: folder of the cache.
        seconds: time limit.

    Raises:
        ConfigurationError: when it cannot be fetched, is too large, or is not the pinned commit.
    """
    key = sha256(place.url.encode()).hexdigest()[:16]
    target = cache / f"{key}-{place.commit}"
    if not (place.commit and target.is_dir()):
        target = _fetch_anew(place, cache, key, seconds)
    folder = target / place.path
    if not folder.is_dir() or folder.is_symlink():
        raise ConfigurationError(f"repository {place.shown_url}: there is no folder {place.path!r} in it")
    return folder


def _fetch_anew(place: RepositoryAddress, cache: Path, key: str, seconds: float) -> Path:
    draft = cache / f".{key}-{secrets.token_hex(8)}"
    draft.mkdir(parents=True, mode=0o700)
    try:
        git = _Git(place, draft, seconds)
        git.run("init", "--quiet")
        revision = place.commit or place.ref or "HEAD"
        git.run("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", place.url, revision)
        commit = git.run("rev-parse", "FETCH_HEAD^{commit}").strip()
        if place.commit and commit != place.commit:
            raise git.create_error(f"it is at {commit}, not at the pinned commit")
        _check_size(git)
        git.run("checkout", "--quiet", "--detach", "--no-recurse-submodules", commit)
        shutil.rmtree(draft / ".git")
        target = cache / f"{key}-{commit}"
        if not target.is_dir():
            draft.rename(target)
        return target
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _check_size(git: _Git) -> None:
    sizes = [line.split(None, 4)[3] for line in git.run("ls-tree", "-r", "-l", "FETCH_HEAD").splitlines()]
    total = sum(int(size) for size in sizes if size.isdecimal())
    if len(sizes) > _MAX_FILES or total > _MAX_BYTES:
        raise git.create_error(f"{len(sizes)} files with {total} bytes are too many")


def find_cache_folder() -> Path:
    """Return the folder of fetched repositories in the cache of the user."""
    folder = read_environment().get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "tactician" / "repositories"


class _Git:
    """The git command in a folder, without the settings of this machine."""

    def __init__(self, place: RepositoryAddress, folder: Path, seconds: float) -> None:
        self._place, self._folder, self._seconds = place, folder, seconds
        ours = read_environment()
        self._environment = {name: ours[name] for name in _INHERITED if name in ours} | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": ":".join(place.schemes),
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
            "GIT_LFS_SKIP_SMUDGE": "1",
        }

    def run(self, *arguments: str) -> str:
        """Run a command, and return its output.

        Raises:
            ConfigurationError: when it fails, or takes too long.
        """
        settings = [part for setting in _SAFE for part in ("-c", setting)]
        try:
            done = subprocess.run(
                ["git", *settings, *arguments],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self._seconds,
                check=False,
            )
        except FileNotFoundError as error:
            raise ConfigurationError("repositories need the git command: install git") from error
        except subprocess.TimeoutExpired as error:
            raise self.create_error(f"git {arguments[0]} took longer than {self._seconds:g} seconds") from error
        if done.returncode != 0:
            reason = done.stderr.decode(errors="replace").replace(self._place.url, self._place.shown_url)
            raise self.create_error(f"git {arguments[0]} failed: {' '.join(reason.split())[:500]}")
        return done.stdout.decode(errors="replace")

    def create_error(self, problem: str) -> ConfigurationError:
        """Return an error about the repository."""
        return ConfigurationError(f"repository {self._place.shown_url}: {problem}")
