/**
 * Something that the page reads from the server, and reads again whenever it may have changed.
 *
 * No change is lost, whatever the network does: a change during a read causes another read, a read that failed is
 * repeated after a growing pause, one that takes too long is given up, and the answer to an earlier read never replaces that
 * to a later one.
 */

import { ApiProblem } from "../api/client";

export interface RefreshOptions<T> {
  /** Reads from the server; the signal says that nobody waits for the answer any more. */
  read: (signal: AbortSignal) => Promise<T>;
  take: (value: T) => void;
  /** Told why a read failed, and that it is repeated, if it is; an empty text after a success. */
  report: (problem: string) => void;
  /** Milliseconds from a change to the read, in which further changes are gathered. */
  pause?: (lastRead: number) => number;
}

/** Milliseconds after which a read is given up. */
const PATIENCE = 20_000;
const FIRST_RETRY = 500;
const LONGEST_RETRY = 10_000;

export class Refresh<T> {
  private isWanted = false;
  private isClosed = false;
  private timer = 0;
  private failures = 0;
  private lastRead = 0;
  private attempt: AbortController | null = null;

  constructor(private readonly options: RefreshOptions<T>) {
    addEventListener("online", this.hurry);
    document.addEventListener("visibilitychange", this.hurry);
  }

  /** Read soon: something may have changed. */
  request(): void {
    this.isWanted = true;
    this.schedule(this.options.pause?.(this.lastRead) ?? 0);
  }

  /** Read at once. What is being read now is older than what the caller knows, and is not taken. */
  renew(): void {
    this.attempt?.abort();
    this.attempt = null;
    clearTimeout(this.timer);
    this.timer = 0;
    void this.run();
  }

  close(): void {
    this.isClosed = true;
    this.attempt?.abort();
    this.attempt = null;
    clearTimeout(this.timer);
    removeEventListener("online", this.hurry);
    document.removeEventListener("visibilitychange", this.hurry);
  }

  private schedule(pause: number): void {
    if (this.isClosed || this.attempt !== null || this.timer !== 0) return;
    this.timer = window.setTimeout(() => void this.run(), Math.max(pause, this.retryPause()));
  }

  private retryPause(): number {
    return this.failures === 0 ? 0 : Math.min(FIRST_RETRY * 2 ** (this.failures - 1), LONGEST_RETRY);
  }

  /** Repeat a failed read at once, as the network is back, or somebody looks at the page again. */
  private readonly hurry = (): void => {
    if (document.hidden || this.failures === 0 || !this.isWanted || this.attempt !== null) return;
    this.renew();
  };

  private async run(): Promise<void> {
    if (this.isClosed) return;
    const attempt = new AbortController();
    const limit = setTimeout(() => attempt.abort(new Error("The server does not answer.")), PATIENCE);
    const started = performance.now();
    [this.timer, this.isWanted, this.attempt] = [0, false, attempt];
    try {
      const value = await this.options.read(attempt.signal);
      if (this.attempt !== attempt) return;
      this.failures = 0;
      this.options.report("");
      this.options.take(value);
    } catch (error) {
      if (this.attempt === attempt) this.fail(error as Error);
    } finally {
      clearTimeout(limit);
      if (this.attempt === attempt) {
        this.attempt = null;
        this.lastRead = performance.now() - started;
        if (this.isWanted) this.schedule(this.options.pause?.(this.lastRead) ?? 0);
      }
    }
  }

  private fail(error: Error): void {
    this.failures += 1;
    const isFinal = error instanceof ApiProblem && error.status < 500 && ![408, 429].includes(error.status);
    this.isWanted ||= !isFinal;
    this.options.report(isFinal ? error.message : `${error.message.replace(/[.!]?$/, ".")} Trying again…`);
  }
}
