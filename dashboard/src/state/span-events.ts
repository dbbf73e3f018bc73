/** Which events open and close spans, and what they say of them. No other kind of event needs to be known here. */

import type { Json, RunEvent } from "../api/types";

export type SpanKind =
  | "run"
  | "plan"
  | "action"
  | "model"
  | "tool"
  | "search"
  | "task"
  | "phase"
  | "review"
  | "delegation";

export const OPENS: Record<string, SpanKind> = {
  RunStarted: "run",
  ProcessStarted: "run",
  PlanningStarted: "plan",
  ActionStarted: "action",
  ActionResumed: "action",
  TurnStarted: "model",
  ModelCalled: "model",
  ToolCalled: "tool",
  RetrievalStarted: "search",
  TaskStarted: "task",
  TaskResumed: "task",
  PhaseStarted: "phase",
  PhaseResumed: "phase",
  ReviewRequested: "review",
  DelegationStarted: "delegation",
};

/** Kind of the span that an event closes, and the status that the span then has. */
export const CLOSES: Record<string, readonly [SpanKind, string]> = {
  RunEnded: ["run", "completed"],
  ProcessEnded: ["run", "completed"],
  PlanningEnded: ["plan", "completed"],
  ActionCompleted: ["action", "completed"],
  ActionSuspended: ["action", "waiting"],
  TurnCompleted: ["model", "completed"],
  TurnFailed: ["model", "failed"],
  ModelReturned: ["model", "completed"],
  ToolReturned: ["tool", "completed"],
  ToolInterrupted: ["tool", "waiting"],
  RetrievalEnded: ["search", "completed"],
  TaskCompleted: ["task", "completed"],
  TaskSuspended: ["task", "waiting"],
  TaskFailed: ["task", "failed"],
  TaskSkipped: ["task", "skipped"],
  TaskRestored: ["task", "completed"],
  PhaseCompleted: ["phase", "completed"],
  PhaseReviewed: ["phase", "completed"],
  PhaseFailed: ["phase", "failed"],
  ReviewDecided: ["review", "completed"],
  DelegationCompleted: ["delegation", "completed"],
  DelegationFailed: ["delegation", "failed"],
};

/** Events that close a span which nothing may have opened: it was opened in another process, or is a moment. */
export const MOMENTS = new Set(["TaskSkipped", "TaskRestored", "ReviewDecided"]);

/** Status of an action that has ended without a result, and without an error. */
export const NOTHING = "gave nothing";

/** Return what tells a span from others of its kind in the run. */
export function keyOf(kind: SpanKind, event: RunEvent): string {
  switch (kind) {
    case "tool":
      return String(field(event["call"], "id") ?? "");
    case "review":
      return `${String(event["task_id"])}/${String(event["timing"])}`;
    case "model":
      return String(event["turn"] ?? event["operation"] ?? "");
    case "delegation":
      return String(event["delegation_id"]);
    case "task":
      return String(event["task_id"]);
    case "plan":
      return ""; // the end of planning has the plan, which its beginning has not
    default:
      return String(event[kind === "search" ? "source" : kind] ?? "");
  }
}

export function nameOf(kind: SpanKind, event: RunEvent): string {
  if (kind === "run") return event.path.at(-1) ?? String(event["agent"] ?? "run");
  if (kind === "plan") return "plan";
  if (kind === "tool") return String(field(event["call"], "name") ?? "tool");
  for (const name of ["action", "task_id", "model", "source", "phase", "role", "target"]) {
    const value = event[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return event.type;
}

/** Return the status of a span that an event closes. */
export function statusOf(event: RunEvent): string {
  const [kind, status] = CLOSES[event.type]!;
  if (kind === "run") return String(event["status"]);
  if (errorOf(event) !== "") return "failed";
  const outputs = event["outputs"];
  if (event.type === "ActionCompleted" && Array.isArray(outputs) && outputs.length === 0) return NOTHING;
  if (event.type === "PhaseReviewed" && event["decision"] === "reject") return "failed";
  return status;
}

export function errorOf(event: RunEvent): string {
  if (typeof event["error"] === "string") return event["error"];
  const result = event["result"];
  if (field(result, "is_error") === true) return String(field(result, "content"));
  return event.type.endsWith("Failed") ? reasonOf(event) : "";
}

export function reasonOf(event: RunEvent): string {
  for (const name of ["reason", "error", "failure", "why", "target"]) {
    const value = event[name];
    if (typeof value === "string") return value;
  }
  const { rules } = event;
  const what = event["action"] ?? field(event["call"], "name");
  return Array.isArray(rules) ? `${String(what)} was not run: ${rules.join(", ")}` : "";
}

/** Return a field of a value that may be anything. */
export function field(value: Json | undefined, name: string): Json | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  return value[name];
}
