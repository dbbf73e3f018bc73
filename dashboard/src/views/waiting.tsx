/** Requests that wait for people: a queue, and the answer to the one that is chosen. */

import { computed } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";

import type { OpenRequestForm } from "../api/overview";
import type { Json } from "../api/types";
import { Answer } from "../components/answer";
import { Badge } from "../components/badge";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { Fact, Page } from "../components/page";
import { clip, formatAge, formatDuration, formatFullTime } from "../lib/format";
import { linkTo, replaceAddress } from "../router";
import type { ViewProps } from "../routes";
import { now } from "../state/clock";
import { useKeys } from "../state/keys";
import { mayI, me } from "../state/me";
import { keyOf, readRequests, requests, requestsAreLoaded, requestsProblem } from "../state/requests";

const MINE = "mine";
const NO_ROLE = "no role";
const HURRY = 60;

const roles = computed(() => [...new Set(requests.value.map((entry) => entry.request.role ?? NO_ROLE))].sort());

export default function WaitingView({ query }: ViewProps) {
  const filter = query.get("role") ?? "";
  const shown = requests.value.filter((entry) => isShown(entry, filter));
  const [chosen, setChosen] = useState("");
  const wanted = query.get("run");
  const [answered, setAnswered] = useState("");
  const at = Math.max(
    0,
    shown.findIndex((entry) => (chosen === "" ? entry.run_id === wanted : keyOf(entry) === chosen)),
  );
  const current = shown[at];
  const step = (by: number): void => {
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next !== undefined) choose(keyOf(next));
  };
  const choose = (key: string): void => {
    setChosen(key);
    requestAnimationFrame(() => document.getElementById(`row-${key}`)?.focus());
  };
  const finish = (entry: OpenRequestForm): void => {
    setAnswered(`Answered: ${clip(entry.request.prompt, 80)}`);
    const next = shown[at + 1] ?? shown[at - 1];
    requests.value = requests.value.filter((other) => keyOf(other) !== keyOf(entry));
    if (next !== undefined) choose(keyOf(next));
    void readRequests();
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    Enter: () => focusAnswer(),
    a: () => press("a"),
    e: () => press("e"),
    r: () => press("r"),
    t: () => press("t"),
    Escape: () => current !== undefined && choose(keyOf(current)),
  });
  if (!requestsAreLoaded.value) return requestsProblem.value === "" ? <Loading /> : <Frame><ProblemNote message={requestsProblem.value} /></Frame>;
  return (
    <Frame filter={filter}>
      <p class="visually-hidden" role="status">
        {answered}
      </p>
      <ProblemNote message={requestsProblem.value} />
      {current === undefined ? (
        <EmptyState title="Nothing waits for an answer.">
          <p>Forms, approvals and reviews of running agents appear here by themselves.</p>
        </EmptyState>
      ) : (
        <div class="queue">
          <ol class="queue-list" aria-label="Open requests">
            {shown.map((entry) => (
              <QueueRow
                key={keyOf(entry)}
                entry={entry}
                isCurrent={entry === current}
                onChoose={() => choose(keyOf(entry))}
              />
            ))}
          </ol>
          <Detail key={keyOf(current)} entry={current} onAnswered={finish} />
        </div>
      )}
      <Shortcuts />
    </Frame>
  );
}

function isShown(entry: OpenRequestForm, filter: string): boolean {
  if (filter === "") return true;
  if (filter === MINE) return entry.request.may_answer;
  return (entry.request.role ?? NO_ROLE) === filter;
}

function Frame({ filter, children }: { filter?: string; children: preact.ComponentChildren }) {
  const choices = ["", MINE, ...roles.value];
  return (
    <Page title="Waiting for people" facts={<Fact label="Open">{requests.value.length}</Fact>}>
      {filter !== undefined && requests.value.length > 0 && (
        <div class="chips" role="group" aria-label="Role">
          {choices.map((choice) => (
            <button
              key={choice}
              type="button"
              aria-pressed={choice === filter}
              onClick={() => replaceAddress(linkTo("waiting", { role: choice }))}
            >
              {choice === "" ? "all" : choice}
            </button>
          ))}
        </div>
      )}
      {children}
    </Page>
  );
}

interface QueueRowProps {
  entry: OpenRequestForm;
  isCurrent: boolean;
  onChoose: () => void;
}

function QueueRow({ entry, isCurrent, onChoose }: QueueRowProps) {
  const { request } = entry;
  return (
    <li>
      <button
        id={`row-${keyOf(entry)}`}
        class="queue-row"
        type="button"
        aria-current={isCurrent}
        onClick={onChoose}
      >
        <span class="queue-row-head">
          <strong>{entry.agent}</strong>
          <Deadline entry={entry} isShort />
        </span>
        <span class="queue-row-text">{clip(request.prompt, 90)}</span>
        <span class="queue-row-foot">
          <KindBadge kind={request.kind} />
          {request.role !== null && <span class="muted">{request.role}</span>}
          <span class="muted">{formatAge(entry.since, now.value)}</span>
        </span>
      </button>
    </li>
  );
}

function KindBadge({ kind }: { kind: string }) {
  return <Badge tone={kind === "approval" ? "wait" : "plain"} label={kind} />;
}

function Deadline({ entry, isShort = false }: { entry: OpenRequestForm; isShort?: boolean }) {
  const { deadline } = entry.request;
  if (deadline === null) return isShort ? null : <span>no deadline</span>;
  const left = deadline - now.value;
  const tone = left < HURRY ? "bad" : "plain";
  return (
    <span class="deadline" data-tone={tone} title={formatFullTime(deadline)}>
      {left <= 0 ? "overdue" : `${formatDuration(Math.ceil(left))} left`}
    </span>
  );
}

function Detail({ entry, onAnswered }: { entry: OpenRequestForm; onAnswered: (entry: OpenRequestForm) => void }) {
  const { request } = entry;
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.scrollTo(0, 0), []);
  return (
    <section class="panel detail" aria-label="Request" ref={panel}>
      <header class="panel-head">
        <h2>{entry.agent}</h2>
        <a href={linkTo(`runs/${entry.run_id}`)}>Open the run</a>
      </header>
      <div class="panel-body">
        <div class="facts">
          <KindBadge kind={request.kind} />
          <Fact label="Role">{request.role ?? "any"}</Fact>
          <Fact label="Deadline">
            <Deadline entry={entry} />
          </Fact>
          {request.deadline !== null && <Fact label="Then">{describeDefault(request.default)}</Fact>}
        </div>
        {request.path.length > 1 && <p class="muted path">{request.path.join(" › ")}</p>}
        <pre class="prompt">{request.prompt}</pre>
        <WrongRole entry={entry} />
        <Answer entry={entry} onAnswered={onAnswered} />
      </div>
    </section>
  );
}

function WrongRole({ entry }: { entry: OpenRequestForm }) {
  if (entry.request.may_answer) return null;
  const roles = me.value?.roles ?? [];
  const own = roles.length === 0 ? "You have no role." : `You have ${roles.map((role) => `“${role}”`).join(", ")}.`;
  const text = mayI("answer")
    ? `This needs the role “${entry.request.role}”. ${own} The server refuses your answer.`
    : "You may look, but not answer. The server refuses your answer.";
  return (
    <p class="problem" role="note">
      {text}
    </p>
  );
}

function describeDefault(value: Json): string {
  if (value === null) return "it takes its default";
  if (typeof value === "object" && "timed_out" in value) return "it counts as not answered in time";
  return `the answer is ${clip(JSON.stringify(value), 60)}`;
}

const KEYS: readonly [string, string][] = [
  ["j k", "next, previous"],
  ["Enter", "to the answer"],
  ["a", "approve"],
  ["e", "edit"],
  ["t", "try again"],
  ["r", "reject"],
  ["Ctrl Enter", "send"],
  ["Esc", "back to the queue"],
];

function Shortcuts() {
  return (
    <p class="shortcuts" aria-label="Shortcuts">
      {KEYS.map(([key, effect]) => (
        <span key={key}>
          {key.split(" ").map((part) => (
            <kbd key={part}>{part}</kbd>
          ))}{" "}
          {effect}
        </span>
      ))}
    </p>
  );
}

function focusAnswer(): void {
  document.querySelector<HTMLElement>(".answer input, .answer textarea, .answer select, .answer button")?.focus();
}

function press(shortcut: string): void {
  document.querySelector<HTMLButtonElement>(`.answer [data-shortcut="${shortcut}"]:not(:disabled)`)?.click();
}
