"""Documents of a library whose files are gone from their folders."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname


def find_deleted(folder: Path, uris: Iterable[str]) -> list[str]:
    """Return the addresses of files that are no longer in a folder, or in the folders inside it.

    A file that cannot be looked at, because a folder around it cannot, is not gone.
    """
    return [uri for uri in uris if is_inside(folder, uri) and _is_gone(Path(url2pathname(urlsplit(uri).path)))]


def is_inside(folder: Path, uri: str) -> bool:
    """Return whether an address leads to a file in a folder, or in a folder inside it."""
    return uri.startswith(folder.as_uri().rstrip("/") + "/")


def _is_gone(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
