/** Use of models over time, as curves. */

import type { ModelUseForm, UsePointForm } from "../api/overview";

export interface UseSeries {
  times: number[];
  /** By model: a value for each time. */
  cost: Map<string, (number | null)[]>;
  calls: Map<string, number[]>;
  errors: Map<string, number[]>;
  seconds: Map<string, (number | null)[]>;
}

const LEAST_POINTS = 10;
const MOST_POINTS = 24 * 60;

/** Return the curves from the first call until now: spans without calls count zero, and costs add up. */
export function buildSeries(use: readonly ModelUseForm[], span: number, now: number): UseSeries {
  const end = now - (now % span);
  const first = Math.min(end - LEAST_POINTS * span, ...use.flatMap((model) => model.points.map((point) => point.at)));
  const start = Math.max(first - span, end - MOST_POINTS * span);
  const times = Array.from({ length: Math.round((end - start) / span) + 1 }, (_, index) => start + index * span);
  const series: UseSeries = { times, cost: new Map(), calls: new Map(), errors: new Map(), seconds: new Map() };
  for (const { model, points } of use) {
    const at = new Map(points.map((point) => [point.at, point]));
    series.cost.set(model, addUp(times, at));
    series.calls.set(model, times.map((time) => at.get(time)?.calls ?? 0));
    series.errors.set(model, times.map((time) => at.get(time)?.errors ?? 0));
    series.seconds.set(model, times.map((time) => average(at.get(time))));
  }
  return series;
}

function addUp(times: number[], at: ReadonlyMap<number, UsePointForm>): (number | null)[] {
  let sum = 0;
  let isKnown = true;
  return times.map((time) => {
    const point = at.get(time);
    if (point !== undefined && point.cost === null) isKnown = false;
    sum += point?.cost ?? 0;
    return isKnown ? sum : null;
  });
}

function average(point: UsePointForm | undefined): number | null {
  return point === undefined || point.calls === 0 ? null : point.seconds / point.calls;
}

export interface UseTotal {
  model: string;
  calls: number;
  errors: number;
  tokens: number;
  cost: number | null;
}

export function sumUp({ model, points }: ModelUseForm): UseTotal {
  const total: UseTotal = { model, calls: 0, errors: 0, tokens: 0, cost: 0 };
  for (const point of points) {
    total.calls += point.calls;
    total.errors += point.errors;
    total.tokens += point.input_tokens + point.output_tokens;
    total.cost = total.cost === null || point.cost === null ? null : total.cost + point.cost;
  }
  return total;
}
