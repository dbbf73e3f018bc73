/** Requests that wait for people, kept up to date with the runs that wait for them. */

import { computed, effect, signal } from "@preact/signals";

import { type OpenRequestForm, overview } from "../api/overview";
import { runs } from "./runs";
import { waitingCount } from "./title";

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

/** Read the requests again whenever the runs wait for others, until the returned function is called. */
export function watchRequests(): () => void {
  return effect(() => {
    void waitedFor.value;
    void readRequests();
  });
}

export async function readRequests(): Promise<void> {
  try {
    const answer = await overview.requests();
    requests.value = answer.requests;
    waitingCount.value = answer.requests.filter((entry) => entry.request.may_answer).length;
    requestsAreLoaded.value = true;
    requestsProblem.value = "";
  } catch (error) {
    requestsProblem.value = (error as Error).message;
  }
}
