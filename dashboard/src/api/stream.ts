/**
 * Server-sent events over `fetch`, as `EventSource` cannot send a token.
 *
 * A connection that breaks, or is silent for longer than the server ever is, is opened again with the id of the last event, so
 * that nothing is lost. A hidden page gives its connection back, as a browser has only six for all its tabs; it catches up when
 * it is shown.
 */

import { signal } from "@preact/signals";

import { ApiProblem, apiUrl, send } from "./client";

/** True while a stream that should be open is not. */
export const isDisconnected = signal(false);

export interface ServerEvent {
  kind: string;
  data: string;
}

export interface StreamOptions {
  path: string;
  query?: Record<string, string | string[]>;
  /** Takes the events that came since the last frame of the screen. */
  take: (events: ServerEvent[]) => void;
  /** Called whenever the connection is open, before its events. */
  onOpen?: () => void;
}

const LONGEST_PAUSE = 10_000;
/** Milliseconds without a word of the server, which says something every 15 seconds, after which a connection is broken. */
const LONGEST_SILENCE = 40_000;
const LONGEST_BATCH = 500;

/** Open a stream; the returned function closes it. The server ends it with an event `end`, after which it stays closed. */
export function openStream(options: StreamOptions): () => void {
  const connection = new Connection(options);
  void connection.run();
  return () => connection.close();
}

class Connection {
  private lastId = "";
  private waiting: ServerEvent[] = [];
  private scheduled = false;
  private isClosed = false;
  private attempt: AbortController | null = null;
  private wake: () => void = () => {};

  constructor(private readonly options: StreamOptions) {
    document.addEventListener("visibilitychange", this.onVisibility);
  }

  close(): void {
    this.isClosed = true;
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.attempt?.abort();
    this.wake();
  }

  async run(): Promise<void> {
    let pause = 250;
    while (!this.isClosed) {
      if (document.hidden) {
        await this.pause(null);
        continue;
      }
      try {
        await this.read();
        pause = 250;
      } catch (error) {
        if (error instanceof ApiProblem && error.status < 500 && error.status !== 429) return this.close();
      }
      if (this.isClosed) return;
      if (document.hidden) continue;
      isDisconnected.value = true;
      await this.pause(pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  }

  private async read(): Promise<void> {
    const attempt = (this.attempt = new AbortController());
    let silence = 0;
    const hear = (): void => {
      clearTimeout(silence);
      silence = window.setTimeout(() => attempt.abort(), LONGEST_SILENCE);
    };
    hear();
    try {
      await this.receive(attempt.signal, hear);
    } finally {
      clearTimeout(silence);
    }
  }

  private async receive(signal: AbortSignal, hear: () => void): Promise<void> {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.lastId !== "") headers["last-event-id"] = this.lastId;
    const url = apiUrl(this.options.path, this.options.query);
    const response = await send(url, { headers, signal });
    isDisconnected.value = false;
    this.options.onOpen?.();
    for await (const event of readEvents(response, (id) => (this.lastId = id), hear)) {
      this.waiting.push(event);
      if (event.kind === "end") this.close();
      this.schedule();
    }
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    if (document.hidden) setTimeout(this.flush, 0);
    else requestAnimationFrame(this.flush);
  }

  /** Hand a batch over; what is left waits for the next frame, so that the page stays fluid. */
  private readonly flush = (): void => {
    this.scheduled = false;
    const batch = this.waiting.splice(0, LONGEST_BATCH);
    if (batch.length > 0) this.options.take(batch);
    if (this.waiting.length > 0) this.schedule();
  };

  private readonly onVisibility = (): void => {
    if (document.hidden) this.attempt?.abort();
    else this.wake();
  };

  private pause(milliseconds: number | null): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
      if (milliseconds !== null) setTimeout(resolve, milliseconds);
    });
  }
}

/** Yield the events of a response; `onId` hears the id of each, and `onData` that the server has said anything. */
export async function* readEvents(
  response: Response,
  onId: (id: string) => void = () => {},
  onData: () => void = () => {},
): AsyncGenerator<ServerEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onData();
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseBlock(block, onId);
      if (event !== null) yield event;
    }
  }
}

function parseBlock(block: string, onId: (id: string) => void): ServerEvent | null {
  let kind = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) onId(line.slice(4));
    else if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return data.length === 0 ? null : { kind, data: data.join("\n") };
}
