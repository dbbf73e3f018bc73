/** Page of a run: what it does, plans, says, has and costs, while it does so. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { api } from "../api/client";
import type { RunDetailsForm, RunForm } from "../api/types";
import { StatusBadge } from "../components/badge";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { JsonView, LongText } from "../components/json";
import { Fact, Page, Panel } from "../components/page";
import { type Tab, Tabs } from "../components/tabs";
import { formatCost, formatCount, formatDuration, formatFullTime, formatTime } from "../lib/format";
import { replaceAddress } from "../address";
import { linkTo, type ViewProps } from "../links";
import { mayI } from "../state/me";
import { findRoots, findSpan } from "../state/restored-spans";
import { hasEnded, RunPage } from "../state/run-page";
import { Blackboard } from "./run/blackboard";
import { Changes, listChanges } from "./run/changes";
import { Conversations, listConversations } from "./run/conversations";
import { EventLog } from "./run/event-log";
import { PlanPanel } from "./run/plan";
import { SpanDetail } from "./run/span-detail";
import { Timeline } from "./run/timeline";
import { UsageByModel } from "./run/usage";
import { Duration, elapsedSeconds } from "./runs";

export default function RunView({ params, query }: ViewProps) {
  const id = params["id"]!;
  const page = useMemo(() => new RunPage(id), [id]);
  useEffect(() => () => page.close(), [page]);
  const details = page.details.value;
  if (details === null) {
    return (
      <Page title="Run">{page.problem.value === "" ? <Loading /> : <ProblemNote message={page.problem.value} />}</Page>
    );
  }
  return <LoadedRun page={page} details={details} tab={query.get("tab") ?? "overview"} />;
}

function LoadedRun({ page, details, tab }: { page: RunPage; details: RunDetailsForm; tab: string }) {
  const { run } = details;
  const choose = (key: string): void =>
    replaceAddress(linkTo(`runs/${encodeURIComponent(run.id)}`, { tab: key === "overview" ? "" : key }));
  return (
    <Page
      title={run.agent}
      before={<Trail run={run} />}
      facts={<RunFacts page={page} run={run} />}
      actions={<RunActions page={page} run={run} />}
    >
      <ProblemNote message={page.refusal.value} />
      <RunNotes run={run} problem={page.problem.value} />
      <RunTabs page={page} details={details} tab={tab} onChoose={choose} />
    </Page>
  );
}

function Trail({ run }: { run: RunForm }) {
  return (
    <nav class="trail" aria-label="Path">
      <a href={linkTo("runs")}>Runs</a>
      {run.parent_id !== null && (
        <>
          {" › "}
          <a href={linkTo(`runs/${encodeURIComponent(run.parent_id)}`)}>the outer run</a>
        </>
      )}
    </nav>
  );
}

function RunFacts({ page, run }: { page: RunPage; run: RunForm }) {
  void page.version.value;
  const recorded = run.usage.input_tokens + run.usage.output_tokens;
  const isLive = run.status === "running" && run.parent_id === null && page.trace.tokens > recorded;
  const { tokens, cost } = isLive ? page.trace : { tokens: recorded, cost: run.usage.cost };
  return (
    <>
      <StatusBadge status={run.was_interrupted ? "interrupted" : run.status} />
      <Fact label="took">
        <Duration run={run} />
      </Fact>
      {hasWaited(run) && <Fact label="worked">{formatDuration(run.seconds)}</Fact>}
      <Fact label="started">
        <time title={formatFullTime(run.started_at)}>{formatTime(run.started_at)}</time>
      </Fact>
      <Fact label="tokens">{formatCount(tokens)}</Fact>
      <Fact label="cost">{formatCost(cost)}</Fact>
      <Fact label="id">
        <code>{run.id}</code>
      </Fact>
    </>
  );
}

/** Return whether a run has waited for so long that its work is told apart. */
function hasWaited(run: RunForm): boolean {
  const waited = elapsedSeconds(run) - run.seconds;
  return run.status !== "running" && waited > 1 && waited > run.seconds / 10;
}

function RunActions({ page, run }: { page: RunPage; run: RunForm }) {
  const isBusy = useSignal(false);
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    isBusy.value = true;
    try {
      await work();
      page.refusal.value = "";
      page.follow();
    } catch (error) {
      page.refusal.value = (error as Error).message;
    } finally {
      isBusy.value = false;
    }
  };
  if (!mayI("start")) return null;
  const canResume = run.was_interrupted || run.status === "stuck" || run.status === "paused";
  return (
    <>
      {canResume && (
        <button class="button primary" type="button" disabled={isBusy.value} onClick={() => act(() => api.resume(run.id))}>
          Resume
        </button>
      )}
      {!hasEnded(run.status) && (
        <button class="button danger" type="button" disabled={isBusy.value} onClick={() => act(() => api.cancel(run.id))}>
          Cancel run
        </button>
      )}
    </>
  );
}

function RunNotes({ run, problem }: { run: RunForm; problem: string }) {
  return (
    <>
      <ProblemNote message={problem} />
      {run.failure !== null && <ProblemNote message={run.failure} />}
      {run.pending.map((request) => (
        <p key={request.id} class="waits">
          <span>
            Waits for {request.role ?? "a person"}: <strong>{request.prompt}</strong>
          </span>{" "}
          <a href={linkTo("waiting", { run: run.id })}>Answer</a>
        </p>
      ))}
    </>
  );
}

interface RunTabsProps {
  page: RunPage;
  details: RunDetailsForm;
  tab: string;
  onChoose: (key: string) => void;
}

function RunTabs({ page, details, tab, onChoose }: RunTabsProps) {
  void page.version.value;
  const { trace } = page;
  const changes = listChanges(page).length;
  const tabs: Tab[] = [
    { key: "overview", label: "Overview" },
    { key: "conversations", label: "Conversations", count: listConversations(page).length },
    ...(changes > 0 ? [{ key: "changes", label: "Changes", count: changes }] : []),
    { key: "blackboard", label: "Blackboard", count: details.objects.length },
    { key: "usage", label: "Tokens and cost" },
    { key: "problems", label: "Problems", count: trace.troubles.length, tone: "bad" },
    { key: "events", label: "Events", count: trace.events.length },
  ];
  const chosen = tabs.some((entry) => entry.key === tab) ? tab : "overview";
  return (
    <Tabs label="Parts of the run" tabs={tabs} chosen={chosen} onChoose={onChoose}>
      {chosen === "overview" && <Overview page={page} details={details} />}
      {chosen === "conversations" && <Conversations page={page} />}
      {chosen === "changes" && <Changes page={page} />}
      {chosen === "blackboard" && <Blackboard details={details} />}
      {chosen === "usage" && <UsageByModel details={details} />}
      {chosen === "problems" && <Problems page={page} />}
      {chosen === "events" && <EventLog page={page} />}
    </Tabs>
  );
}

function Overview({ page, details }: { page: RunPage; details: RunDetailsForm }) {
  const selected = useSignal("");
  const version = page.version.value;
  const roots = useMemo(() => [...findRoots(page.trace, details)], [version, details]);
  const span = findSpan(roots, selected.value);
  const { run } = details;
  const isRunning = run.status === "running" && !run.was_interrupted;
  return (
    <div class="stack">
      {hasProcess(details) && (
        <Panel title="Plan">
          <PlanPanel page={page} details={details} />
        </Panel>
      )}
      <Panel title="Timeline">
        {roots.length === 0 ? (
          <EmptyState title="The run has not begun" />
        ) : (
          <div class={span === null ? "" : "timeline-split"}>
            <Timeline roots={roots} isRunning={isRunning} selected={selected.value} onSelect={(id) => (selected.value = id)} />
            {span !== null && <SpanDetail key={span.id} span={span} onClose={() => (selected.value = "")} />}
          </div>
        )}
      </Panel>
      {details.children.length > 0 && <RunsInside details={details} />}
      {run.status === "completed" && (
        <Panel title="Result">
          <div class="panel-body">
            {run.result === null || typeof run.result === "string" ? (
              <LongText text={String(run.result ?? run.output)} limit={4000} />
            ) : (
              <JsonView value={run.result} />
            )}
          </div>
        </Panel>
      )}
    </div>
  );
}

function RunsInside({ details }: { details: RunDetailsForm }) {
  const rows: { run: RunForm; depth: number }[] = [];
  const visit = (inside: RunDetailsForm, depth: number): void => {
    rows.push({ run: inside.run, depth });
    for (const child of inside.children) visit(child, depth + 1);
  };
  for (const child of details.children) visit(child, 0);
  return (
    <Panel title="Runs inside" aside={<span class="muted">{rows.length}</span>}>
      <ul class="run-tree">
        {rows.map(({ run, depth }) => (
          <li key={run.id} style={{ paddingLeft: `${16 + depth * 20}px` }}>
            <a href={linkTo(`runs/${encodeURIComponent(run.id)}`)}>{run.agent}</a>
            <StatusBadge status={run.status} />
            <Fact label="took">
              <Duration run={run} />
            </Fact>
            <Fact label="tokens">{formatCount(run.usage.input_tokens + run.usage.output_tokens)}</Fact>
            <Fact label="cost">{formatCost(run.usage.cost)}</Fact>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Problems({ page }: { page: RunPage }) {
  void page.version.value;
  const { troubles } = page.trace;
  if (troubles.length === 0) return <EmptyState title="Nothing failed" />;
  return (
    <ol class="troubles">
      {troubles.map((trouble, index) => (
        <li key={index}>
          <header>
            <strong>{trouble.what}</strong>
            <span class="muted">
              {trouble.path.join(" › ")} · <time>{formatTime(trouble.at)}</time>
            </span>
          </header>
          <LongText text={trouble.why} limit={800} />
        </li>
      ))}
    </ol>
  );
}

function hasProcess(details: RunDetailsForm): boolean {
  return details.run.kind === "process" || details.children.some(hasProcess);
}
