"""Tests of evaluations, which need the extra `evals`: in CI it must be there."""

from tests.support.modules import HAS_EVALS

collect_ignore_glob = [] if HAS_EVALS else ["test_*.py"]
