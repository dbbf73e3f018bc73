/** What a plan is expected to take, and its timeline beside that of the run. */

import type { ActionForm, ExpectationForm, PlanForm } from "../../api/types";
import { Fact } from "../../components/page";
import { formatCost, formatDuration } from "../../lib/format";

interface Bar {
  start: number;
  seconds: number;
}

export function Expectation({ plan, history }: { plan: PlanForm; history: readonly ActionForm[] }) {
  const { expected } = plan;
  return (
    <>
      <div class="facts" role="group" aria-label="Expected">
        {plan.penalty > 0 && <Fact label="broken preferences cost">{plan.penalty.toPrecision(3)}</Fact>}
        {expected !== null && (
          <>
            <Fact label="expected time">{formatDuration(expected.makespan)}</Fact>
            <Fact label="expected cost">{formatCost(expected.dollars)}</Fact>
            <Fact label="chance">{Math.round(expected.success * 100)} %</Fact>
            <span class="muted">{expected.runs === 0 ? "some actions have never run" : `measured in ${expected.runs} runs or more`}</span>
          </>
        )}
      </div>
      {expected !== null && expected.makespan > 0 && <Timelines expected={expected} begun={plan.at} history={history} />}
    </>
  );
}

function Timelines({ expected, begun, history }: { expected: ExpectationForm; begun: number; history: readonly ActionForm[] }) {
  const later = history.filter((action) => action.started_at >= begun - 0.001);
  const first = Math.min(...later.map((action) => action.started_at));
  const done = new Map(
    later.map((action): [string, Bar] => [action.name, { start: action.started_at - first, seconds: action.seconds }]),
  );
  const bars = [...expected.timeline, ...done.values()];
  const whole = Math.max(0.001, ...bars.map((bar) => bar.start + bar.seconds));
  return (
    <table class="matrix timelines" aria-label="Plan and run">
      <thead>
        <tr>
          <th scope="col">Action</th>
          <th scope="col">Planned above, run below</th>
          <th scope="col">Planned</th>
          <th scope="col">Run</th>
        </tr>
      </thead>
      <tbody>
        {expected.timeline.map((slot) => {
          const bar = done.get(slot.action);
          return (
            <tr key={slot.action}>
              <th scope="row">{slot.action}</th>
              <td>
                <Track bar={slot} whole={whole} tone="planned" />
                {bar !== undefined && <Track bar={bar} whole={whole} tone={bar.seconds > slot.seconds * 2 ? "wait" : "good"} />}
              </td>
              <td>{formatDuration(slot.seconds)}</td>
              <td>{bar === undefined ? "–" : formatDuration(bar.seconds)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Track({ bar, whole, tone }: { bar: Bar; whole: number; tone: string }) {
  const style = { marginLeft: `${(100 * bar.start) / whole}%`, width: `${Math.max(0.5, (100 * bar.seconds) / whole)}%` };
  return (
    <div class="track" aria-hidden="true">
      <span class="track-bar" data-tone={tone} style={style} />
    </div>
  );
}
