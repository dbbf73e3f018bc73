/**
 * A run as a tree of spans, built from its events as they come.
 *
 * An event that opens a span is the span's id; any event carries the id of the span around it, so that no kind of event but
 * those that open and close needs to be known here.
 */

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

export interface Segment {
  start: number;
  end: number | null;
}

export interface Span {
  id: string;
  kind: SpanKind;
  name: string;
  runId: string;
  parent: Span | null;
  children: Span[];
  /** Stretches of work: a span that waited has several. */
  segments: Segment[];
  status: string;
  error: string;
  opening: RunEvent;
  closing: RunEvent | null;
}

export interface Revision {
  runId: string;
  at: number;
  plan: PlanData;
  /** Action that ended just before. */
  after: string;
  /** Why that action failed, if it did. */
  error: string;
}

export interface PlanData {
  goal: { name: string; value: number };
  actions: { name: string; pre: Record<string, boolean>; effects: Record<string, boolean>; cost: number }[];
  value: number;
  optimal: boolean;
  gap: number | null;
}

export interface Conversation {
  id: string;
  runId: string;
  path: string[];
  model: string;
  messages: Json[];
  /** Number of messages up to the latest answer, with that. */
  answered: number;
  turns: number;
  /** Text and thinking of an answer that is not complete. */
  partial: string;
  thinking: string;
  at: number;
}

export interface Trouble {
  at: number;
  path: string[];
  what: string;
  why: string;
}

const OPENS: Record<string, SpanKind> = {
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

const CLOSES: Record<string, string> = {
  RunEnded: "completed",
  ProcessEnded: "completed",
  PlanningEnded: "completed",
  ActionCompleted: "completed",
  ActionSuspended: "waiting",
  TurnCompleted: "completed",
  TurnFailed: "failed",
  ModelReturned: "completed",
  ToolReturned: "completed",
  ToolInterrupted: "waiting",
  RetrievalEnded: "completed",
  TaskCompleted: "completed",
  TaskSuspended: "waiting",
  TaskFailed: "failed",
  PhaseCompleted: "completed",
  PhaseReviewed: "completed",
  PhaseFailed: "failed",
  ReviewDecided: "completed",
  DelegationCompleted: "completed",
  DelegationFailed: "failed",
};

const TROUBLES = new Set(["OutputRejected", "RequestRetried", "CircuitOpened", "ModelFellBack"]);

/** Kinds that continue where they waited, under the same name in the same run. */
const RESUMABLE = new Set<SpanKind>(["run", "action", "task", "phase"]);

export class TraceModel {
  readonly roots: Span[] = [];
  readonly events: RunEvent[] = [];
  readonly revisions: Revision[] = [];
  readonly conversations: Conversation[] = [];
  readonly troubles: Trouble[] = [];
  start = Infinity;
  end = 0;

  private readonly spans = new Map<string, Span>();
  private readonly runs = new Map<string, Span>();
  private readonly waiting = new Map<string, Span>();
  private readonly current = new Map<string, Conversation>();
  private readonly lastAction = new Map<string, RunEvent>();
  private readonly seen = new Set<string>();
  /** Types of the events with which each run has begun since it rested: a process inside another has two of them. */
  private readonly beginnings = new Map<string, Set<string>>();
  /** How often runs have begun, or have gone on. */
  begun = 0;

  /** Take an event; one that was taken before changes nothing. */
  add(event: RunEvent): void {
    if (event.type === "TextReceived" || event.type === "ThinkingReceived") return this.addPiece(event);
    if (event.type === "PartialReceived" || this.seen.has(event.id)) return;
    this.seen.add(event.id);
    const opens = OPENS[event.type];
    if (opens === "run") this.begin(event);
    this.start = Math.min(this.start, event.time);
    this.end = Math.max(this.end, event.time);
    if (opens !== undefined) this.open(opens, event);
    const closes = CLOSES[event.type];
    if (closes !== undefined) this.close(closes, event);
    this.note(event);
    this.events.push(event);
  }

  /** Return the span of a run inside. */
  run(runId: string): Span | null {
    return this.runs.get(runId) ?? null;
  }

  /** End what is open, as the run has ended: a program that died told no end. */
  finish(status: string): void {
    this.rest(status);
    for (const span of this.spans.values()) {
      if (span.status === "waiting" && span.kind !== "run") span.status = "completed";
    }
  }

  /** End what is open for now, as the run does nothing: the store has no event that says so. */
  rest(status: string): void {
    for (const span of this.spans.values()) {
      const last = span.segments.at(-1)!;
      if (last.end === null) {
        last.end = this.end;
        span.status = span.kind === "run" ? status : "cancelled";
      }
    }
  }

  /** Note that a run begins or goes on. One that has begun in the same way, and told no end, has rested in between. */
  private begin(event: RunEvent): void {
    this.begun += 1;
    const known = this.beginnings.get(event.run_id);
    if (known?.has(event.type) === true) this.rest("running");
    const isOpen = this.runs.get(event.run_id)?.segments.at(-1)!.end === null;
    this.beginnings.set(event.run_id, new Set([...(isOpen && known !== undefined ? known : []), event.type]));
  }

  private open(kind: SpanKind, event: RunEvent): void {
    const name = nameOf(kind, event);
    const earlier = this.findEarlier(kind, name, event);
    if (earlier !== null) {
      // A process inside another begins twice: as a run, and as a process.
      if (earlier.segments.at(-1)!.end !== null) earlier.segments.push({ start: event.time, end: null });
      earlier.status = "running";
      this.spans.set(event.id, earlier);
      return;
    }
    const span: Span = {
      id: event.id,
      kind,
      name,
      runId: event.run_id,
      parent: this.findParent(kind, event),
      children: [],
      segments: [{ start: event.time, end: null }],
      status: "running",
      error: "",
      opening: event,
      closing: null,
    };
    this.spans.set(event.id, span);
    (span.parent?.children ?? this.roots).push(span);
    if (kind === "run") this.runs.set(event.run_id, span);
  }

  /** Return the span that goes on: a run that has begun before, or something that waited. */
  private findEarlier(kind: SpanKind, name: string, event: RunEvent): Span | null {
    if (kind === "run") return this.runs.get(event.run_id) ?? null;
    if (!RESUMABLE.has(kind)) return null;
    const key = `${kind} ${event.run_id} ${name}`;
    const earlier = this.waiting.get(key) ?? null;
    this.waiting.delete(key);
    return earlier;
  }

  private findParent(kind: SpanKind, event: RunEvent): Span | null {
    const around = event.span_id === null ? undefined : this.spans.get(event.span_id);
    if (around !== undefined) return around;
    const own = kind === "run" ? undefined : this.runs.get(event.run_id);
    return own ?? this.runs.get(event.parent_id ?? "") ?? this.roots.find((root) => root.kind === "run") ?? null;
  }

  private close(status: string, event: RunEvent): void {
    const isRun = event.type === "RunEnded" || event.type === "ProcessEnded";
    const span = isRun ? this.runs.get(event.run_id) : this.spans.get(event.span_id ?? "");
    if (span === undefined) return;
    span.segments.at(-1)!.end = event.time;
    span.closing = event;
    span.error = errorOf(event);
    span.status = isRun ? String(event["status"]) : span.error !== "" ? "failed" : status;
    if (span.status === "waiting") this.waiting.set(`${span.kind} ${span.runId} ${span.name}`, span);
    if (span.error !== "" && !isRun) this.report(event, `${span.name} failed`, span.error);
    if (isRun && typeof event["failure"] === "string") this.report(event, `${span.name} is ${span.status}`, event["failure"]);
    if (isRun && typeof event["error"] === "string") this.report(event, `${span.name} is ${span.status}`, event["error"]);
  }

  private note(event: RunEvent): void {
    if (event.type === "TurnStarted") this.startTurn(event);
    else if (event.type === "TurnCompleted") this.completeTurn(event);
    else if (event.type === "ToolReturned") this.addResult(event);
    else if (event.type === "ActionCompleted") this.lastAction.set(event.run_id, event);
    else if (event.type === "PlanMade") this.addRevision(event);
    else if (TROUBLES.has(event.type)) this.report(event, TROUBLE_NAMES[event.type] ?? event.type, reasonOf(event));
  }

  private addRevision(event: RunEvent): void {
    const last = this.lastAction.get(event.run_id);
    this.revisions.push({
      runId: event.run_id,
      at: event.time,
      plan: event["plan"] as unknown as PlanData,
      after: last === undefined ? "" : String(last["action"]),
      error: last === undefined ? "" : errorOf(last),
    });
  }

  private startTurn(event: RunEvent): void {
    const messages = field(event["request"], "messages");
    let conversation = this.current.get(event.run_id);
    if (conversation === undefined || (event["turn"] === 1 && conversation.turns > 0)) {
      const { id, run_id: runId, path, time: at } = event;
      conversation = { id, runId, path, model: "", messages: [], answered: 0, turns: 0, partial: "", thinking: "", at };
      this.current.set(runId, conversation);
      this.conversations.push(conversation);
    }
    conversation.model = String(event["model"]);
    conversation.messages.length = conversation.answered;
    if (Array.isArray(messages)) conversation.messages.push(...messages);
    conversation.partial = conversation.thinking = "";
  }

  private completeTurn(event: RunEvent): void {
    const conversation = this.current.get(event.run_id);
    const message = field(event["response"], "message");
    if (conversation === undefined || message === undefined) return;
    conversation.messages.push(message);
    conversation.answered = conversation.messages.length;
    conversation.turns += 1;
    conversation.partial = conversation.thinking = "";
  }

  private addResult(event: RunEvent): void {
    const conversation = this.current.get(event.run_id);
    conversation?.messages.push(event["result"] ?? null);
  }

  private addPiece(event: RunEvent): void {
    const conversation = this.current.get(event.run_id);
    if (conversation === undefined) return;
    if (event.type === "TextReceived") conversation.partial += String(event["text"]);
    else conversation.thinking += String(event["text"]);
  }

  private report(event: RunEvent, what: string, why: string): void {
    this.troubles.push({ at: event.time, path: event.path, what, why });
  }
}

const TROUBLE_NAMES: Record<string, string> = {
  OutputRejected: "An answer is not valid",
  RequestRetried: "A request was tried again",
  CircuitOpened: "A model is out of service for a while",
  ModelFellBack: "Another model took over",
};

function nameOf(kind: SpanKind, event: RunEvent): string {
  if (kind === "run") return event.path.at(-1) ?? String(event["agent"] ?? "run");
  if (kind === "plan") return "plan";
  if (kind === "tool") return String(field(event["call"], "name") ?? "tool");
  for (const name of ["action", "task_id", "model", "source", "phase", "role", "target"]) {
    const value = event[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return event.type;
}

function errorOf(event: RunEvent): string {
  if (typeof event["error"] === "string") return event["error"];
  const result = event["result"];
  if (field(result, "is_error") === true) return String(field(result, "content"));
  return event.type.endsWith("Failed") ? reasonOf(event) : "";
}

function reasonOf(event: RunEvent): string {
  for (const name of ["reason", "error", "failure", "why", "target"]) {
    const value = event[name];
    if (typeof value === "string") return value;
  }
  return "";
}

/** Return a field of a value that may be anything. */
export function field(value: Json | undefined, name: string): Json | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  return value[name];
}
