/** All events of a run, of which one can be opened. */

import { useSignal } from "@preact/signals";

import type { Json, RunEvent } from "../../api/types";
import { EmptyState } from "../../components/empty";
import { JsonView } from "../../components/json";
import { useWindow } from "../../components/virtual";
import { clip, formatTime } from "../../lib/format";
import type { RunPage } from "../../state/run-page";

const ROW = 30;

export function EventLog({ page }: { page: RunPage }) {
  void page.version.value;
  const search = useSignal("");
  const chosen = useSignal<RunEvent | null>(null);
  const word = search.value.toLowerCase();
  const { events } = page.trace;
  const found = word === "" ? events : events.filter((event) => textOf(event).toLowerCase().includes(word));
  const { ref, window } = useWindow<HTMLUListElement>(found.length, ROW);
  if (events.length === 0) return <EmptyState title="The server has no events of this run" />;
  return (
    <div class="stack">
      <label class="search">
        <span class="visually-hidden">Search events</span>
        <input type="search" placeholder={events.length === 1 ? "Search 1 event" : `Search ${events.length} events`} value={search} onInput={(e) => (search.value = e.currentTarget.value)} />
      </label>
      <div class={chosen.value === null ? "" : "event-split"}>
        <div class="event-list" tabIndex={0} role="group" aria-label="Events">
          <ul ref={ref} style={{ paddingTop: `${window.before}px`, paddingBottom: `${window.after}px` }}>
            {found.slice(window.first, window.last).map((event) => (
              <li key={event.id} style={{ height: `${ROW}px` }}>
                <button type="button" aria-pressed={chosen.value === event} onClick={() => (chosen.value = event)}>
                  <time>{formatTime(event.time)}</time>
                  <span class="event-type">{event.type}</span>
                  <span class="muted event-text">{clip(textOf(event).slice(event.type.length), 120)}</span>
                </button>
              </li>
            ))}
          </ul>
        </div>
        {chosen.value !== null && (
          <section class="event-detail" aria-label={chosen.value.type} tabIndex={0}>
            <JsonView value={chosen.value as unknown as Json} />
          </section>
        )}
      </div>
    </div>
  );
}

function textOf(event: RunEvent): string {
  const names = ["action", "model", "error", "failure", "status", "reason", "target", "task_id", "source", "query"];
  const facts = names.map((name) => event[name]).filter((value) => typeof value === "string");
  const call = event["call"];
  if (call !== null && typeof call === "object" && !Array.isArray(call)) facts.push(String(call["name"]));
  return [event.type, event.path.join(" › "), ...facts].join(" ");
}
