/** Status of a run or an action, in words and color. */

import { NOTHING } from "../state/span-events";

export type Tone = "active" | "good" | "bad" | "wait" | "quiet" | "plain";

const TONES: Record<string, Tone> = {
  running: "active",
  completed: "good",
  failed: "bad",
  terminated: "bad",
  stuck: "bad",
  waiting: "wait",
  paused: "wait",
  killed: "quiet",
  cancelled: "quiet",
  skipped: "quiet",
  interrupted: "quiet",
  [NOTHING]: "quiet",
  "not started": "plain",
  planned: "plain",
};

export function toneOf(status: string): Tone {
  return TONES[status] ?? "plain";
}

export function StatusBadge({ status, label }: { status: string; label?: string }) {
  return <Badge tone={toneOf(status)} label={label ?? status} />;
}

export function Badge({ tone, label }: { tone: Tone; label: string }) {
  return (
    <span class="badge" data-tone={tone}>
      <span class="badge-dot" aria-hidden="true" />
      {label}
    </span>
  );
}
