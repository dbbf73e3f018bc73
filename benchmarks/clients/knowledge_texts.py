"""What the three programs of the section `knowledge` have in common: texts, questions, vectors, and figures.

Run in environments without Tactician: nothing but numpy and WordLlama is there.
"""

import itertools
import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SEED = 3
WORDS_OF_A_TEXT = 40
QUESTIONS = 40
TOP_K = 5


def make_vocabulary(rng: random.Random) -> tuple[list[str], list[float]]:
    """30,000 words whose frequencies fall as those of a language do."""
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(30_000)]
    return words, list(itertools.accumulate(1 / (place + 10) for place in range(len(words))))


def make_texts(count: int) -> list[str]:
    rng = random.Random(SEED)
    words, frequencies = make_vocabulary(rng)
    return [" ".join(rng.choices(words, cum_weights=frequencies, k=WORDS_OF_A_TEXT)) for _ in range(count)]


def make_questions(texts: Sequence[str]) -> list[tuple[int, str]]:
    """Four words of a text each, in another order."""
    rng = random.Random(SEED + 1)
    chosen = rng.sample(range(len(texts)), QUESTIONS)
    return [(number, " ".join(rng.sample(texts[number].split(), 4))) for number in chosen]


def load_model() -> Any:  # noqa: ANN401 - it has no types
    import wordllama

    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def report(
    count: int, seconds: float | None, load_seconds: float, latencies: Sequence[float], cpu: Sequence[float], hits: int
) -> None:
    """Print the figures as JSON. `ingest` is none, when what was searched is from an earlier run."""
    ordered = sorted(latencies)
    print(
        json.dumps(
            {
                "chunks": count,
                "ingest": seconds,
                "first": load_seconds,
                "p50": statistics.median(ordered) * 1000,
                "p95": ordered[int(len(ordered) * 0.95)] * 1000,
                "low": ordered[0] * 1000,
                "cpu": statistics.median(cpu) * 1000,
                "hits": hits / len(latencies),
                "peak": peak(),
            }
        )
    )


def peak() -> float:
    """The peak of resident memory in MB; `ru_maxrss` would count the parent's too."""
    try:
        status = Path("/proc/self/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def measure(count: int, ingest: Callable[[list[str]], bool], search: Callable[[str], Sequence[str]]) -> None:
    """Ingest `count` texts and search for them.

    Args:
        count: the number of texts, each of which is a chunk.
        ingest: function that ingests texts, and returns whether there was something to do.
        search: function that returns the texts of the hits.
    """
    texts = make_texts(count)
    questions = make_questions(texts)
    began = time.perf_counter()
    is_new = ingest(texts)
    seconds = time.perf_counter() - began if is_new else None
    began = time.perf_counter()
    search(questions[0][1])
    first = time.perf_counter() - began
    latencies, cpu, hits = [], [], 0
    for number, question in questions:
        began, began_cpu = time.perf_counter(), time.process_time()
        found = search(question)
        latencies.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
        hits += any(texts[number] in text for text in found[:TOP_K])
    report(count, seconds, first, latencies, cpu, hits)
