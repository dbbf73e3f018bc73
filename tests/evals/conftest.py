"""Tests of evaluations, which need the extra `evals`: in CI it must be there."""

import os
from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("pydantic_evals") or os.environ.get("CI") else ["test_*.py"]
