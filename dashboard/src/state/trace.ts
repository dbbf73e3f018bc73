/**
 * A run as a tree of spans, built from its events as they come.
 *
 * An event that opens a span is the span's id; any event carries the id of the span around it, so that no kind of event but
 * those that open and close needs to be known here.
 */

import type { Json, RunEvent } from "../api/types";
import { CLOSES, errorOf, field, keyOf, MOMENTS, nameOf, NOTHING, OPENS, reasonOf, type SpanKind, statusOf } from "./span-events";

export interface Segment {
  start: number;
  end: number | null;
}

export interface Span {
  id: string;
  kind: SpanKind;
  /** What tells it from others of its kind in the run. */
  key: string;
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
  gaveNothing: boolean;
  /** Why the run had stopped before, if it planned because it went on. */
  stop: Stop | null;
}

/** Why a run did nothing for a while: its program died or was stopped, or it waited for somebody. */
export type Stop = "interruption" | "wait";

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

const TROUBLES = new Set(["OutputRejected", "RequestRetried", "CircuitOpened", "ModelFellBack", "ActionRefused", "ToolRefused"]);

/** Kinds that go on where they rested, under the same key in the same run. */
const RESUMABLE = new Set<SpanKind>(["run", "action", "task", "phase", "review"]);
/** Statuses of a run that goes on later. */
const WAITING = new Set(["waiting", "paused", "stuck", "resting"]);
const END_WORDS: Readonly<Record<string, string>> = { failed: "failed", terminated: "was terminated", killed: "was killed" };
const RESTING = new Set([...WAITING, "interrupted"]);

export class TraceModel {
  readonly roots: Span[] = [];
  readonly events: RunEvent[] = [];
  readonly revisions: Revision[] = [];
  readonly conversations: Conversation[] = [];
  readonly troubles: Trouble[] = [];
  /** Tokens and dollars of the answers of models so far: the record of a run has them when its step has ended. */
  tokens = 0;
  cost = 0;
  start = Infinity;
  end = 0;

  private readonly spans = new Map<string, Span>();
  private readonly runs = new Map<string, Span>();
  /** The last span of each kind and key in each run. */
  private readonly latest = new Map<string, Span>();
  private readonly current = new Map<string, Conversation>();
  private readonly lastAction = new Map<string, RunEvent>();
  /** Runs that wait, as far as their latest events say. */
  private readonly waiting = new Set<string>();
  /** Why the runs had stopped that have gone on, and have made no plan since. */
  private readonly stops = new Map<string, { stop: Stop; until: number }>();
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
    if (event.type in CLOSES) this.close(event);
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
      if (span.status === "waiting" && span.kind !== "run") span.status = status === "completed" ? "completed" : "cancelled";
    }
  }

  /** End what is open for now, as the run does nothing: the store has no event that says so. */
  rest(status: string): void {
    for (const span of this.spans.values()) {
      if (isOpen(span)) end(span, this.end, span.kind === "run" ? status : statusInside(status));
    }
  }

  /** Note that a run begins or goes on. One that has begun in the same way, and told no end, has rested in between. */
  private begin(event: RunEvent): void {
    this.begun += 1;
    const types = this.beginnings.get(event.run_id) ?? [];
    const run = this.runs.get(event.run_id);
    const goesOn = new Set(types).has(event.type) || (run !== undefined && RESTING.has(run.status));
    const waited = this.waiting.delete(event.run_id) || WAITING.has(run?.status ?? "");
    if (goesOn) this.stops.set(event.run_id, { stop: waited ? "wait" : "interruption", until: event.time });
    if (new Set(types).has(event.type)) this.rest("interrupted");
    this.beginnings.set(event.run_id, new Set([...(run !== undefined && isOpen(run) ? types : []), event.type]));
  }

  private open(kind: SpanKind, event: RunEvent): Span {
    const earlier = this.findEarlier(kind, event);
    if (earlier !== null) {
      // A process inside another begins twice: as a run, and as a process.
      if (!isOpen(earlier)) earlier.segments.push({ start: event.time, end: null });
      earlier.status = "running";
      this.spans.set(event.id, earlier);
      return earlier;
    }
    const span: Span = {
      id: event.id,
      kind,
      key: keyOf(kind, event),
      name: nameOf(kind, event),
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
    this.latest.set(placeOf(kind, event), span);
    (span.parent?.children ?? this.roots).push(span);
    if (kind === "run") this.runs.set(event.run_id, span);
    return span;
  }

  /** Return the span that goes on: a run that has begun before, or something that rested. */
  private findEarlier(kind: SpanKind, event: RunEvent): Span | null {
    if (kind === "run") return this.runs.get(event.run_id) ?? null;
    if (!RESUMABLE.has(kind)) return null;
    const last = this.latest.get(placeOf(kind, event));
    return last !== undefined && RESTING.has(last.status) ? last : null;
  }

  private findParent(kind: SpanKind, event: RunEvent): Span | null {
    const around = event.span_id === null ? undefined : this.spans.get(event.span_id);
    if (around !== undefined) return around;
    const own = kind === "run" ? undefined : this.runs.get(event.run_id);
    return own ?? this.runs.get(event.parent_id ?? "") ?? this.roots.find((root) => root.kind === "run") ?? null;
  }

  private close(event: RunEvent): void {
    const [kind] = CLOSES[event.type]!;
    const span = this.findClosed(kind, event);
    if (span === null) return;
    const status = statusOf(event);
    for (const inner of listOpen(span)) end(inner, event.time, statusInside(status));
    end(span, event.time, status);
    span.closing = event;
    span.error = errorOf(event);
    this.reportEnd(event, span);
  }

  /** Return the span that an event closes: around the event, or the last with its key. */
  private findClosed(kind: SpanKind, event: RunEvent): Span | null {
    if (kind === "run") return this.runs.get(event.run_id) ?? null;
    const key = keyOf(kind, event);
    let around = this.spans.get(event.span_id ?? "") ?? null;
    for (; around !== null; around = around.parent) {
      if (around.kind === kind && around.runId === event.run_id && around.key === key) return around;
    }
    const last = this.latest.get(placeOf(kind, event)) ?? null;
    if (!MOMENTS.has(event.type)) return last;
    if (last !== null && (isOpen(last) || RESTING.has(last.status))) return last;
    return last !== null && event.type === "TaskRestored" ? null : this.open(kind, event);
  }

  private reportEnd(event: RunEvent, span: Span): void {
    if (span.kind !== "run") {
      if (span.error !== "") this.report(event, `${span.name} failed`, span.error);
      return;
    }
    for (const reason of [event["failure"], event["error"]]) {
      if (typeof reason === "string") this.report(event, `${span.name} ${END_WORDS[span.status] ?? `is ${span.status}`}`, reason);
    }
  }

  private note(event: RunEvent): void {
    if (event.type === "TurnStarted") this.startTurn(event);
    else if (event.type === "TurnCompleted") this.completeTurn(event);
    else if (event.type === "ToolReturned") this.addResult(event);
    else if (event.type === "ActionCompleted") this.endAction(event);
    else if (event.type === "ActionSuspended" || event.type === "RunSuspended") this.waiting.add(event.run_id);
    else if (event.type === "PlanMade") this.addRevision(event);
    else if (TROUBLES.has(event.type)) this.report(event, TROUBLE_NAMES[event.type] ?? event.type, reasonOf(event));
  }

  private endAction(event: RunEvent): void {
    this.lastAction.set(event.run_id, event);
    this.waiting.delete(event.run_id);
  }

  private addRevision(event: RunEvent): void {
    const last = this.lastAction.get(event.run_id);
    const stopped = this.stops.get(event.run_id);
    this.stops.delete(event.run_id);
    const hasSurprised = last !== undefined && last.time >= (stopped?.until ?? 0) && statusOf(last) !== "completed";
    this.revisions.push({
      runId: event.run_id,
      at: event.time,
      plan: event["plan"] as unknown as PlanData,
      after: last === undefined ? "" : String(last["action"]),
      error: last === undefined ? "" : errorOf(last),
      gaveNothing: last !== undefined && statusOf(last) === NOTHING,
      stop: hasSurprised ? null : (stopped?.stop ?? null),
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
    const usage = field(event["response"], "usage");
    const [sent, received] = ["input", "output"].map((part) => Number(field(usage, `${part}_tokens`) ?? 0));
    const price = (part: string): number => Number(field(field(usage, "price"), part) ?? 0);
    this.tokens += sent! + received!;
    this.cost += (sent! * price("input") + received! * price("output")) / 1e6;
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
  ActionRefused: "A rule kept an action out",
  ToolRefused: "A rule kept a tool out",
  OutputRejected: "An answer is not valid",
  RequestRetried: "A request was tried again",
  CircuitOpened: "A model is out of service for a while",
  ModelFellBack: "Another model took over",
};

function placeOf(kind: SpanKind, event: RunEvent): string {
  return `${kind} ${event.run_id} ${keyOf(kind, event)}`;
}

function isOpen(span: Span): boolean {
  return span.segments.at(-1)!.end === null;
}

function end(span: Span, time: number, status: string): void {
  const last = span.segments.at(-1)!;
  last.end ??= time;
  span.status = status;
}

/** Return the open spans inside a span, which cannot outlast it: all but runs. */
function listOpen(span: Span): Span[] {
  return span.children
    .filter((child) => child.kind !== "run")
    .flatMap((child) => [...listOpen(child), ...(isOpen(child) ? [child] : [])]);
}

/** Return the status of what was open inside something that ended, or rests. */
function statusInside(status: string): string {
  if (status === "interrupted") return status;
  return RESTING.has(status) ? "waiting" : "cancelled";
}
