/** Spans of what the server's record has of a run, for the time of which it keeps no events. */

import type { ActionForm, RunDetailsForm, RunEvent } from "../api/types";
import { NOTHING } from "./span-events";
import type { Span, TraceModel } from "./trace";

/** Return the outermost spans of a run: those of its events, and those of its record from before the first event. */
export function findRoots(trace: TraceModel, details: RunDetailsForm): readonly Span[] {
  const root = trace.run(details.run.id);
  if (root === null) return trace.roots.length > 0 ? trace.roots : restore(details, Infinity);
  const [restored] = restore(details, trace.start);
  if (restored === undefined || restored.children.length === 0) return trace.roots;
  const whole: Span = {
    ...root,
    segments: [...restored.segments, ...root.segments],
    children: [...restored.children, ...root.children],
  };
  return trace.roots.map((span) => (span === root ? whole : span));
}

/** Return the span with an id. */
export function findSpan(spans: readonly Span[], id: string): Span | null {
  for (const span of spans) {
    const found = span.id === id ? span : findSpan(span.children, id);
    if (found !== null) return found;
  }
  return null;
}

/** Return the span of a run with those of its actions and of the runs inside that ended before a time. */
function restore(details: RunDetailsForm, before: number): Span[] {
  const { run } = details;
  if (run.started_at === null) return [];
  const actions = details.history.filter((action) => action.started_at + action.seconds < before);
  const inside = details.children.flatMap((child) => restore(child, before));
  const parts = [...actions.map((action) => restoreAction(action, run.id)), ...inside].sort((one, other) => startOf(one) - startOf(other));
  const ends = [run.started_at, ...parts.map((part) => part.segments.at(-1)!.end ?? 0)];
  const end = before === Infinity ? Math.max(run.started_at + run.seconds, ...ends) : Math.max(...ends);
  if (before < run.started_at) return [];
  return [createSpan("run", run.agent, run.id, run.started_at, end, run.status, run.failure ?? "", parts)];
}

function restoreAction(action: ActionForm, runId: string): Span {
  const status = statusOfAction(action);
  const end = action.started_at + action.seconds;
  return createSpan("action", action.name, runId, action.started_at, end, status, action.error ?? "", []);
}

/** Return the status of an action that has ended. */
export function statusOfAction(action: ActionForm): string {
  if (action.error !== null) return "failed";
  return action.outputs.length === 0 ? NOTHING : "completed";
}

function createSpan(
  kind: "run" | "action",
  name: string,
  runId: string,
  start: number,
  end: number,
  status: string,
  error: string,
  children: Span[],
): Span {
  const id = `${kind} ${runId} ${name} ${start}`;
  const opening: RunEvent = { type: "Restored", id, run_id: runId, parent_id: null, path: [], time: start, span_id: null };
  const segments = [{ start, end }];
  return { id, kind, key: name, name, runId, parent: null, children, segments, status, error, opening, closing: null };
}

function startOf(span: Span): number {
  return span.segments[0]!.start;
}
