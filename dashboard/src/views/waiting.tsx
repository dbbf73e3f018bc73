/** Requests that wait for people: a queue, and the answer to the one that is chosen. */

import { computed } from "@preact/signals";
import type { ComponentProps } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { OpenRequestForm } from "../api/overview";
import type { Json, RequestForm } from "../api/types";
import { Answer } from "../components/answer";
import { Badge } from "../components/badge";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { Fact, Page } from "../components/page";
import { Prompt, questionOf } from "../components/prompt";
import { findReviewForm } from "../components/review-answer";
import { clip, formatAge, formatDuration, formatFullTime } from "../lib/format";
import { asSchema } from "../lib/schema";
import { replaceAddress } from "../address";
import { linkTo, type ViewProps } from "../links";
import { now } from "../state/clock";
import { useKeys } from "../state/keys";
import { mayI, me } from "../state/me";
import { dropRequest, keyOf, requests, requestsAreLoaded, requestsProblem } from "../state/requests";

const MINE = "mine";
const NO_ROLE = "no role";
const HURRY = 60;

const roles = computed(() => [...new Set(requests.value.map((entry) => entry.request.role ?? NO_ROLE))].sort());

export default function WaitingView({ query }: ViewProps) {
  const filter = query.get("role") ?? "";
  const shown = requests.value.filter((entry) => isShown(entry, filter));
  const [chosen, setChosen] = useState("");
  const wanted = query.get("run");
  const [news, setNews] = useState("");
  const closing = useClosing();
  const at = Math.max(
    0,
    shown.findIndex((entry) => (chosen === "" ? entry.run_id === wanted : keyOf(entry) === chosen)),
  );
  const kept = closing.keep(shown[at] ?? null);
  const current = kept ?? shown[at];
  useEffect(() => {
    const closed = closing.takeClosed();
    if (closed !== null) setNews(`${closed.agent}: ${describeClosing(closed)}`);
  });
  const step = (by: number): void => {
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next !== undefined) choose(keyOf(next));
  };
  const choose = (key: string): void => {
    closing.release();
    setChosen(key);
    setNews("");
    requestAnimationFrame(() => document.getElementById(`row-${key}`)?.focus());
  };
  const finish = (entry: OpenRequestForm): void => {
    closing.finish(entry);
    const next = shown[at + 1] ?? shown[at - 1];
    dropRequest(entry);
    if (next !== undefined) choose(keyOf(next));
    setNews(`Answered: ${clip(entry.request.prompt, 80)}`);
  };
  const goOn = (): void => {
    closing.release();
    setNews(" ");
    if (shown[at] !== undefined) choose(keyOf(shown[at]));
  };
  const tooLate = (entry: OpenRequestForm): void => {
    closing.touch(entry);
    dropRequest(entry);
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    Enter: () => focusAnswer(),
    a: () => press("a"),
    e: () => press("e"),
    p: () => press("p"),
    r: () => press("r"),
    t: () => press("t"),
    Escape: () => current !== undefined && choose(keyOf(current)),
  });
  if (!requestsAreLoaded.value) {
    return <Frame>{requestsProblem.value === "" ? <Loading /> : <ProblemNote message={requestsProblem.value} />}</Frame>;
  }
  return (
    <Frame filter={filter}>
      <p class={news.trim() === "" ? "visually-hidden" : "muted"} role="status">
        {news}
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
          <Detail
            key={keyOf(current)}
            entry={current}
            isClosed={kept !== null && !closing.isSent(kept)}
            onSend={(entry) => closing.send(entry)}
            onRefused={(entry) => closing.unsend(entry)}
            onAnswered={finish}
            onTooLate={tooLate}
            onTouch={() => closing.touch(current)}
            onGoOn={goOn}
          />
        </div>
      )}
      <Shortcuts />
    </Frame>
  );
}

/** What becomes of the request that somebody answers when it is closed by somebody else, or its time is over. */
class Closing {
  private current: OpenRequestForm | null = null;
  private touched = "";
  private closed: OpenRequestForm | null = null;
  private readonly finished = new Set<string>();
  private readonly sent = new Set<string>();

  /** Return the request that is closed, although somebody was writing an answer to it: the text stays. */
  keep(next: OpenRequestForm | null): OpenRequestForm | null {
    const { current } = this;
    if (current === null || this.isOpen(current)) {
      this.current = next;
      return null;
    }
    if (this.isSent(current)) return current;
    if (!this.finished.has(keyOf(current))) {
      this.closed ??= current;
      if (this.touched === keyOf(current)) return current;
    }
    this.current = next;
    return null;
  }

  /** Return a request that was closed since the last call, and that the page does not show any more. */
  takeClosed(): OpenRequestForm | null {
    const { closed } = this;
    this.closed = null;
    return closed !== null && this.current !== closed ? closed : null;
  }

  touch(entry: OpenRequestForm): void {
    this.touched = keyOf(entry);
  }

  send(entry: OpenRequestForm): void {
    this.sent.add(keyOf(entry));
  }

  unsend(entry: OpenRequestForm): void {
    this.sent.delete(keyOf(entry));
  }

  /** Return whether an answer of this page is on its way, which may be what has closed the request. */
  isSent(entry: OpenRequestForm): boolean {
    return this.sent.has(keyOf(entry));
  }

  finish(entry: OpenRequestForm): void {
    this.unsend(entry);
    this.finished.add(keyOf(entry));
  }

  release(): void {
    this.touched = "";
    this.current = null;
  }

  private isOpen(entry: OpenRequestForm): boolean {
    return requests.value.some((other) => keyOf(other) === keyOf(entry));
  }
}

function useClosing(): Closing {
  const closing = useRef<Closing | null>(null);
  closing.current ??= new Closing();
  return closing.current;
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
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !isCurrent) return;
          event.preventDefault();
          focusAnswer();
        }}
      >
        <span class="queue-row-head">
          <strong>{entry.agent}</strong>
          <Deadline entry={entry} isShort />
        </span>
        <span class="queue-row-text">{clip(questionOf(request), 90)}</span>
        <span class="queue-row-foot">
          <KindBadge request={request} />
          {request.role !== null && <span class="muted">{request.role}</span>}
          <span class="muted">{formatAge(entry.since, now.value)}</span>
        </span>
      </button>
    </li>
  );
}

function KindBadge({ request }: { request: RequestForm }) {
  const kind = request.kind === "form" && findReviewForm(asSchema(request.form)) !== null ? "review" : request.kind;
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

interface DetailProps extends ComponentProps<typeof Answer> {
  /** Called when somebody writes an answer. */
  onTouch: () => void;
  onGoOn: () => void;
}

function Detail({ onTouch, onGoOn, ...answer }: DetailProps) {
  const { entry, isClosed } = answer;
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
          <KindBadge request={request} />
          <Fact label="Role">{request.role ?? "any"}</Fact>
          <Fact label="Deadline">
            <Deadline entry={entry} />
          </Fact>
          {request.deadline !== null && <Fact label="Then">{describeDefault(request)}</Fact>}
        </div>
        {request.path.length > 1 && <p class="muted path">{request.path.join(" › ")}</p>}
        <Prompt request={request} />
        <WrongRole entry={entry} />
        {isClosed && (
          <div class="problem" role="alert">
            <p>{describeClosing(entry)} What you wrote was not sent.</p>
            <button class="button" type="button" onClick={onGoOn}>
              Close
            </button>
          </div>
        )}
        <div onInput={onTouch}>
          <Answer {...answer} />
        </div>
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
    : "You can read this request, but not answer it.";
  return (
    <p class="problem" role="note">
      {text}
    </p>
  );
}

const EFFECTS: Readonly<Record<string, string>> = {
  continue: "it counts as approved",
  exit_early: "the run ends early, with what is done until then",
  reject: "it counts as rejected, and fails",
};

/** Return what happens when nobody answers in time. */
function describeDefault({ default: value, kind }: RequestForm): string {
  if (value === null) return "it takes its default";
  if (kind === "confirmation" || kind === "approval") return value === true ? "the answer is yes" : "the answer is no";
  if (typeof value === "object" && "timed_out" in value) {
    return EFFECTS[String((value as { then?: Json }).then)] ?? "it counts as not answered in time";
  }
  return `the answer is ${clip(JSON.stringify(value), 60)}`;
}

/** Return why a request waits for no answer any more. */
function describeClosing({ request }: OpenRequestForm): string {
  if (request.deadline !== null && request.deadline <= Date.now() / 1000) {
    return `The time to answer is over: ${describeDefault(request)}.`;
  }
  return "Somebody else has answered this, or the run has ended.";
}

const KEYS: readonly [string, string][] = [
  ["j k", "next, previous"],
  ["Enter", "to the answer"],
  ["a", "approve"],
  ["e", "edit"],
  ["t", "try again"],
  ["p", "earlier phase again"],
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
