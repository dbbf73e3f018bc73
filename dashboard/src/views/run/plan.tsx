/** Plan of a process: the graph of its agent with what is done, what is planned, and why. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import type { DiagramForm, RunDetailsForm } from "../../api/types";
import { EmptyState } from "../../components/empty";
import { GraphView } from "../../components/graph";
import { shortName } from "../../lib/format";
import { drawPlan, paintDiagram, type PlanState } from "../../lib/plan-graph";
import { agents, readAgents, readDiagram } from "../../state/agents";
import { statusOfAction } from "../../state/restored-spans";
import { NOTHING } from "../../state/span-events";
import type { RunPage } from "../../state/run-page";
import { Expectation } from "./expectation";
import type { Revision } from "../../state/trace";

const NARROW = 760;

export function PlanPanel({ page, details }: { page: RunPage; details: RunDetailsForm }) {
  void page.version.value;
  const process = useSignal(details.run.id);
  const chosen = useSignal<number | null>(null);
  const diagram = useSignal<DiagramForm | null>(null);
  useEffect(readAgents, []);
  const all = listProcesses(details);
  const current = all.find((entry) => entry.run.id === process.value) ?? all[0];
  const agentId = agents.value?.find((agent) => agent.name === current?.run.agent)?.id ?? "";
  useEffect(() => {
    diagram.value = null;
    if (agentId !== "") void readDiagram(agentId).then((found) => (diagram.value = found));
  }, [agentId]);
  if (current === undefined) return <EmptyState title="This run has no plan">Only planned agents make plans.</EmptyState>;
  const revisions = page.trace.revisions.filter((revision) => revision.runId === current.run.id);
  const index = Math.min(chosen.value ?? revisions.length - 1, revisions.length - 1);
  const revision = revisions[index];
  const plan = page.plans.value.find((each) => each.run_id === revision?.runId && Math.abs(each.at - revision.at) < 1e-6);
  const isCurrent = index === revisions.length - 1;
  const state = findState(page, current, revision ?? null, isCurrent);
  const graph = diagram.value === null ? drawPlan(state) : paintDiagram(diagram.value, state);
  const direction = innerWidth < NARROW ? "TD" : (diagram.value?.direction ?? "LR");
  return (
    <div class="plan">
      {all.length > 1 && (
        <label class="inline-field">
          <span>Process</span>
          <select value={current.run.id} onChange={(event) => (process.value = event.currentTarget.value)}>
            {all.map((entry) => (
              <option key={entry.run.id} value={entry.run.id}>
                {entry.run.agent}
              </option>
            ))}
          </select>
        </label>
      )}
      {revision !== undefined && (
        <RevisionView
          revisions={revisions}
          index={index}
          why={plan?.why ?? ""}
          state={state}
          onChoose={(next) => (chosen.value = next === revisions.length - 1 ? null : next)}
        />
      )}
      {plan !== undefined && <Expectation plan={plan} history={current.history} />}
      {current !== details && current.run.failure !== null && <p class="problem">{current.run.failure}</p>}
      <GraphView label={`Plan of ${current.run.agent}`} nodes={graph.nodes} edges={graph.edges} direction={direction} />
      <Legend />
    </div>
  );
}

interface RevisionViewProps {
  revisions: readonly Revision[];
  index: number;
  why: string;
  state: PlanState;
  onChoose: (index: number) => void;
}

function RevisionView({ revisions, index, why, state, onChoose }: RevisionViewProps) {
  const revision = revisions[index]!;
  const former = revisions[index - 1];
  const steps = revision.plan.actions.map((action) => action.name);
  const gone = (former?.plan.actions ?? []).map((action) => action.name).filter((name) => !steps.includes(name) && !state.actions.has(name));
  const added = former === undefined ? [] : steps.filter((name) => !former.plan.actions.some((action) => action.name === name));
  return (
    <div class="revision">
      <div class="revision-head">
        <strong>
          Plan {index + 1} of {revisions.length}
        </strong>
        {revisions.length > 1 && (
          <span class="stepper">
            <button class="button" type="button" aria-label="Earlier plan" disabled={index === 0} onClick={() => onChoose(index - 1)}>
              ‹
            </button>
            <button
              class="button"
              type="button"
              aria-label="Later plan"
              disabled={index === revisions.length - 1}
              onClick={() => onChoose(index + 1)}
            >
              ›
            </button>
          </span>
        )}
        <span>
          towards <strong>{revision.plan.goal.name}</strong>
        </span>
      </div>
      <ol class="steps" aria-label="Steps of the plan">
        {steps.map((name) => (
          <li key={name} data-status={state.actions.get(name) ?? "planned"} class={added.includes(name) ? "added" : ""}>
            {name}
            {state.actions.get(name) === NOTHING && <span class="muted"> {NOTHING}</span>}
          </li>
        ))}
        {gone.map((name) => (
          <li key={`gone ${name}`} class="gone">
            <s>{name}</s>
          </li>
        ))}
      </ol>
      <p class="muted">
        {former !== undefined && `Replanned ${causeOf(revision)}. `}
        {why || reasonOf(revision)}
      </p>
    </div>
  );
}

function causeOf(revision: Revision): string {
  if (revision.stop !== null) return `when the run continued after ${revision.stop === "wait" ? "it had waited" : "an interruption"}`;
  if (revision.error !== "") return `after ${revision.after} failed: ${revision.error}`;
  if (revision.gaveNothing) return `after ${revision.after} ${NOTHING}`;
  return revision.after === "" ? "as the situation changed" : `after ${revision.after}, as the situation was not as expected`;
}

function reasonOf({ plan }: Revision): string {
  const cost = plan.actions.reduce((sum, action) => sum + action.cost, 0);
  const quality = plan.optimal ? "no plan is better" : `it may be improved by ${plan.gap ?? "some"}`;
  return `The goal is worth ${round(plan.goal.value)}, the steps cost ${round(cost)}; ${quality}.`;
}

function Legend() {
  const tones = { good: "done or there", active: "running", wait: "waits", quiet: "gave nothing", bad: "failed or missing", planned: "planned, in this order" };
  return (
    <ul class="legend" aria-label="Colors">
      {Object.entries(tones).map(([tone, text]) => (
        <li key={tone}>
          <span class="swatch" data-tone={tone} aria-hidden="true" /> {text}
        </li>
      ))}
    </ul>
  );
}

function listProcesses(details: RunDetailsForm): RunDetailsForm[] {
  const found = details.run.kind === "process" ? [details] : [];
  return [...found, ...details.children.flatMap(listProcesses)];
}

function findState(page: RunPage, details: RunDetailsForm, revision: Revision | null, isCurrent: boolean): PlanState {
  const actions = new Map<string, string>();
  for (const entry of details.history) actions.set(entry.name, statusOfAction(entry));
  for (const span of page.trace.run(details.run.id)?.children ?? []) {
    if (span.kind === "action") actions.set(span.name, span.status);
  }
  const present = new Set(details.objects.filter((object) => !object.is_hidden).map((object) => shortName(object.type)));
  for (const [name, value] of Object.entries(details.conditions)) if (value) present.add(name);
  return { actions, present, plan: revision?.plan ?? null, isStuck: details.run.status === "stuck", isCurrent };
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
