/** Requests that wait for people, kept up to date with the runs that wait for them. */

import { computed, effect, signal } from "@preact/signals";

import { type OpenRequestForm, overview } from "../api/overview";
import { Refresh } from "./refresh";
import { runs } from "./runs";
import { waitingCount } from "./title";

/** Milliseconds between two looks: who may answer a request does not always see the run that asks it. */
const LOOK = 15_000;

export const requests = signal<readonly OpenRequestForm[]>([]);
export const requestsAreLoaded = signal(false);
export const requestsProblem = signal("");

/** Return what tells a request from others: the same id may ask something else when it asks again. */
export function keyOf({ run_id, request }: OpenRequestForm): string {
  let hash = 0;
  for (const character of request.prompt) hash = (hash * 31 + character.codePointAt(0)!) | 0;
  return `${run_id} ${request.id} ${hash}`;
}

/** What the runs wait for, as a text that changes whenever that does. */
const waitedFor = computed(() =>
  runs.value
    .filter((run) => run.pending.length > 0)
    .map((run) => `${run.id} ${run.pending.map((request) => `${request.id} ${request.problem ?? ""}`).join(" ")}`)
    .join("\n"),
);

const refresh = new Refresh({
  read: overview.requests,
  take: (answer) => {
    requests.value = answer.requests;
    waitingCount.value = answer.requests.filter((entry) => entry.request.may_answer).length;
    requestsAreLoaded.value = true;
  },
  report: (problem) => (requestsProblem.value = problem),
});

/** Read the requests again whenever the runs wait for others, until the returned function is called. */
export function watchRequests(): () => void {
  const looking = setInterval(() => document.hidden || refresh.request(), LOOK);
  const stop = effect(() => {
    void waitedFor.value;
    refresh.request();
  });
  return () => {
    stop();
    clearInterval(looking);
  };
}

/** Take note that a request was answered: what is being read may still have it. */
export function dropRequest(entry: OpenRequestForm): void {
  requests.value = requests.value.filter((other) => keyOf(other) !== keyOf(entry));
  refresh.renew();
}
