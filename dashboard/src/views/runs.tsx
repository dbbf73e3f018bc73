/** List of runs, which changes as they do. */

import type { ComponentChildren } from "preact";
import { useComputed, useSignal } from "@preact/signals";
import { useCallback, useEffect, useMemo } from "preact/hooks";

import type { RunForm } from "../api/types";
import { StatusBadge } from "../components/badge";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { Page } from "../components/page";
import { type Column, Table } from "../components/table";
import { clip, formatAge, formatCost, formatCount, formatDuration, formatFullTime } from "../lib/format";
import { replaceAddress } from "../address";
import { linkTo, type ViewProps } from "../links";
import { now } from "../state/clock";
import { RunSearch } from "../state/run-search";
import { hasMore, isLoaded, loadProblem, lookUp, readMore, runs, storeCounts } from "../state/runs";

/** Filters with the statuses that they stand for. */
const FILTERS: Readonly<Record<string, readonly string[]>> = {
  all: [],
  running: ["not started", "running", "paused"],
  waiting: ["waiting"],
  completed: ["completed", "resting"],
  failed: ["failed", "terminated", "stuck", "killed"],
};

export default function RunsView({ query }: ViewProps) {
  const search = useSignal(query.get("search") ?? "");
  const filter = useSignal(query.get("status") ?? "all");
  const asked = useMemo(() => new RunSearch(), []);
  const found = useComputed(() => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const newest = runs.value.filter((run) => words.every((word) => searchText(run).includes(word)));
    const listed = new Set(runs.value.map((run) => run.id));
    const older = asked.found.value.flatMap((id) => (listed.has(id) ? [] : (lookUp(id) ?? [])));
    return [...newest, ...older].filter((run) => hasStatus(run, filter.value));
  });
  const address = query.toString();
  useEffect(() => {
    search.value = query.get("search") ?? "";
    filter.value = query.get("status") ?? "all";
  }, [address]);
  const { value: words } = search;
  const { value: chosen } = filter;
  useEffect(() => {
    asked.look({ words, statuses: statusesOf(chosen) });
    return () => asked.close();
  }, [asked, words, chosen, hasMore.value]);
  const isSearch = words.trim() !== "" || chosen !== "all";
  const readOthers = useCallback(() => (isSearch ? asked.readMore() : readMore()), [asked, isSearch]);
  const remember = (): void =>
    replaceAddress(linkTo("runs", { search: search.value, status: filter.value === "all" ? "" : filter.value }));
  return (
    <Page title="Runs" actions={<a class="button primary" href={linkTo("agents")}>Start a run</a>}>
      <ProblemNote message={loadProblem.value || asked.problem.value} />
      <div class="toolbar">
        <label class="search">
          <span class="visually-hidden">Search runs</span>
          <input
            type="search"
            placeholder="Search by agent, id, status or result"
            value={search}
            onInput={(event) => {
              search.value = event.currentTarget.value;
              remember();
            }}
          />
        </label>
        <div class="chips" role="group" aria-label="Status">
          {Object.keys(FILTERS).map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={filter.value === name}
              onClick={() => {
                filter.value = name;
                remember();
              }}
            >
              {name} <span class="chip-count">{countOf(name)}</span>
            </button>
          ))}
        </div>
      </div>
      <RunTable rows={found.value} onEnd={readOthers} empty={<NoRuns words={words} status={chosen} search={asked} />} />
    </Page>
  );
}

function NoRuns({ words, status, search }: { words: string; status: string; search: RunSearch }) {
  if (search.isSearching.value) return <Loading label="Searching…" />;
  const query = words.trim();
  if (query === "" && status === "all") {
    return (
      <EmptyState title="No runs">
        <p>
          Start one from an <a href={linkTo("agents")}>agent</a>, or over the API.
        </p>
      </EmptyState>
    );
  }
  const kind = status === "all" ? "run" : `${status} run`;
  return (
    <EmptyState title={query === "" ? `No ${kind}` : `No ${kind} matches “${clip(query, 60)}”`}>
      <p>
        The search looks at agents, ids, statuses and results. <a href={linkTo("runs")}>Show all runs</a>
      </p>
    </EmptyState>
  );
}

interface RunTableProps {
  rows: readonly RunForm[];
  empty: ComponentChildren;
  onEnd?: () => void;
}

/** Table of runs; also the page of an agent has one. */
export function RunTable({ rows, empty, onEnd }: RunTableProps) {
  if (!isLoaded.value) return loadProblem.value === "" ? <Loading /> : null;
  if (rows.length === 0) return <div class="panel">{empty}</div>;
  return (
    <div class="panel table-panel">
      <Table label="Runs" columns={COLUMNS} rows={rows} keyOf={(run) => run.id} rowHeight={52} onEnd={onEnd} />
    </div>
  );
}

const COLUMNS: readonly Column<RunForm>[] = [
  { title: "Status", render: (run) => <StatusBadge status={run.was_interrupted ? "interrupted" : run.status} /> },
  {
    title: "Run",
    kind: "wide",
    render: (run) => (
      <a class="run-link" href={linkTo(`runs/${encodeURIComponent(run.id)}`)}>
        <span class="run-name">{run.agent}</span>
        <span class="run-note">{describe(run)}</span>
      </a>
    ),
  },
  { title: "Started", kind: "minor", render: (run) => <Started run={run} /> },
  { title: "Duration", kind: "number minor", render: (run) => <Duration run={run} /> },
  {
    title: "Tokens",
    kind: "number minor",
    render: (run) => formatCount(run.usage.input_tokens + run.usage.output_tokens),
  },
  { title: "Cost", kind: "number minor", render: (run) => formatCost(run.usage.cost) },
];

function Started({ run }: { run: RunForm }) {
  return <time title={formatFullTime(run.started_at)}>{formatAge(run.started_at, now.value)}</time>;
}

/** Return the seconds from the beginning of a run to its end, or until now, with those in which it waited. */
export function elapsedSeconds(run: RunForm): number {
  if (run.started_at === null || run.status === "not started") return run.seconds;
  const isOpen = !run.was_interrupted && ["running", "waiting"].includes(run.status);
  return Math.max(run.seconds, (isOpen ? now.value : (run.changed_at ?? 0)) - run.started_at);
}

/** How long a run has taken, with the time in which it waited for people. */
export function Duration({ run }: { run: RunForm }) {
  return <>{formatDuration(elapsedSeconds(run))}</>;
}

function describe(run: RunForm): string {
  const first = run.pending[0];
  if (first !== undefined) return clip(`waits for ${first.role ?? "a person"}: ${first.prompt}`, 140);
  return clip(run.failure ?? run.output, 140) || run.id;
}

function searchText(run: RunForm): string {
  const waits = run.pending.map((request) => `${request.prompt} ${request.role ?? ""}`).join(" ");
  return `${run.agent} ${run.id} ${run.status} ${run.failure ?? ""} ${run.output} ${waits}`.toLowerCase();
}

function hasStatus(run: RunForm, filter: string): boolean {
  return filter === "all" || statusesOf(filter).includes(run.status);
}

/** Return the statuses of a filter; links from elsewhere name a single status. */
function statusesOf(filter: string): readonly string[] {
  return FILTERS[filter] ?? [filter];
}

/** Return the number of runs of a filter: in the list, or as the server counts them, where the list does not have all. */
function countOf(filter: string): string {
  const counted = storeCounts.value;
  if (counted === null) return `${runs.value.filter((run) => hasStatus(run, filter)).length}${hasMore.value ? "+" : ""}`;
  const statuses = filter === "all" ? Object.keys(counted) : statusesOf(filter);
  return String(statuses.reduce((sum, status) => sum + (counted[status] ?? 0), 0));
}
