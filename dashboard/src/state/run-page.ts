/** What the page of a run shows: what the server knows of it, and the trace of its events. */

import { type Signal, signal } from "@preact/signals";

import { api } from "../api/client";
import { openStream, type ServerEvent } from "../api/stream";
import type { RunDetailsForm, RunEvent, RunForm } from "../api/types";
import { noteRun } from "./runs";
import { TraceModel } from "./trace";

/** Events after which the server is asked again for what it knows. */
const NEWS = new Set([
  "ActionCompleted",
  "ActionSuspended",
  "TurnCompleted",
  "RunStarted",
  "RunEnded",
  "RunSuspended",
  "ProcessStarted",
  "ProcessEnded",
  "RequestAnswered",
  "end",
]);
const PAUSE = 700;

export class RunPage {
  readonly details: Signal<RunDetailsForm | null> = signal(null);
  readonly problem = signal("");
  /** Grows with each batch of events: whoever reads it draws again. */
  readonly version = signal(0);
  readonly trace = new TraceModel();
  private stop: () => void = () => {};
  private timer = 0;
  private duration = 0;

  constructor(readonly id: string) {
    this.follow();
  }

  /** Read the run from now on: the server ends the stream of a run that has ended. */
  follow(): void {
    this.stop();
    void this.read();
    const path = `api/runs/${encodeURIComponent(this.id)}/events`;
    this.stop = openStream({ path, query: { brief: "true" }, take: (events) => this.take(events) });
  }

  close(): void {
    this.stop();
    clearTimeout(this.timer);
  }

  /** Ask the server again, soon. */
  refresh(): void {
    if (this.timer === 0) this.timer = window.setTimeout(() => void this.read(), Math.max(PAUSE, this.duration * 4));
  }

  private take(events: ServerEvent[]): void {
    for (const event of events) {
      if (event.kind === "end" || event.kind === "error") this.refresh();
      else {
        const data = JSON.parse(event.data) as RunEvent;
        this.trace.add(data);
        if (NEWS.has(data.type)) this.refresh();
      }
    }
    const run = this.details.value?.run;
    if (run !== undefined && hasEnded(run.status)) this.trace.finish(run.status);
    this.version.value += 1;
  }

  /** End what events left open, as the run has ended, or does nothing: then it has not begun since it was asked for. */
  private settle(run: RunForm, begun: number): void {
    if (hasEnded(run.status)) this.trace.finish(run.status);
    else if (begun !== this.trace.begun) return;
    else if (run.was_interrupted) this.trace.rest("interrupted");
    else if (!isActive(run.status)) this.trace.rest(run.status);
  }

  private async read(): Promise<void> {
    const started = performance.now();
    const { begun } = this.trace;
    try {
      const details = await api.details(this.id);
      this.details.value = details;
      noteRun(details.run);
      this.settle(details.run, begun);
      this.version.value += 1;
      this.problem.value = "";
    } catch (error) {
      this.problem.value = (error as Error).message;
    }
    this.duration = performance.now() - started;
    this.timer = 0;
  }
}

function isActive(status: string): boolean {
  return ["not started", "running"].includes(status);
}

export function hasEnded(status: string): boolean {
  return ["completed", "failed", "terminated", "killed"].includes(status);
}
