"""How long importing takes and how much memory it needs, in fresh interpreters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from benchmarks.contenders import CONTENDERS, TACTICIAN, Contender
from benchmarks.environments import Environment
from benchmarks.measures import ChildError, Spread, json_from, progress
from benchmarks.report import Section, judge

SECONDS_BUDGET = 0.15
MEGABYTES_BUDGET = 45.0

COLUMNS = ("client", "the package", "peak MB", "all that a run needs", "peak MB", "over bare Python", "budget")

# Imports nothing before the statement that is measured, so that nothing is already there. Reads the peak from /proc
# where there is one: `ru_maxrss` survives exec there and would count the parent's memory.
PROBE = """
import sys, time
started = time.perf_counter()
exec(sys.argv[1])
seconds = time.perf_counter() - started
try:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
except OSError:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
print(f'{{"seconds": {seconds}, "peak": {peak}}}')
"""

Samples = dict[str, list[dict[str, float]]]  # by statement


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    section = Section("Importing", COLUMNS, raw={})
    for contender in CONTENDERS:
        environment = environments[contender.environment]
        progress(f"imports: {contender.name}")
        try:
            if environment.problem:
                raise ChildError(environment.problem)
            samples = sample(environment, contender, 2 if quick else 5)
        except ChildError as error:
            section.add_failure(contender.name, str(error))
            continue
        section.raw[contender.module] = samples
        add_row(section, contender, samples)
    section.notes.append("Seconds of wall time and peak resident memory of a fresh interpreter; medians.")
    return [section]


def sample(environment: Environment, contender: Contender, times: int) -> Samples:
    """Import the package, and all that a run needs, some times over; the first, which may compile, is not counted."""
    samples: Samples = defaultdict(list)
    for number in range(times + 1):
        for statement in ("pass", f"import {contender.package}", contender.needs):
            result = json_from(environment.python, ["-I", "-c", PROBE, statement])
            if number:
                samples[statement].append(result)
    return samples


def add_row(section: Section, contender: Contender, samples: Samples) -> None:
    seconds, peaks = (
        [Spread.of(run[key] for run in samples[statement]) for statement in samples] for key in ("seconds", "peak")
    )
    _, package, needs = seconds
    bare, package_peak, needs_peak = (spread.median for spread in peaks)
    budget = ""
    if contender is TACTICIAN:
        budget = f"{judge(package.median, SECONDS_BUDGET, ' s')}, {judge(package_peak, MEGABYTES_BUDGET, ' MB')}"
    times = (f"{package.show()} s", f"{package_peak:.0f}", f"{needs.show()} s", f"{needs_peak:.0f}")
    section.add(contender.name, *times, f"+{needs_peak - bare:.0f}", budget)
