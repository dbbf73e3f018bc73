/** The newest runs, kept up to date by the stream of the server, and older ones as somebody scrolls or searches for them. */

import { computed, signal } from "@preact/signals";

import { ApiProblem, api, needsToken } from "../api/client";
import { overview } from "../api/overview";
import { openStream, type ServerEvent } from "../api/stream";
import type { RunEvent, RunForm } from "../api/types";
import { renewAgents } from "./agents";
import { Refresh } from "./refresh";

/** Runs that are read at a time. */
const PAGE = 1000;
/** Milliseconds between two readings of what has changed. */
const PAUSE = 400;
/** Runs of the page that changed, up to which each is read by itself, and not the whole list. */
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

/** A run with the ticket of the request whose answer it is: an answer to an earlier request is older. */
interface Kept {
  run: RunForm;
  ticket: number;
}

let tickets = 0;
const kept = signal<ReadonlyMap<string, Kept>>(new Map());
/** Ids of the runs of the list. Others were found by a search, somewhere among older runs. */
const listed = signal<ReadonlySet<string>>(new Set());

export const isLoaded = signal(false);
/** True while the server has older runs than those of the list. */
export const hasMore = signal(false);
export const loadProblem = signal("");
/** Number of runs with each status, where the list does not have all of them. */
export const storeCounts = signal<Readonly<Record<string, number>> | null>(null);

/** Outermost runs of the list, the newest first. */
export const runs = computed(() =>
  [...listed.value]
    .flatMap((id) => kept.value.get(id)?.run ?? [])
    .filter((run) => run.parent_id === null)
    .sort((one, other) => (other.started_at ?? Infinity) - (one.started_at ?? Infinity)),
);

/** Return a ticket for a request that is about to be sent. */
export function issueTicket(): number {
  return ++tickets;
}

/** Return a run as it was read last. */
export function lookUp(id: string): RunForm | undefined {
  return kept.value.get(id)?.run;
}

/** Take a run that was read elsewhere, such as one that was just started. */
export function noteRun(run: RunForm, ticket = issueTicket()): void {
  const isNewest = (runs.peek()[0]?.started_at ?? 0) <= (run.started_at ?? Infinity);
  keep([run], ticket, isNewest);
}

/** Take runs of an answer, unless a later one had them. */
export function keep(found: readonly RunForm[], ticket: number, isListed: boolean): void {
  const next = new Map(kept.value);
  for (const run of found) {
    if ((next.get(run.id)?.ticket ?? 0) < ticket) next.set(run.id, { run, ticket });
  }
  kept.value = next;
  if (isListed) listed.value = new Set([...listed.value, ...found.map((run) => run.id)]);
}

function forget(ids: Iterable<string>): void {
  const [runs, list] = [new Map(kept.value), new Set(listed.value)];
  for (const id of ids) {
    runs.delete(id);
    list.delete(id);
  }
  [kept.value, listed.value] = [runs, list];
}

/** What is to be read again. */
interface Wants {
  all: boolean;
  latest: boolean;
  more: boolean;
  ids: Set<string>;
}

let wants: Wants = createWants();
/** Where the runs begin that were not read, the newest first; whether all before were read. */
let next = 0;
let hasRead = false;
let watchers = 0;
let isOpen = false;
let close: () => void = () => {};
let looking = 0;

const refresh = new Refresh<void>({
  read: readWanted,
  take: () => {},
  report: (problem) => (loadProblem.value = problem),
  pause: () => (isLoaded.value ? PAUSE : 0),
});

/** Keep the runs up to date until the returned function is called. */
export function watchRuns(): () => void {
  if (watchers++ === 0) {
    const query = { after: "latest", type: LIFECYCLE };
    close = openStream({ path: "api/events", query, take: noteEvents, onOpen: noteOpening });
    looking = window.setInterval(look, LOOK);
    want({ latest: true });
  }
  return () => {
    if (--watchers > 0) return;
    close();
    clearInterval(looking);
  };
}

/** Read older runs than those of the list. */
export function readMore(): void {
  if (hasMore.value && hasRead) want({ more: true });
}

function createWants(): Wants {
  return { all: false, latest: false, more: false, ids: new Set() };
}

function want(wanted: Partial<Wants>): void {
  merge(wanted);
  refresh.request();
}

function merge({ all = false, latest = false, more = false, ids = new Set() }: Partial<Wants>): void {
  wants = { all: wants.all || all, latest: wants.latest || latest, more: wants.more || more, ids: new Set([...wants.ids, ...ids]) };
}

/** The stream begins: what happened before, while there was none, is nowhere but in the list. */
function noteOpening(): void {
  want({ all: true });
  if (isOpen) renewAgents();
  isOpen = true;
}

function look(): void {
  if (!document.hidden && !needsToken.value) want({ latest: true, all: !hasRead });
}

function noteEvents(events: ServerEvent[]): void {
  const ids = new Set<string>();
  for (const event of events) {
    const { run_id, path } = JSON.parse(event.data) as RunEvent;
    if (path.length === 1) ids.add(run_id);
  }
  if (ids.size > 0) want({ ids });
}

/** Read what is wanted. What could not be read is still wanted. */
async function readWanted(signal: AbortSignal): Promise<void> {
  const wanted = wants;
  wants = createWants();
  try {
    if (wanted.latest) await readLatest(signal);
    if (wanted.all) await readAll(signal);
    else if (wanted.ids.size > 0) await readChanged(wanted.ids, signal);
    if (wanted.more) await readNext(signal);
  } catch (error) {
    merge(wanted);
    throw error;
  }
}

async function readChanged(ids: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
  const old = [...ids].filter((id) => kept.value.has(id));
  if (old.length > FEW) return readAgain(new Set(ids), signal);
  await Promise.all([...old.map((id) => readOne(id, signal)), ...(old.length < ids.size ? [readLatest(signal)] : [])]);
}

async function readOne(id: string, signal: AbortSignal): Promise<void> {
  const ticket = issueTicket();
  try {
    keep([await api.run(id, signal)], ticket, false);
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== 404) throw error;
    forget([id]); // it was deleted
  }
}

async function readLatest(signal: AbortSignal): Promise<void> {
  const ticket = issueTicket();
  const answer = await api.latestRuns(LATEST, signal);
  keep(answer.runs, ticket, true);
  isLoaded.value ||= answer.runs.length > 0;
}

async function readNext(signal: AbortSignal): Promise<void> {
  const ticket = issueTicket();
  const answer = await api.outerRuns(PAGE, next, signal);
  keep(answer.runs, ticket, true);
  noteNext(answer.next);
}

function noteNext(place: number | null): void {
  next = place ?? 0;
  hasMore.value = place !== null;
}

/** Read the newest runs, page by page, as far as they were read before, or until `take` has enough of them. */
async function readPages(take: (runs: readonly RunForm[]) => boolean, signal: AbortSignal): Promise<number | null> {
  const far = hasRead ? (hasMore.value ? next : 0) : Infinity;
  let place = 0;
  for (;;) {
    const ticket = issueTicket();
    const answer = await api.outerRuns(PAGE, place, signal);
    keep(answer.runs, ticket, true);
    if (take(answer.runs) || answer.next === null || answer.next <= far) return answer.next;
    place = answer.next;
  }
}

async function readAll(signal: AbortSignal): Promise<void> {
  const ticket = issueTicket();
  const read = new Set<string>();
  const place = await readPages((some) => {
    for (const run of some) read.add(run.id);
    return false;
  }, signal);
  forget([...listed.value].filter((id) => !read.has(id) && (kept.value.get(id)?.ticket ?? 0) < ticket)); // deleted
  noteNext(place);
  isLoaded.value = hasRead = true;
  await readCounts(signal);
}

/** Read runs that have changed. They are mostly among the newest. */
async function readAgain(ids: Set<string>, signal: AbortSignal): Promise<void> {
  await readPages((some) => {
    for (const run of some) ids.delete(run.id);
    return ids.size === 0;
  }, signal);
  await readCounts(signal);
}

/** Read how many runs there are, if the list does not have all of them. Who sees only some runs does without. */
async function readCounts(signal: AbortSignal): Promise<void> {
  if (!hasMore.value) {
    storeCounts.value = null;
    return;
  }
  try {
    storeCounts.value = (await overview.store(signal)).runs;
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status >= 500) throw error;
  }
}
