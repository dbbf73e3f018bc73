/** Evaluations of the store: what was evaluated, how far it is, and which are compared. */

import { useState } from "preact/hooks";

import { type EvaluationForm, evaluations } from "../api/evaluations";
import { Badge, type Tone } from "../components/badge";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { Page } from "../components/page";
import { type Column, Table } from "../components/table";
import { formatAge, formatFullTime } from "../lib/format";
import { linkTo } from "../links";
import { now } from "../state/clock";
import { usePolled } from "../state/polling";

const SECONDS = 4;
const TONES: Record<EvaluationForm["status"], Tone> = { running: "active", complete: "good", waiting: "wait", stopped: "bad" };

export default function EvaluationsView() {
  const { value, problem } = usePolled(evaluations.list, SECONDS);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const rows = value?.evaluations ?? [];
  const toggle = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  return (
    <Page title="Evaluations" actions={<CompareLink rows={rows} chosen={chosen} />}>
      <ProblemNote message={problem} />
      {value === null && problem === "" && <Loading />}
      {value !== null && rows.length === 0 && (
        <EmptyState title="No evaluations yet.">
          <p>
            <code>tactician eval run FILE --store STORE --id NAME</code> keeps one in the store of this server.
          </p>
        </EmptyState>
      )}
      {rows.length > 0 && (
        <div class="panel table-panel">
          <Table label="Evaluations" columns={listColumns(chosen, toggle)} rows={rows} keyOf={(row) => row.id} rowHeight={56} />
        </div>
      )}
    </Page>
  );
}

/** Link to the matrix of the chosen evaluations, of which the earliest is the baseline. */
function CompareLink({ rows, chosen }: { rows: readonly EvaluationForm[]; chosen: readonly string[] }) {
  const picked = rows.filter((row) => chosen.includes(row.id)).sort((one, other) => one.started - other.started);
  const [first, ...others] = picked.map((row) => row.id);
  if (first === undefined || others.length === 0) return <span class="muted">Choose two or more to compare them.</span>;
  return (
    <a class="button primary" href={linkTo(`evaluations/${encodeURIComponent(first)}`, { with: others.map(encodeURIComponent).join(",") })}>
      Compare {picked.length}
    </a>
  );
}

function listColumns(chosen: readonly string[], toggle: (id: string) => void): readonly Column<EvaluationForm>[] {
  return [
    {
      title: "Compare",
      render: (row) => (
        <input
          type="checkbox"
          aria-label={`Compare ${row.name}`}
          checked={chosen.includes(row.id)}
          onChange={() => toggle(row.id)}
        />
      ),
    },
    {
      title: "Evaluation",
      kind: "wide",
      render: (row) => (
        <>
          <a href={linkTo(`evaluations/${encodeURIComponent(row.id)}`)}>{row.name}</a>
          <br />
          <span class="muted">{row.dataset}</span>
        </>
      ),
    },
    { title: "Status", render: (row) => <EvaluationBadge evaluation={row} /> },
    { title: "Runs", kind: "number", render: (row) => `${row.done} / ${row.expected}` },
    { title: "Evaluates", kind: "minor", render: (row) => row.runnable },
    {
      title: "Started",
      kind: "minor",
      render: (row) => <time title={formatFullTime(row.started)}>{formatAge(row.started, now.value)}</time>,
    },
  ];
}

export function EvaluationBadge({ evaluation }: { evaluation: EvaluationForm }) {
  return <Badge tone={TONES[evaluation.status]} label={evaluation.status} />;
}
