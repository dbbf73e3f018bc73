"""Runs that an earlier version has saved continue, and end as they would have ended in it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from tactician.stores import SqliteStore
from tests.earlier_versions.save import ENDS, create_platform, end_run

VERSIONS = sorted(path.parent for path in Path(__file__).parent.glob("*/runs.sql"))
EXPECTED = [
    pytest.param(version, name, end, id=f"{version.name}-{name}")
    for version in VERSIONS
    for name, end in json.loads((version / "ends.json").read_text(encoding="utf-8")).items()
]


@pytest.mark.parametrize(("version", "name", "expected"), EXPECTED)
async def test_a_waiting_run_ends_as_it_would_have(
    version: Path, name: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "runs.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript((version / "runs.sql").read_text(encoding="utf-8"))
    run_id = expected.pop("id")
    async with SqliteStore(file) as store, create_platform(store) as platform:
        end = await ENDS.get(name, end_run)(platform, run_id)

    assert from_json(to_json(end)) == expected
