"""The modules of the package that can be imported on this machine."""

import os
from importlib.util import find_spec
from pkgutil import walk_packages

import tactician

HAS_EVALS = find_spec("pydantic_evals") is not None or bool(os.environ.get("CI"))
"""True where the extra `evals` is installed. In CI it must be there; a newer pydantic-ai keeps it from being there."""


def list_module_names() -> list[str]:
    """Return the names of all modules, without those that need an extra which is not installed."""
    names = [module.name for module in walk_packages(tactician.__path__, "tactician.")]
    return [name for name in names if HAS_EVALS or not name.startswith("tactician.evals.")]
