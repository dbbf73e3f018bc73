"""A program that is frozen past its lease after any of its steps, while another one claims the run."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import pytest

from tactician import Platform
from tactician.platform import Worker
from tactician.runs.life.holding import DEFAULT_LEASE
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import Lease, StoredStep
from tactician.testing import ScriptedModel
from tests.crash.kinds import ENQUEUED, Kind, create_agents
from tests.crash.ledger import Ledger


class FreezingStore(MemoryStore):
    """Store whose program is frozen once a certain step is saved."""

    def __init__(self, step: int, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        self.frozen = 0.0
        self.begun: list[str] | None = None
        self._step = step
        self._ledger = ledger
        super().__init__(lambda: monotonic() + self.frozen)
        monkeypatch.setattr("tactician.clock.SystemClock.monotonic", lambda _: monotonic() + self.frozen)

    async def append(self, lease: Lease, step: StoredStep) -> None:
        await super().append(lease, step)
        if step.number == self._step:
            self.frozen = DEFAULT_LEASE
            assert await RunStore(self).claim("another program", DEFAULT_LEASE, run_id=lease.id) is not None
            self.begun = begun_in(self._ledger)


def begun_in(ledger: Ledger) -> list[str]:
    return [entry.step for entry in ledger.read() if entry.event == "begin"]


@pytest.mark.parametrize("kind", ENQUEUED, ids=lambda kind: kind.name)
async def test_nothing_begins_after_another_program_has_claimed_the_run(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for step in range(1, sum(kind.steps.values()), 3):
        ledger = Ledger(tmp_path / f"ledger{step}")
        store = FreezingStore(step, ledger, monkeypatch)
        platform = Platform(models=ScriptedModel(), store=store).register(*create_agents(ledger))
        await platform.enqueue(kind.name, kind.name, options=kind.options)

        assert await Worker(platform).run_once()

        assert begun_in(ledger) == store.begun, f"after step {step}"
        assert "has been taken by another worker" in caplog.text
        caplog.clear()
