/** Form that starts a run of an agent, and opens its page. */

import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";

import { api } from "../../api/client";
import type { AgentForm, Json } from "../../api/types";
import { ProblemNote } from "../../components/empty";
import { SchemaForm } from "../../components/schema-form";
import { submitByKey } from "../../lib/keys";
import { navigate } from "../../address";
import { linkTo } from "../../links";
import { mayI } from "../../state/me";
import { noteRun } from "../../state/runs";

const TEXT = "text";

export function StartForm({ agent }: { agent: AgentForm }) {
  return mayI("start") ? <Start agent={agent} /> : <NoStart />;
}

/** What a person reads who may see an agent, and not start it. */
export function NoStart() {
  return (
    <p role="note" class="muted">
      Only people with the right “start” may start runs.
    </p>
  );
}

function Start({ agent }: { agent: AgentForm }) {
  const inputs = agent.inputs.filter((input) => input.type !== "UserInput" || !agent.takes_text);
  const choices = [...(agent.takes_text ? [TEXT] : []), ...inputs.map((input) => input.type)];
  const chosen = useSignal(choices[0] ?? TEXT);
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const terms = useSignal<{ [key: string]: Json }>({});
  const start = async (input: Json): Promise<void> => {
    isBusy.value = true;
    problem.value = "";
    try {
      const run = await api.start(agent.id, { input, type: chosen.value === TEXT ? null : chosen.value, ...terms.value });
      noteRun(run);
      navigate(linkTo(`runs/${encodeURIComponent(run.id)}`));
    } catch (error) {
      problem.value = (error as Error).message;
    } finally {
      isBusy.value = false;
    }
  };
  const schema = inputs.find((input) => input.type === chosen.value)?.form ?? null;
  return (
    <div class="stack">
      {choices.length > 1 && (
        <label class="inline-field">
          <span>Input</span>
          <select value={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
            {choices.map((choice) => (
              <option key={choice}>{choice}</option>
            ))}
          </select>
        </label>
      )}
      {agent.plans && <PlanTerms onChange={(chosen) => (terms.value = chosen)} />}
      <ProblemNote message={problem.value} />
      {chosen.value === TEXT ? (
        <TextForm isBusy={isBusy.value} onSubmit={start} />
      ) : (
        <SchemaForm key={chosen.value} schema={schema} submitLabel="Start run" isBusy={isBusy.value} onSubmit={start} />
      )}
    </div>
  );
}

const OBJECTIVES = { "": "the agent's", cost: "cost", time: "time", dollars: "dollars" };

/** How the run plans: whether a person reviews its plans, and what they are to save. */
function PlanTerms({ onChange }: { onChange: (terms: { [key: string]: Json }) => void }) {
  const [values, setValues] = useState({ review: false, role: "", minutes: "", default: "reject", objective: "", rules: "" });
  const set = (change: Partial<typeof values>): void => {
    const next = { ...values, ...change };
    setValues(next);
    const minutes = Number(next.minutes);
    const review = { role: next.role.trim() || null, seconds: minutes > 0 ? minutes * 60 : null, default: next.default };
    onChange({
      plan_review: next.review ? review : null,
      objective: next.objective || null,
      rules: next.rules.split("\n").map((rule) => rule.trim()).filter((rule) => rule !== ""),
    });
  };
  return (
    <details class="terms">
      <summary>Planning</summary>
      <div class="form">
        <label class="check">
          <input type="checkbox" checked={values.review} onChange={(event) => set({ review: event.currentTarget.checked })} /> Ask a
          person about each plan
        </label>
        {values.review && (
          <>
            <label class="field">
              <span>Role of the person (optional)</span>
              <input value={values.role} onInput={(event) => set({ role: event.currentTarget.value })} />
            </label>
            <label class="field">
              <span>Minutes to wait (optional)</span>
              <input type="number" min={0} value={values.minutes} onInput={(event) => set({ minutes: event.currentTarget.value })} />
            </label>
            {Number(values.minutes) > 0 && (
              <label class="field">
                <span>If nobody decides in time</span>
                <select value={values.default} onChange={(event) => set({ default: event.currentTarget.value })}>
                  <option value="reject">the plan is rejected</option>
                  <option value="approve">the plan is approved</option>
                </select>
              </label>
            )}
          </>
        )}
        <label class="field">
          <span>Plans save</span>
          <select value={values.objective} onChange={(event) => set({ objective: event.currentTarget.value })}>
            {Object.entries(OBJECTIVES).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Rules, one a line (optional)</span>
          <textarea class="mono" rows={2} value={values.rules} onInput={(event) => set({ rules: event.currentTarget.value })} />
        </label>
      </div>
    </details>
  );
}

function TextForm({ isBusy, onSubmit }: { isBusy: boolean; onSubmit: (text: string) => void }) {
  const text = useSignal("");
  const submit = (event: Event): void => {
    event.preventDefault();
    onSubmit(text.value);
  };
  return (
    <form class="form" onSubmit={submit} onKeyDown={submitByKey}>
      <label class="field">
        <span>Request</span>
        <textarea
          rows={3}
          required
          value={text}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </label>
      <button class="button primary" type="submit" disabled={isBusy}>
        Start run
      </button>
    </form>
  );
}
