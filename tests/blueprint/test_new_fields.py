"""A field that a class gets is in all its forms as data: it is added to a copy of the source, and looked for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import tactician

ADDED: Final[Mapping[str, tuple[str, str]]] = {
    "agents/spec.py": ("    max_tool_calls: Positive | None\n", "    max_pictures: Positive | None\n"),
    "loop/policy.py": ("    max_tool_calls: int | None = None\n", "    max_pictures: int | None = None\n"),
    "process/state/options.py": ("    memory_id: str | None = None\n", "    purpose: str | None = None\n"),
    "resilience/circuit_breaker.py": ("    window: Seconds | None = None\n", "    patience: Seconds | None = None\n"),
    "llm/usage.py": ("    cache_write: Amount | None = None\n", "    batch: Amount | None = None\n"),
    "ensemble/values/delegation.py": ("    max_output_retries: Count = 0\n", '    language: str = ""\n'),
}
"""The files, and after which line of each a field is added."""

PROGRAM: Final = """
from tactician import Agent, Blueprint, ProcessOptions
from tactician.blueprint import json_schema
from tactician.config.model_settings import CircuitBreakerSettings
from tactician.ensemble import DelegationRequest
from tactician.ensemble.delegation.log import decode_request, encode_request
from tactician.errors import DeclarationError, DocumentError
from tactician.llm.custom import _Price
from tactician.process.saving.saved_state import restore_options, save_options

def refuses(make, kind):
    try:
        make()
    except kind as error:
        return "greater than 0" in str(error) or "> 0" in str(error)
    return False

agent = Agent("Painter", model="test", max_pictures=3)
assert Agent("Painter").spec.max_pictures is None
assert agent.spec.with_settings(max_pictures=5).max_pictures == 5
assert refuses(lambda: Agent("Painter", max_pictures=0), DeclarationError)
text = agent.to_blueprint(strict=True).to_json()
assert '"maxPictures": 3' in text
assert Blueprint.from_json(text).build().spec.max_pictures == 3
assert refuses(lambda: Blueprint.from_json(text.replace('"maxPictures": 3', '"maxPictures": 0')).build(), DocumentError)
assert "maxPictures" in str(json_schema())

options = ProcessOptions(purpose="a test")
assert restore_options(save_options(options)) == options
assert CircuitBreakerSettings.model_validate({"patience": 2.5}).model_dump(exclude_none=True) == {"patience": 2.5}
assert _Price.model_validate({"input": 1, "output": 2, "batch": 0.5}).model_dump()["batch"] == 0.5
request = DelegationRequest("Writer", "Write", language="fr")
assert decode_request(encode_request(request, {}), {}) == request
"""


def test_a_field_that_is_declared_once_is_in_every_form(tmp_path: Path) -> None:
    source = tmp_path / "tactician"
    shutil.copytree(Path(tactician.__file__).parent, source, ignore=shutil.ignore_patterns("static", "__pycache__"))
    for name, (line, added) in ADDED.items():
        text = (source / name).read_text(encoding="utf-8")
        assert line in text, name
        (source / name).write_text(text.replace(line, line + added, 1), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
