/** The newest runs, kept up to date by the stream of the server, and older ones as somebody scrolls to them. */

import { computed, signal } from "@preact/signals";

import { api, needsToken } from "../api/client";
import { openStream, type ServerEvent } from "../api/stream";
import type { RunEvent, RunForm } from "../api/types";

/** Runs that are read at a time. */
const PAGE = 1000;
/** Milliseconds between two readings of what has changed. */
const PAUSE = 400;
/** Known runs that changed, up to which each is read by itself, and not the whole list. */
const FEW = 8;
/** Milliseconds between two looks at the latest runs: the server hears no events of workers on other machines. */
const LOOK = 15_000;
const LATEST = 100;

/** Events after which a run looks different in a list. */
const LIFECYCLE = [
  "RunStarted",
  "RunEnded",
  "RunSuspended",
  "RequestAnswered",
  "ProcessStarted",
  "ProcessEnded",
  "ActionStarted",
  "ActionCompleted",
];

const known = signal<ReadonlyMap<string, RunForm>>(new Map());

export const isLoaded = signal(false);
/** True while the server has older runs than those that the page knows. */
export const hasMore = signal(false);
export const loadProblem = signal("");

/** Outermost runs, the newest first. */
export const runs = computed(() =>
  [...known.value.values()]
    .filter((run) => run.parent_id === null)
    .sort((one, other) => (other.started_at ?? Infinity) - (one.started_at ?? Infinity)),
);

/** Take a run that was read elsewhere, such as one that was just started. */
export function noteRun(run: RunForm): void {
  known.value = new Map(known.value).set(run.id, run);
}

/** Where the runs begin that were not read, the newest first; whether any were read, and whether others are now. */
let next = 0;
let hasRead = false;
let isLoading = false;
let watchers = 0;
let close: () => void = () => {};
let timer = 0;
let looking = 0;
const changed = new Set<string>();

/** Keep the runs up to date until the returned function is called. */
export function watchRuns(): () => void {
  if (watchers++ === 0) {
    const query = { after: "latest", type: LIFECYCLE };
    close = openStream({ path: "api/events", query, take: noteEvents, onOpen: () => void readAll() });
    looking = window.setInterval(() => void readLatest(), LOOK);
    void readLatest().then(() => (isLoaded.value ||= known.value.size > 0));
  }
  return () => {
    if (--watchers > 0) return;
    close();
    clearInterval(looking);
  };
}

function noteEvents(events: ServerEvent[]): void {
  for (const event of events) {
    const { run_id, path } = JSON.parse(event.data) as RunEvent;
    if (path.length === 1) changed.add(run_id);
  }
  if (changed.size > 0 && timer === 0) timer = window.setTimeout(() => void readChanged(), PAUSE);
}

async function readChanged(): Promise<void> {
  const ids = [...changed];
  changed.clear();
  try {
    const old = ids.filter((id) => known.value.has(id));
    if (old.length > FEW) return await readAgain(new Set(ids));
    const reads = old.map(readOne);
    if (old.length < ids.length) reads.push(readLatest());
    await Promise.all(reads);
  } finally {
    timer = changed.size > 0 ? window.setTimeout(() => void readChanged(), PAUSE) : 0;
  }
}

async function readOne(id: string): Promise<void> {
  try {
    noteRun(await api.run(id));
  } catch {
    // It was deleted, or the server is away: then the stream says so.
  }
}

async function readLatest(): Promise<void> {
  if (document.hidden || needsToken.value) return;
  try {
    const answer = await api.latestRuns(LATEST);
    known.value = new Map([...known.value, ...answer.runs.map((run): [string, RunForm] => [run.id, run])]);
  } catch {
    // The stream says that the server is away, and reads all when it is back.
  }
}

/** Read older runs than those that the page knows. */
export async function readMore(): Promise<void> {
  if (!hasMore.value || isLoading) return;
  isLoading = true;
  try {
    const answer = await api.outerRuns(PAGE, next);
    known.value = new Map([...answer.runs.map((run): [string, RunForm] => [run.id, run]), ...known.value]);
    noteNext(answer.next);
  } catch (error) {
    loadProblem.value = (error as Error).message;
  }
  isLoading = false;
}

function noteNext(place: number | null): void {
  next = place ?? 0;
  hasMore.value = place !== null;
}

/** Read the newest runs, page by page, as far as they were read before, or until `take` has enough of them. */
async function readPages(take: (runs: readonly RunForm[]) => boolean): Promise<number | null> {
  const far = hasRead ? (hasMore.value ? next : 0) : Infinity;
  let place = 0;
  for (;;) {
    const answer = await api.outerRuns(PAGE, place);
    if (take(answer.runs) || answer.next === null || answer.next <= far) return answer.next;
    place = answer.next;
  }
}

async function readAll(): Promise<void> {
  const read = new Map<string, RunForm>();
  try {
    const place = await readPages((some) => {
      for (const run of some) read.set(run.id, run);
      return false;
    });
    known.value = read;
    noteNext(place);
    isLoaded.value = hasRead = true;
    loadProblem.value = "";
  } catch (error) {
    loadProblem.value = String((error as Error).message);
  }
}

/** Read runs that have changed. They are mostly among the newest. */
async function readAgain(ids: Set<string>): Promise<void> {
  try {
    await readPages((some) => {
      for (const run of some) ids.delete(run.id);
      known.value = new Map([...known.value, ...some.map((run): [string, RunForm] => [run.id, run])]);
      return ids.size === 0;
    });
  } catch (error) {
    loadProblem.value = String((error as Error).message);
  }
}
