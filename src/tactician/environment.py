"""Environment variables of a call, or of this process."""

from __future__ import annotations

import os
from collections.abc import Mapping


def read_environment(environment: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Return the environment, or this process's environment for `None`.

    No parameter has `os.environ` as its default: `help()` and signatures would print the keys in it.
    """
    return os.environ if environment is None else environment
