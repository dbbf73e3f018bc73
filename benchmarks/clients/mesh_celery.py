"""Asks a worker of Celery for work over Redis; prints the processor time of a request as JSON.

The worker is a thread of this process, and Redis is not: `python -m benchmarks.clients.mesh_celery ROUNDS URL`.
"""

from __future__ import annotations

import json
import sys
from time import process_time

from celery import Celery
from celery.contrib.testing.worker import start_worker

REQUESTS, WARM_UP = 50, 30


def main(rounds: int, url: str) -> float:
    app = Celery("benchmark", broker=url, backend=url)
    app.conf.update(task_acks_late=True, worker_prefetch_multiplier=1)

    @app.task(name="prepare")
    def prepare(order: str) -> str:
        """Prepare a meal."""
        return f"{order}, ready"

    def ask(count: int) -> float:
        started = process_time()
        for _ in range(count):
            assert prepare.delay("Wagyu").get(timeout=30) == "Wagyu, ready"
        return (process_time() - started) / count

    with start_worker(app, pool="threads", concurrency=2, perform_ping_check=False, loglevel="ERROR"):
        ask(WARM_UP)
        return min([ask(REQUESTS) for _ in range(rounds)])


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2])))
