"""Lists of a server, page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, TypeVar

from tactician.mcp.errors import McpError

T = TypeVar("T")
MOST_ITEMS = 2_000
_MOST_PAGES = 100


class Page(Protocol):
    """Page of a list."""

    @property
    def next_cursor(self) -> str | None:
        """The place of the next page, if there are more."""
        ...


P = TypeVar("P", bound=Page)


async def list_all(load: Callable[[str | None], Awaitable[P]], read: Callable[[P], Iterable[T]]) -> list[T]:
    """Return the items of all pages.

    Args:
        load: function that loads the page at a cursor.
        read: function that returns the items of a page.

    Raises:
        McpError: when there are more than 2,000 items, or 100 pages.
    """
    items: list[T] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await load(cursor)
        items += read(page)
        cursor = page.next_cursor
        if len(items) > MOST_ITEMS:
            break
        if cursor is None:
            return items
    raise McpError(f"The list has more than {MOST_ITEMS:,} items, or {_MOST_PAGES} pages.")
