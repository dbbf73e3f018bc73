/** What a run has changed in files, as patches, and what the tests gave before and after it. */

import type { RunEvent } from "../../api/types";
import { formatTime } from "../../lib/format";
import type { RunPage } from "../../state/run-page";

/** Return the events of changed files and measured tests, in their order. */
export function listChanges(page: RunPage): RunEvent[] {
  return page.trace.events.filter((event) => event.type === "FileChanged" || event.type === "SuiteMeasured");
}

export function Changes({ page }: { page: RunPage }) {
  void page.version.value;
  return (
    <ol class="changes">
      {listChanges(page).map((event) => (
        <li key={event.id}>{event.type === "FileChanged" ? <Change event={event} /> : <Measured event={event} />}</li>
      ))}
    </ol>
  );
}

function Change({ event }: { event: RunEvent }) {
  const file = String(event["file"]);
  return (
    <details open>
      <summary>
        <code>{file}</code> <span class="muted">{String(event["kind"])}</span> <time>{formatTime(event.time)}</time>
      </summary>
      <pre class="patch" tabIndex={0} aria-label={`Changes of ${file}`}>
        {String(event["diff"])
          .split("\n")
          .map((line, index) => (
            <span key={index} class={classOf(line)}>
              {`${line}\n`}
            </span>
          ))}
      </pre>
    </details>
  );
}

function Measured({ event }: { event: RunEvent }) {
  const failed = Number(event["failed"]);
  return (
    <p>
      Tests {String(event["moment"])} the work: {String(event["passed"])} passed,{" "}
      {failed > 0 ? <strong class="bad">{failed} failed</strong> : "none failed"}
    </p>
  );
}

function classOf(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "patch-file";
  if (line.startsWith("+")) return "patch-added";
  if (line.startsWith("-")) return "patch-removed";
  return line.startsWith("@@") ? "patch-place" : "";
}
