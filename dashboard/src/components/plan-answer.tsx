/** Answer to the review of a plan: approve or reject it, forbid or demand actions, add a rule, or give other steps. */

import { useEffect, useState } from "preact/hooks";

import { api } from "../api/client";
import type { Json, PlanForm } from "../api/types";
import { submitByKey } from "../lib/keys";
import { asSchema, type Schema } from "../lib/schema";
import type { PartProps } from "./answer-part";
import { Rejection } from "./rejection";

/** Return whether a form is that of the review of a plan. */
export function isPlanForm(form: Schema): boolean {
  const properties = asSchema(form["properties"]);
  return ["approved", "forbid", "demand", "rule", "steps"].every((name) => name in properties);
}

/** Return a decision on a plan in words, such as the decision that counts when nobody answers. */
export function describeDecision(value: Json): string | null {
  const decision = asSchema(value);
  if (typeof decision["approved"] !== "boolean" || !("steps" in decision)) return null;
  return decision["approved"] ? "the plan counts as approved" : "the plan counts as rejected";
}

type Mode = "" | "change" | "edit";

export function PlanAnswer({ request, runId, isBusy, reply }: PartProps) {
  const [mode, setMode] = useState<Mode>("");
  const [plan, setPlan] = useState<PlanForm | null>(null);
  useEffect(() => void api.plans(runId).then(({ plans }) => setPlan(plans.at(-1) ?? null), () => {}), [runId]);
  const names = plan?.steps.map((step) => step.name) ?? readSteps(request.prompt);
  return (
    <>
      <div class="buttons" role="group" aria-label="Decision">
        <button
          class="button primary"
          type="button"
          data-shortcut="a"
          disabled={isBusy}
          onClick={() => reply({ response: { approved: true } })}
        >
          Approve
        </button>
        <button class="button" type="button" aria-pressed={mode === "change"} onClick={() => setMode("change")}>
          Forbid or demand actions
        </button>
        <button class="button" type="button" data-shortcut="e" aria-pressed={mode === "edit"} onClick={() => setMode("edit")}>
          Edit the steps
        </button>
      </div>
      {mode === "change" && <Change names={names} isBusy={isBusy} onSend={(response) => reply({ response })} />}
      {mode === "edit" && <Edit names={names} isBusy={isBusy} onSend={(response) => reply({ response })} />}
      <Rejection label="Reject" isBusy={isBusy} reply={reply} />
    </>
  );
}

interface ChangeProps {
  names: string[];
  isBusy: boolean;
  onSend: (decision: { [key: string]: Json }) => void;
}

/** Rules for this run, under which the agent plans again. */
function Change({ names, isBusy, onSend }: ChangeProps) {
  const [forbidden, setForbidden] = useState<readonly string[]>([]);
  const [demanded, setDemanded] = useState("");
  const [rule, setRule] = useState("");
  const demand = splitNames(demanded);
  const isEmpty = forbidden.length === 0 && demand.length === 0 && rule.trim() === "";
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!isEmpty) onSend({ approved: false, forbid: [...forbidden], demand, rule });
  };
  const toggle = (name: string): void =>
    setForbidden(forbidden.includes(name) ? forbidden.filter((other) => other !== name) : [...forbidden, name]);
  return (
    <form class="form" onSubmit={submit} onKeyDown={submitByKey}>
      <fieldset class="field">
        <legend>Forbid</legend>
        {names.map((name) => (
          <label key={name} class="check">
            <input type="checkbox" checked={forbidden.includes(name)} onChange={() => toggle(name)} /> {name}
          </label>
        ))}
      </fieldset>
      <label class="field">
        <span>Demand (names of actions, with commas)</span>
        <input value={demanded} onInput={(event) => setDemanded(event.currentTarget.value)} />
      </label>
      <label class="field">
        <span>Rule</span>
        <input
          class="mono"
          placeholder='before("verify", "pay_out")'
          value={rule}
          onInput={(event) => setRule(event.currentTarget.value)}
        />
      </label>
      <button class="button primary" type="submit" disabled={isBusy || isEmpty}>
        Plan again
      </button>
    </form>
  );
}

/** Other steps, one a line. */
function Edit({ names, isBusy, onSend }: ChangeProps) {
  const [text, setText] = useState(names.join("\n"));
  const steps = splitNames(text);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (steps.length > 0) onSend({ approved: true, steps });
  };
  return (
    <form class="form" onSubmit={submit} onKeyDown={submitByKey}>
      <label class="field">
        <span>Steps, one a line</span>
        <textarea class="mono" rows={Math.max(3, names.length + 1)} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button class="button primary" type="submit" disabled={isBusy || steps.length === 0}>
        Follow these steps
      </button>
    </form>
  );
}

function splitNames(text: string): string[] {
  return text.split(/[,\n]/).map((name) => name.trim()).filter((name) => name !== "");
}

/** Return the steps in the first line of the question, for people who do not see the run. */
function readSteps(prompt: string): string[] {
  const [line = ""] = prompt.split("\n", 1);
  return line.slice(line.indexOf(": ") + 2).split(", then ").filter((name) => name !== "");
}
