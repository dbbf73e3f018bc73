/** An evaluation beside others of the same data set: their figures with intervals, and a matrix of cases and versions. */

import { useEffect, useState } from "preact/hooks";

import { replaceAddress } from "../address";
import {
  type ComparisonForm,
  type DifferenceForm,
  type EvaluationDetailsForm,
  type EvaluationForm,
  evaluations,
  type FigureForm,
  type TrialForm,
} from "../api/evaluations";
import { Badge } from "../components/badge";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { LongText } from "../components/json";
import { Fact, Page, Panel } from "../components/page";
import { formatCost, formatCount, formatDuration } from "../lib/format";
import { linkTo, type ViewProps } from "../links";
import { usePolled } from "../state/polling";
import { EvaluationBadge } from "./evaluations";

const SECONDS = 4;

/** Evaluation in the matrix, and what changed in it since the first. */
interface Version {
  details: EvaluationDetailsForm;
  comparison: ComparisonForm | null;
}

export default function EvaluationView({ params, query }: ViewProps) {
  const ids = [params["id"]!, ...(query.get("with") ?? "").split(",").filter((id) => id !== "").map(decodeURIComponent)];
  return <Versions key={ids.join(",")} ids={ids} />;
}

function Versions({ ids }: { ids: string[] }) {
  const { value, problem } = usePolled((signal) => readVersions(ids, signal), SECONDS);
  const first = value?.[0]?.details.evaluation;
  return (
    <Page
      title={first?.dataset ?? "Evaluation"}
      before={
        <nav class="trail" aria-label="Path">
          <a href={linkTo("evaluations")}>Evaluations</a>
        </nav>
      }
      actions={first !== undefined && <AddVersion ids={ids} dataset={first.dataset} />}
    >
      <ProblemNote message={problem} />
      {value === null ? problem === "" && <Loading /> : <Matrix versions={value} />}
    </Page>
  );
}

async function readVersions(ids: string[], signal: AbortSignal): Promise<Version[]> {
  return Promise.all(
    ids.map(async (id, index) => ({
      details: await evaluations.details(id, signal),
      comparison: index === 0 ? null : await evaluations.compare(id, ids[0]!, signal),
    })),
  );
}

function AddVersion({ ids, dataset }: { ids: string[]; dataset: string }) {
  const [others, setOthers] = useState<EvaluationForm[]>([]);
  useEffect(() => void evaluations.list().then((found) => setOthers(found.evaluations), () => {}), []);
  const choices = others.filter((other) => other.dataset === dataset && !ids.includes(other.id));
  if (choices.length === 0) return null;
  const add = (id: string): void => replaceAddress(addressOf([...ids, id]));
  return (
    <label class="inline-field">
      <span>Compare with</span>
      <select value="" onChange={(event) => event.currentTarget.value !== "" && add(event.currentTarget.value)}>
        <option value="">–</option>
        {choices.map((choice) => (
          <option key={choice.id} value={choice.id}>
            {choice.name} ({choice.id})
          </option>
        ))}
      </select>
    </label>
  );
}

function addressOf([first, ...others]: string[]): string {
  return linkTo(`evaluations/${encodeURIComponent(first!)}`, { with: others.map(encodeURIComponent).join(",") });
}

function Matrix({ versions }: { versions: Version[] }) {
  const scores = [...new Set(versions.flatMap(({ details }) => details.scores.map((score) => score.name)))];
  return (
    <>
      {versions.map(({ details, comparison }) => (
        <Notes key={details.evaluation.id} details={details} comparison={comparison} />
      ))}
      <Panel title="Figures" aside={<span class="muted">mean of the cases, with a 95 % interval</span>}>
        <div class="scroll">
          <Figures versions={versions} />
        </div>
      </Panel>
      <Cases versions={versions} scores={scores} />
    </>
  );
}

function Notes({ details, comparison }: { details: EvaluationDetailsForm; comparison: ComparisonForm | null }) {
  const { evaluation } = details;
  return (
    <div class="facts">
      <strong>{evaluation.name}</strong>
      <EvaluationBadge evaluation={evaluation} />
      <Fact label="of">{evaluation.runnable}</Fact>
      <Fact label="runs">
        {evaluation.done} / {evaluation.expected}
      </Fact>
      {evaluation.stopped !== null && <span>Stopped: {evaluation.stopped}.</span>}
      {comparison !== null && (
        <Badge
          tone={comparison.is_worse ? "bad" : comparison.is_better ? "good" : "quiet"}
          label={comparison.verdict}
        />
      )}
      {comparison !== null && comparison.flaky.length > 0 && <Fact label="flaky">{comparison.flaky.join(", ")}</Fact>}
      {evaluation.waiting.map((waiting) => (
        <span key={waiting.run_id} class="waits">
          {waiting.name} waits: <a href={linkTo("waiting", { run: waiting.run_id })}>{waiting.prompts.join(" ")}</a>
        </span>
      ))}
    </div>
  );
}

const FORMATS: Record<string, (value: number) => string> = { cost: formatCost, tokens: formatCount, seconds: formatDuration };

function formatFigure(name: string, value: number): string {
  const format = FORMATS[name];
  if (format === undefined) return value.toPrecision(3).replace(/\.?0+$/, "");
  return value < 0 ? `−${format(-value)}` : format(value);
}

function Figures({ versions }: { versions: Version[] }) {
  const names = [
    ...new Set(versions.flatMap(({ details }) => [...details.scores, ...details.measures].map((figure) => figure.name))),
  ];
  return (
    <table class="matrix" aria-label="Figures">
      <Heads versions={versions} title="Figure" />
      <tbody>
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            {versions.map(({ details, comparison }) => {
              const figure = [...details.scores, ...details.measures].find((each) => each.name === name);
              const change = [...(comparison?.scores ?? []), ...(comparison?.measures ?? [])].find((each) => each.name === name);
              return (
                <td key={details.evaluation.id}>
                  {figure === undefined ? "–" : <Figure figure={figure} />}
                  {change !== undefined && <Change change={change} isScore={comparison!.scores.includes(change)} />}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Heads({ versions, title }: { versions: Version[]; title: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">{title}</th>
        {versions.map(({ details: { evaluation } }) => (
          <th key={evaluation.id} scope="col" title={evaluation.id}>
            {evaluation.name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function Figure({ figure: { name, mean, low, high } }: { figure: FigureForm }) {
  return (
    <span>
      <strong>{formatFigure(name, mean)}</strong>{" "}
      {low !== null && high !== null && (
        <span class="muted">
          {formatFigure(name, low)} to {formatFigure(name, high)}
        </span>
      )}
    </span>
  );
}

const TONES = { worse: "bad", better: "good", same: "quiet" } as const;

function Change({ change, isScore }: { change: DifferenceForm; isScore: boolean }) {
  const sign = change.difference > 0 ? "+" : "";
  const interval =
    change.low === null || change.high === null
      ? ""
      : ` (${formatFigure(change.name, change.low)} to ${formatFigure(change.name, change.high)})`;
  const text = `${sign}${formatFigure(change.name, change.difference)}${interval}`;
  return (
    <span class="change" title={`p = ${change.p_value.toPrecision(2)}, ${change.cases} cases`}>
      {isScore ? <Badge tone={TONES[change.verdict]} label={`${text} ${change.verdict}`} /> : <span class="muted">{text}</span>}
    </span>
  );
}

const CHANGED = "changed";

function Cases({ versions, scores }: { versions: Version[]; scores: string[] }) {
  const [score, setScore] = useState(scores[0] ?? "");
  const [filter, setFilter] = useState("");
  const [open, setOpen] = useState("");
  const all = [...new Set(versions.flatMap(({ details }) => details.trials.map((trial) => trial.case)))];
  const changed = new Set(
    versions.flatMap(({ comparison }) => (comparison?.changed ?? []).filter((each) => each.score === score).map((each) => each.case)),
  );
  const shown = filter === CHANGED ? all.filter((name) => changed.has(name)) : all;
  return (
    <Panel
      title="Cases"
      aside={
        <span class="buttons">
          {scores.length > 0 && (
            <label class="inline-field">
              <span>Score</span>
              <select value={score} onChange={(event) => setScore(event.currentTarget.value)}>
                {scores.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          )}
          {versions.length > 1 && (
            <label class="inline-field">
              <span>Show</span>
              <select value={filter} onChange={(event) => setFilter(event.currentTarget.value)}>
                <option value="">all cases</option>
                <option value={CHANGED}>cases that changed</option>
              </select>
            </label>
          )}
        </span>
      }
    >
      {shown.length === 0 ? (
        <EmptyState title={all.length === 0 ? "No case has ended yet." : "No case changed."} />
      ) : (
        <div class="scroll">
          <table class="matrix" aria-label="Cases">
            <Heads versions={versions} title="Case" />
            <tbody>
              {shown.map((name) => (
                <CaseRows
                  key={name}
                  name={name}
                  score={score}
                  versions={versions}
                  isOpen={open === name}
                  onToggle={() => setOpen(open === name ? "" : name)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

interface CaseRowsProps {
  name: string;
  score: string;
  versions: Version[];
  isOpen: boolean;
  onToggle: () => void;
}

function CaseRows({ name, score, versions, isOpen, onToggle }: CaseRowsProps) {
  const cells = versions.map(({ details }) => details.trials.filter((trial) => trial.case === name));
  const sample = cells.flat()[0]!;
  return (
    <>
      <tr>
        <th scope="row">
          <button class="link" type="button" aria-expanded={isOpen} onClick={onToggle}>
            {name}
          </button>
        </th>
        {cells.map((trials, index) => (
          <td key={index}>
            <span class="cell">
              {trials.length === 0 && <span class="muted">–</span>}
              {trials.map((trial) => (
                <TrialLink key={trial.name} trial={trial} score={score} />
              ))}
            </span>
          </td>
        ))}
      </tr>
      {isOpen && (
        <tr class="case-texts">
          <th scope="row">
            <Part label="Input" text={sample.input} />
            {sample.expected !== null && <Part label="Expected" text={sample.expected} />}
          </th>
          {cells.map((trials, index) => (
            <td key={index}>
              {trials.map((trial) => (
                <TrialTexts key={trial.name} trial={trial} />
              ))}
            </td>
          ))}
        </tr>
      )}
    </>
  );
}

/** Result of a run of a case, which leads to the run with its plan and its trace. */
function TrialLink({ trial, score }: { trial: TrialForm; score: string }) {
  const result = trial.results.find((each) => each.name === score);
  const isGood = result !== undefined && (result.value === true || result.value === 1);
  const isBad = trial.error !== null || result?.value === false || result?.value === 0;
  const label = trial.error !== null ? "failed" : result === undefined ? "ended" : describeValue(result.value);
  const content = (
    <span class="trial" data-tone={isBad ? "bad" : isGood ? "good" : "plain"}>
      {label}
    </span>
  );
  const title = trial.error ?? result?.reason ?? undefined;
  if (trial.run_id === "") return <span title={title}>{content}</span>;
  return (
    <a href={linkTo(`runs/${encodeURIComponent(trial.run_id)}`)} title={title} aria-label={`${trial.name}: ${label}`}>
      {content}
    </a>
  );
}

function describeValue(value: boolean | number): string {
  if (typeof value === "boolean") return value ? "✓ yes" : "✗ no";
  return formatFigure("", value);
}

function TrialTexts({ trial }: { trial: TrialForm }) {
  return (
    <div class="trial-texts">
      {trial.error !== null && <p class="problem">{trial.error}</p>}
      {trial.output !== null && <Part label="Output" text={trial.output} />}
      <ul>
        {trial.results.map((result) => (
          <li key={result.name}>
            {result.name}: <strong>{describeValue(result.value)}</strong>
            {result.reason !== null && <span class="muted"> {result.reason}</span>}
          </li>
        ))}
      </ul>
      <p class="muted">
        {formatDuration(trial.seconds)} · {formatCount(trial.tokens)} tokens · {formatCost(trial.cost)}
        {trial.run_id !== "" && (
          <>
            {" · "}
            <a href={linkTo(`runs/${encodeURIComponent(trial.run_id)}`)}>open the run</a>
          </>
        )}
      </p>
    </div>
  );
}

function Part({ label, text }: { label: string; text: string }) {
  return (
    <div class="part">
      <span class="muted">{label}</span>
      <div class="pre">
        <LongText text={text} limit={1500} />
      </div>
    </div>
  );
}
