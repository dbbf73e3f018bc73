/** Answer to a review of a task or of a phase: a decision, and the text that some decisions need. */

import { useState } from "preact/hooks";

import type { Json } from "../api/types";
import { focusOnce, submitByKey } from "../lib/keys";
import { asSchema, choicesOf, resolve, type Schema } from "../lib/schema";
import type { PartProps } from "./answer-part";

/** What a decision needs besides itself. */
interface Decision {
  label: string;
  shortcut?: string;
  /** Name of the field of its text; some need none. */
  field?: "text" | "feedback";
  /** What the text is, and what the button that sends it says. */
  prompt?: string;
  submit?: string;
}

const DECISIONS: Readonly<Record<string, Decision>> = {
  approve: { label: "Approve", shortcut: "a" },
  edit: { label: "Edit", shortcut: "e", field: "text", prompt: "New text", submit: "Continue with this text" },
  retry: {
    label: "Try again",
    shortcut: "t",
    field: "feedback",
    prompt: "What has to change",
    submit: "Let it try again",
  },
  retry_predecessor: {
    label: "Try an earlier phase again",
    shortcut: "p",
    field: "feedback",
    prompt: "What has to change",
    submit: "Let the earlier phase try again",
  },
  exit_early: { label: "End early" },
  reject: { label: "Reject", shortcut: "r", field: "feedback", prompt: "Why not", submit: "Reject" },
};

export interface ReviewForm {
  /** Name of the field of the decision. */
  name: string;
  choices: string[];
}

/** Return where the form of a review has its decision, if a form is one. */
export function findReviewForm(form: Schema): ReviewForm | null {
  const properties = asSchema(form["properties"]);
  const name = ["decision", "verdict"].find((known) => known in properties);
  if (name === undefined || !("feedback" in properties)) return null;
  const choice = resolve(asSchema(properties[name]), form);
  return Array.isArray(choice["enum"]) ? { name, choices: choicesOf(choice).map(String) } : null;
}

export function ReviewAnswer({ request, isBusy, reply }: PartProps) {
  const { name, choices } = findReviewForm(asSchema(request.form))!;
  const [chosen, setChosen] = useState("");
  const [texts, setTexts] = useState({ text: request.prompt.split("\n\n").slice(1).join("\n\n"), feedback: "" });
  const [phase, setPhase] = useState("");
  const { field, prompt, submit: submitLabel } = DECISIONS[chosen] ?? {};
  const decide = (choice: string): void => {
    if (DECISIONS[choice]?.field === undefined) reply({ response: { [name]: choice } });
    else setChosen(choice);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isBusy || field === undefined) return;
    const response: { [key: string]: Json } = { [name]: chosen, [field]: texts[field] };
    if (chosen === "retry_predecessor" && phase.trim() !== "") response["phase"] = phase.trim();
    reply({ response });
  };
  return (
    <>
      <div class="buttons" role="group" aria-label="Decision">
        {choices.map((choice) => (
          <button
            key={choice}
            class={`button ${choice === "approve" ? "primary" : choice === "reject" ? "danger" : ""}`}
            type="button"
            data-shortcut={DECISIONS[choice]?.shortcut}
            aria-pressed={DECISIONS[choice]?.field === undefined ? undefined : chosen === choice}
            disabled={isBusy}
            onClick={() => decide(choice)}
          >
            {DECISIONS[choice]?.label ?? choice}
          </button>
        ))}
      </div>
      {field !== undefined && (
        <form class="form" onSubmit={submit} onKeyDown={submitByKey}>
          <label class="field">
            <span>{prompt}</span>
            <textarea
              key={chosen}
              ref={focusOnce}
              rows={6}
              required
              value={texts[field]}
              onInput={({ currentTarget: { value } }) => setTexts({ ...texts, [field]: value })}
            />
          </label>
          {chosen === "retry_predecessor" && (
            <label class="field">
              <span>Phase (needed only if several phases come before)</span>
              <input value={phase} onInput={(event) => setPhase(event.currentTarget.value)} />
            </label>
          )}
          <button class="button primary" type="submit" disabled={isBusy}>
            {submitLabel}
          </button>
        </form>
      )}
    </>
  );
}
