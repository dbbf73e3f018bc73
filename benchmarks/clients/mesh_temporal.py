"""Asks a worker of Temporal for work; prints the processor time of a request, a workflow with an activity, as JSON.

Client and worker are in this process, and the server is not: `python -m benchmarks.clients.mesh_temporal ROUNDS`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import timedelta
from pathlib import Path
from time import process_time
from uuid import uuid4

from temporalio import activity, workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

REQUESTS, WARM_UP, QUEUE = 50, 30, "kitchen"


@activity.defn
async def prepare(order: str) -> str:
    """Prepare a meal."""
    return f"{order}, ready"


@workflow.defn(sandboxed=False)
class Meal:
    """Workflow of a meal."""

    @workflow.run
    async def run(self, order: str) -> str:
        """Let the kitchen prepare the meal."""
        return await workflow.execute_activity(prepare, order, start_to_close_timeout=timedelta(seconds=30))


async def main(rounds: int) -> float:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program, dev_server_log_level="error"
    ) as server:

        async def ask(count: int) -> float:
            started = process_time()
            for _ in range(count):
                answer = await server.client.execute_workflow(Meal.run, "Wagyu", id=uuid4().hex, task_queue=QUEUE)
                assert answer == "Wagyu, ready"
            return (process_time() - started) / count

        async with Worker(server.client, task_queue=QUEUE, workflows=[Meal], activities=[prepare]):
            await ask(WARM_UP)
            return min([await ask(REQUESTS) for _ in range(rounds)])


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1])))))
