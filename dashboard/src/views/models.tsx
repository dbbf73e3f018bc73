/** Models: each at each instance, and what was used of them over time. */

import { useMemo } from "preact/hooks";

import { type DeploymentForm, type ModelsForm, overview } from "../api/overview";
import { Badge, type Tone } from "../components/badge";
import { Chart, type Curve } from "../components/chart";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { Page, Panel } from "../components/page";
import { type Column, Table } from "../components/table";
import { formatCost, formatCount, formatDuration, formatFullTime } from "../lib/format";
import { buildSeries, sumUp, type UseTotal } from "../lib/use";
import { usePolled } from "../state/polling";

const SECONDS = 4;

export default function ModelsView() {
  const { value, problem } = usePolled(overview.models, SECONDS);
  return (
    <Page title="Models">
      <ProblemNote message={problem} />
      {value === null ? problem === "" && <Loading /> : <Content models={value} />}
    </Page>
  );
}

function Content({ models }: { models: ModelsForm }) {
  const isEmpty = models.deployments.length === 0 && models.use.length === 0;
  if (isEmpty) return <EmptyState title="No model has been called yet.">Models appear here after their first call.</EmptyState>;
  return (
    <>
      {models.use.length > 0 && <Curves models={models} />}
      {models.deployments.length > 0 && (
        <Panel title="Instances">
          <Table label="Instances" columns={DEPLOYMENTS} rows={models.deployments} keyOf={nameOf} rowHeight={56} />
        </Panel>
      )}
      {models.use.length > 0 && (
        <Panel title="Usage" aside={<span class="muted">since {formatFullTime(models.since)}</span>}>
          <Table label="Usage" columns={TOTALS} rows={models.use.map(sumUp)} keyOf={(total) => total.model} />
        </Panel>
      )}
    </>
  );
}

function Curves({ models }: { models: ModelsForm }) {
  const series = useMemo(() => buildSeries(models.use, models.seconds_per_point, Date.now() / 1000), [models]);
  const curves = (values: Map<string, (number | null)[]>): Curve[] =>
    [...values].map(([label, points]) => ({ label, values: points }));
  return (
    <div class="charts">
      <Panel title="Cost so far">
        <Chart title="Cost" times={series.times} curves={curves(series.cost)} format={formatCost} />
      </Panel>
      <Panel title="Calls per minute">
        <Chart title="Calls" times={series.times} curves={curves(series.calls)} format={formatCount} />
      </Panel>
      <Panel title="Errors per minute">
        <Chart title="Errors" times={series.times} curves={curves(series.errors)} format={formatCount} />
      </Panel>
      <Panel title="Seconds per call">
        <Chart title="Seconds" times={series.times} curves={curves(series.seconds)} format={formatDuration} />
      </Panel>
    </div>
  );
}

function nameOf(deployment: DeploymentForm): string {
  return `${deployment.kind} ${deployment.instance} ${deployment.model}`;
}

const CIRCUITS: Record<DeploymentForm["circuit"], Tone> = { closed: "good", open: "bad", "half-open": "wait" };

const DEPLOYMENTS: readonly Column<DeploymentForm>[] = [
  {
    title: "Model",
    kind: "wide",
    render: (one) => (
      <>
        <strong>{one.model}</strong> <span class="muted">{one.kind === "chat" ? "" : one.kind}</span>
        <br />
        <span class="muted">at {one.instance}</span>
      </>
    ),
  },
  { title: "Circuit", render: (one) => <Badge tone={CIRCUITS[one.circuit]} label={describeCircuit(one)} /> },
  { title: "In flight", kind: "number", render: (one) => `${one.in_flight} / ${one.max_concurrency ?? "∞"}` },
  { title: "Queue", kind: "number", render: (one) => formatCount(one.waiting) },
  { title: "Limits", kind: "minor", render: describeLimits },
  { title: "Calls", kind: "number minor", render: (one) => formatCount(one.requests) },
  { title: "Errors", kind: "number", render: describeErrors },
  { title: "Average", kind: "number minor", render: (one) => formatOptional(one.average_latency, formatDuration) },
  { title: "Tokens", kind: "number minor", render: (one) => formatCount(one.input_tokens + one.output_tokens) },
  { title: "Cost", kind: "number", render: (one) => formatCost(one.cost) },
];

const TOTALS: readonly Column<UseTotal>[] = [
  { title: "Model", kind: "wide", render: (total) => <strong>{total.model}</strong> },
  { title: "Calls", kind: "number", render: (total) => formatCount(total.calls) },
  { title: "Errors", kind: "number", render: (total) => formatCount(total.errors) },
  { title: "Tokens", kind: "number", render: (total) => formatCount(total.tokens) },
  { title: "Cost", kind: "number", render: (total) => formatCost(total.cost) },
];

function describeCircuit(one: DeploymentForm): string {
  return one.cooldown_seconds === null ? one.circuit : `${one.circuit}, ${formatDuration(one.cooldown_seconds)}`;
}

function describeLimits(one: DeploymentForm): string {
  const rates = [
    formatOptional(one.requests_per_second, (rate) => `${rate} calls/s`),
    formatOptional(one.tokens_per_second, (rate) => `${formatCount(rate)} tokens/s`),
  ];
  return rates.filter((rate) => rate !== "–").join(", ") || "none";
}

function describeErrors(one: DeploymentForm): string {
  return one.last_failure === null ? formatCount(one.failures) : `${formatCount(one.failures)} (${one.last_failure})`;
}

function formatOptional(value: number | null, format: (value: number) => string): string {
  return value === null ? "–" : format(value);
}
