"""HTML without what is not text: navigation, permalinks, the addresses of links, titles that are shown on hovering.

Runs in the process of the parser only.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tactician.tools.builtin.page_encoding import decode_text

_NAVIGATION: Final = (
    "//nav | //*[@role='navigation' or @role='search' or @role='contentinfo'] | //body/footer | //body/*/footer"
    " | //form[@role='search']"
)
_MAIN: Final = "//main | //*[@role='main']"
_PERMALINK: Final = re.compile(r"[\s\u00b6\u00a7#\u2693\u221e\U0001f517\ufe0e\ufe0f]*")
_SPACE: Final = re.compile(r"\s+")


def clean_html(body: bytes) -> tuple[bytes, str]:
    """Return the content of a page without what is not text, in UTF-8, and its title.

    Args:
        body: the page as it was read.
    """
    from lxml import etree, html

    text = decode_text(body, "", is_page=True).replace("\0", "")
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    page = html.document_fromstring(text.encode("utf-8", "replace") or b"<p></p>", parser=parser)
    title = _find_title(page)
    etree.strip_elements(page, "script", "style", "noscript", "template", with_tail=False)
    for element in page.xpath(_NAVIGATION):
        if element.getparent() is not None:
            element.drop_tree()
    for link in page.iter("a"):
        if _is_permalink(link):
            link.clear(keep_tail=True)
    for image in page.iter("img"):
        image.text = image.get("alt", "")
    # All at once, which is linear. The converter drops a line break before a span.
    etree.strip_tags(page, "a", "span", "img")
    for element in page.iter():
        element.attrib.pop("title", None)
    _keep_main(page)
    return html.tostring(page, encoding="utf-8"), title


def _find_title(page: Any) -> str:  # noqa: ANN401 - lxml has no types
    titles = page.xpath("//head/title | //title")
    return _SPACE.sub(" ", titles[0].text_content()).strip() if titles else ""


def _is_permalink(link: Any) -> bool:  # noqa: ANN401
    """Return whether a link leads to the place that it is at."""
    return "headerlink" in link.get("class", "").split() or (
        "#" in link.get("href", "") and not len(link) and _PERMALINK.fullmatch(link.text or "") is not None
    )


def _keep_main(page: Any) -> None:  # noqa: ANN401
    """Keep the main part of a page only, if the page says which part that is."""
    bodies, mains = page.xpath("//body"), page.xpath(_MAIN)
    if len(mains) == 1 and bodies and mains[0].text_content().strip():
        (main,) = mains
        bodies[0].clear()
        bodies[0].append(main)
