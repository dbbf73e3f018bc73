/** Experience: runs, success, seconds and dollars of each action, tool and model. */

import { type ExperienceForm, overview } from "../api/overview";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { Page, Panel } from "../components/page";
import { type Column, Table } from "../components/table";
import { formatCost, formatCount, formatDuration } from "../lib/format";
import { usePolled } from "../state/polling";

const SECONDS = 30;
const TITLES: Readonly<Record<ExperienceForm["kind"], string>> = { action: "Actions", tool: "Tools", model: "Models" };

export default function ExperienceView() {
  const { value, problem } = usePolled(overview.experience, SECONDS);
  const rows = value?.experience ?? [];
  const kinds = (Object.keys(TITLES) as ExperienceForm["kind"][]).filter((kind) => rows.some((row) => row.kind === kind));
  return (
    <Page title="Experience">
      <ProblemNote message={problem} />
      {value === null && problem === "" && <Loading />}
      {value !== null && rows.length === 0 && (
        <EmptyState title="No runs yet.">Actions, tools and models appear here after their first runs.</EmptyState>
      )}
      {kinds.map((kind) => (
        <Panel key={kind} title={TITLES[kind]} aside={<span class="muted">recent runs count more</span>}>
          <Table label={TITLES[kind]} columns={COLUMNS} rows={rows.filter((row) => row.kind === kind)} keyOf={keyOf} rowHeight={56} />
        </Panel>
      ))}
    </Page>
  );
}

function keyOf(row: ExperienceForm): string {
  return `${row.kind} ${row.agent} ${row.name}`;
}

const COLUMNS: readonly Column<ExperienceForm>[] = [
  {
    title: "Name",
    kind: "wide",
    render: (row) => (
      <>
        <strong>{row.name}</strong>
        <br />
        <span class="muted">{row.agent}</span>
      </>
    ),
  },
  { title: "Runs", kind: "number", render: (row) => formatCount(row.runs) },
  { title: "Success", kind: "number", render: (row) => `${Math.round(row.success * 100)} %` },
  { title: "Seconds", kind: "number", render: (row) => formatDuration(row.seconds) },
  { title: "Dollars", kind: "number", render: (row) => formatCost(row.dollars) },
  {
    title: "By model",
    kind: "minor",
    render: (row) => Object.entries(row.by_model).map(([model, runs]) => `${model}: ${runs}`).join(", "),
  },
];
