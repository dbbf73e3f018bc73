/** Form that starts a run of an agent, and opens its page. */

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import type { AgentForm, Json } from "../../api/types";
import { ProblemNote } from "../../components/empty";
import { SchemaForm } from "../../components/schema-form";
import { submitByKey } from "../../lib/keys";
import { navigate } from "../../address";
import { linkTo } from "../../links";
import { noteRun } from "../../state/runs";

const TEXT = "text";

export function StartForm({ agent }: { agent: AgentForm }) {
  const inputs = agent.inputs.filter((input) => input.type !== "UserInput" || !agent.takes_text);
  const choices = [...(agent.takes_text ? [TEXT] : []), ...inputs.map((input) => input.type)];
  const chosen = useSignal(choices[0] ?? TEXT);
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const start = async (input: Json): Promise<void> => {
    isBusy.value = true;
    problem.value = "";
    try {
      const run = await api.start(agent.id, { input, type: chosen.value === TEXT ? null : chosen.value });
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
      <ProblemNote message={problem.value} />
      {chosen.value === TEXT ? (
        <TextForm isBusy={isBusy.value} onSubmit={start} />
      ) : (
        <SchemaForm key={chosen.value} schema={schema} submitLabel="Start run" isBusy={isBusy.value} onSubmit={start} />
      )}
    </div>
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
