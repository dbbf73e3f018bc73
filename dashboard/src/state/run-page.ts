/** What the page of a run shows: what the server says of it, and the trace of its events. */

import { type Signal, signal } from "@preact/signals";

import { api } from "../api/client";
import { openStream, type ServerEvent } from "../api/stream";
import type { PlanForm, RunDetailsForm, RunEvent, RunForm } from "../api/types";
import { Refresh } from "./refresh";
import { issueTicket, noteRun } from "./runs";
import { TraceModel } from "./trace";

/** Events after which the server is asked again for what it says. */
const NEWS = new Set([
  "ActionCompleted",
  "ActionSuspended",
  "TaskCompleted",
  "TurnCompleted",
  "RunStarted",
  "RunEnded",
  "RunSuspended",
  "ProcessStarted",
  "ProcessEnded",
  "RequestAnswered",
]);
const PAUSE = 700;
/** Milliseconds between two looks at a run that goes on: the server hears no events of workers on other machines. */
const LOOK = 15_000;

interface Answer {
  details: RunDetailsForm;
  ticket: number;
  begun: number;
}

export class RunPage {
  readonly details: Signal<RunDetailsForm | null> = signal(null);
  /** Why the run could not be read. */
  readonly problem = signal("");
  /** Why what somebody wanted of the run was refused. */
  readonly refusal = signal("");
  readonly plans: Signal<readonly PlanForm[]> = signal([]);
  /** Grows with each batch of events: whoever reads it draws again. */
  readonly version = signal(0);
  readonly trace = new TraceModel();
  private stop: () => void = () => {};
  private readonly looking: number;
  private readonly refresh: Refresh<Answer>;
  private readonly plansRefresh: Refresh<{ plans: PlanForm[] }>;

  constructor(readonly id: string) {
    this.refresh = new Refresh({
      read: (signal) => this.read(signal),
      take: (answer) => this.takeAnswer(answer),
      report: (problem) => (this.problem.value = problem),
      pause: (lastRead) => Math.max(PAUSE, lastRead * 4),
    });
    this.plansRefresh = new Refresh({
      read: (signal) => api.plans(this.id, signal),
      take: ({ plans }) => (this.plans.value = plans),
      report: () => {}, // the plan is shown without the reason until then
    });
    this.looking = window.setInterval(() => this.look(), LOOK);
    this.follow();
  }

  /** Read the run from now on: the server ends the stream of a run that has ended. */
  follow(): void {
    this.stop();
    this.refresh.renew();
    const path = `api/runs/${encodeURIComponent(this.id)}/events`;
    this.stop = openStream({
      path,
      query: { brief: "true" },
      take: (events) => this.take(events),
      onOpen: () => this.refresh.request(),
    });
  }

  close(): void {
    this.stop();
    clearInterval(this.looking);
    this.refresh.close();
    this.plansRefresh.close();
  }

  private look(): void {
    const run = this.details.value?.run;
    if (!document.hidden && run !== undefined && !hasEnded(run.status)) this.refresh.request();
  }

  private take(events: ServerEvent[]): void {
    for (const event of events) {
      if (event.kind === "end" || event.kind === "error") this.refresh.request();
      else this.takeEvent(JSON.parse(event.data) as RunEvent);
    }
    const run = this.details.value?.run;
    if (run !== undefined && hasEnded(run.status)) this.trace.finish(run.status);
    this.version.value += 1;
  }

  private takeEvent(event: RunEvent): void {
    this.trace.add(event);
    if (NEWS.has(event.type)) this.refresh.request();
    if (event.type === "PlanMade") this.plansRefresh.request();
  }

  /** End what events left open, as the run has ended, or does nothing: then it has not begun since it was asked for. */
  private settle(run: RunForm, begun: number): void {
    if (hasEnded(run.status)) this.trace.finish(run.status);
    else if (begun !== this.trace.begun) return;
    else if (run.was_interrupted) this.trace.rest("interrupted");
    else if (!isActive(run.status)) this.trace.rest(run.status);
  }

  private async read(signal: AbortSignal): Promise<Answer> {
    const { begun } = this.trace;
    const ticket = issueTicket();
    return { details: await api.details(this.id, signal), ticket, begun };
  }

  private takeAnswer({ details, ticket, begun }: Answer): void {
    this.details.value = details;
    noteRun(details.run, ticket);
    this.settle(details.run, begun);
    this.version.value += 1;
  }
}

function isActive(status: string): boolean {
  return ["not started", "running"].includes(status);
}

export function hasEnded(status: string): boolean {
  return ["completed", "failed", "terminated", "killed"].includes(status);
}
