/** Search of the server for runs that the page does not know, as it knows the newest only. */

import { signal } from "@preact/signals";

import { api } from "../api/client";
import { hasMore, issueTicket, keep } from "./runs";

const PAGE = 200;
/** Runs with which the table is full, so that somebody can scroll to others. */
const ENOUGH = 100;
/** Milliseconds without a further key after which the server is asked. */
const PAUSE = 250;
const RETRY = 3000;

export interface Wanted {
  words: string;
  statuses: readonly string[];
}

export class RunSearch {
  /** Ids of the runs that the server has found, the newest first. */
  readonly found = signal<readonly string[]>([]);
  readonly isSearching = signal(false);
  readonly problem = signal("");
  private wanted: Wanted = { words: "", statuses: [] };
  /** Where the next page of what the server finds begins; 0 at first, nothing at the end. */
  private next: number | null = null;
  private isBusy = false;
  private timer = 0;

  /** Look for other runs than before, soon. */
  look(wanted: Wanted): void {
    this.close();
    this.found.value = [];
    this.next = 0;
    this.wanted = wanted;
    const isSearch = wanted.words.trim() !== "" || wanted.statuses.length > 0;
    this.isSearching.value = isSearch && hasMore.value;
    if (this.isSearching.value) this.timer = window.setTimeout(() => void this.read(), PAUSE);
  }

  /** Read the next of the runs that were found, if there are others. */
  readMore(): void {
    if (this.next !== null && this.next > 0) void this.read();
  }

  close(): void {
    clearTimeout(this.timer);
  }

  private async read(): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    const wanted = this.wanted;
    try {
      let count = 0;
      do {
        // The server looks through some thousands of runs at a time: a page may be short although others follow.
        const ticket = issueTicket();
        const answer = await api.findRuns(wanted.words, wanted.statuses, PAGE, this.next ?? 0);
        if (wanted !== this.wanted) break;
        keep(answer.runs, ticket, false);
        this.found.value = [...this.found.value, ...answer.runs.map((run) => run.id)];
        this.next = answer.next;
        count += answer.runs.length;
      } while (this.next !== null && count < ENOUGH);
      this.problem.value = "";
      this.isSearching.value = false;
    } catch (error) {
      this.problem.value = `${(error as Error).message} Trying again…`;
      this.timer = window.setTimeout(() => void this.read(), RETRY);
    }
    this.isBusy = false;
    if (wanted !== this.wanted) this.look(this.wanted);
  }
}
