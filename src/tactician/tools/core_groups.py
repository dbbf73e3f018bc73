"""Names of common tool groups, and the groups that come with the package."""

from __future__ import annotations

from typing import Final

from tactician.tools.groups import ToolGroup, ToolSource


class CoreToolGroups:
    """Names of common tool groups. Only `MATH` comes with the package; a platform provides the others.

    Attributes:
        WEB: search in the web and pages.
        MATH: arithmetic.
        MAPS: places and routes.
        BROWSER_AUTOMATION: a browser.
        GITHUB: repositories, issues and pull requests.
    """

    WEB: Final = "web"
    MATH: Final = "math"
    MAPS: Final = "maps"
    BROWSER_AUTOMATION: Final = "browser_automation"
    GITHUB: Final = "github"


def create_math_group() -> ToolGroup:
    """Create the group of tools for arithmetic, which are loaded when they are needed."""
    return ToolGroup(CoreToolGroups.MATH, _load_math, description="Arithmetic", provider="Tactician")


def _load_math() -> ToolSource:
    from tactician.tools.builtin.math_tools import MathTools

    return MathTools()
