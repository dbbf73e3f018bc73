/** The store of the runs, and the workers that hold some of them. */

import { overview, type StoreForm, type WorkerForm } from "../api/overview";
import { StatusBadge } from "../components/badge";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { Fact, Page, Panel } from "../components/page";
import { formatCount, formatDuration } from "../lib/format";
import { linkTo } from "../links";
import { now } from "../state/clock";
import { usePolled } from "../state/polling";

const SECONDS = 2;

export default function StoresView() {
  const { value, problem } = usePolled(overview.store, SECONDS);
  const facts = value !== null && (
    <>
      <Fact label="Kind">{value.kind}</Fact>
      <Fact label="Runs">{formatCount(Object.values(value.runs).reduce((sum, count) => sum + count, 0))}</Fact>
    </>
  );
  return (
    <Page title="Stores" facts={facts}>
      <ProblemNote message={problem} />
      {value === null ? problem === "" && <Loading /> : <Content store={value} />}
    </Page>
  );
}

function Content({ store }: { store: StoreForm }) {
  const ahead = store.now - now.value;
  return (
    <>
      <Panel title="Runs by status">
        <Statuses runs={store.runs} />
      </Panel>
      <Panel title="Workers">
        <ul class="workers">
          {store.workers.map((worker) => (
            <Worker key={worker.name} worker={worker} ahead={Math.abs(ahead) > SECONDS + 1 ? ahead : 0} />
          ))}
        </ul>
      </Panel>
      <RunList title="Interrupted" ids={store.interrupted} purpose="No worker holds these runs: their worker died or was stopped." />
      <RunList title="Waiting for a worker" ids={store.queued} purpose="The most urgent comes first." />
    </>
  );
}

function Statuses({ runs }: { runs: Record<string, number> }) {
  const counts = Object.entries(runs).sort(([, one], [, other]) => other - one);
  const most = Math.max(1, ...counts.map(([, count]) => count));
  if (counts.length === 0) return <EmptyState title="The store has no runs." />;
  return (
    <ul class="statuses">
      {counts.map(([status, count]) => (
        <li key={status}>
          <StatusBadge status={status} />
          <a class="status-bar" href={linkTo("runs", { status })} aria-label={`${status}: ${count}`}>
            <span style={{ width: `${Math.max(1, (100 * count) / most)}%` }} />
          </a>
          <span class="status-count">{formatCount(count)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Worker with its runs. `ahead` is by how many seconds the clock of the server is ahead of this one. */
function Worker({ worker, ahead }: { worker: WorkerForm; ahead: number }) {
  return (
    <li class="worker">
      <p>
        <strong class="mono">{worker.name}</strong> {worker.is_this_server && <span class="muted">this server</span>}
      </p>
      {worker.runs.length === 0 ? (
        <p class="muted">holds no run</p>
      ) : (
        <ul>
          {worker.runs.map((run) => (
            <li key={run.run_id} class="lease">
              <a href={linkTo(`runs/${run.run_id}`)}>{run.agent}</a>
              <span class="mono muted">{run.run_id}</span>
              <span>{describeLease(run.lease_ends_at, now.value + ahead)}</span>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function describeLease(endsAt: number | null, time: number): string {
  if (endsAt === null) return "no lease";
  const left = endsAt - time;
  return left <= 0 ? "lease has ended" : `lease for ${formatDuration(Math.ceil(left))}`;
}

function RunList({ title, ids, purpose }: { title: string; ids: string[]; purpose: string }) {
  if (ids.length === 0) return null;
  return (
    <Panel title={title}>
      <div class="panel-body">
        <p class="muted">{purpose}</p>
        <ul class="ids">
          {ids.map((id) => (
            <li key={id}>
              <a class="mono" href={linkTo(`runs/${id}`)}>
                {id}
              </a>
            </li>
          ))}
        </ul>
      </div>
    </Panel>
  );
}
