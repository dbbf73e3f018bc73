/** Form for a value that a JSON schema describes. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

import type { Json } from "../api/types";
import { asSchema, beginWith, type Draft, findProblems, kindOf, type Problems, resolve, toJson } from "../lib/schema";
import { submitByKey } from "../lib/keys";
import { Field, type FieldProps, ObjectFields } from "./schema-fields";

export interface SchemaFormProps {
  schema: Json;
  /** Value to begin with. */
  value?: Json;
  submitLabel: string;
  isBusy?: boolean;
  /** Buttons beside the one that submits. */
  children?: ComponentChildren;
  onSubmit: (value: Json) => void;
}

export function SchemaForm({ schema, value, submitLabel, isBusy = false, children, onSubmit }: SchemaFormProps) {
  const root = asSchema(schema);
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState<Draft>(() => (value === undefined ? beginWith(root, root) : (value as Draft)));
  const [problems, setProblems] = useState<Problems>({});
  const submit = (event: Event): void => {
    event.preventDefault();
    const found = findProblems(draft, root, root);
    setProblems(found);
    if (Object.keys(found).length === 0) onSubmit(toJson(draft));
    else queueMicrotask(() => setTimeout(() => focusFirstProblem(form.current)));
  };
  const field: FieldProps = {
    schema: resolve(root, root),
    root,
    place: "",
    label: "Answer",
    value: draft,
    problems,
    isRequired: true,
    onChange: setDraft,
  };
  const isObject = kindOf(field.schema) === "object";
  return (
    <form class="form" ref={form} noValidate onSubmit={submit} onKeyDown={submitByKey}>
      {isObject ? <ObjectFields {...field} /> : <Field {...field} />}
      <div class="buttons">
        <button class="button primary" type="submit" disabled={isBusy}>
          {submitLabel}
        </button>
        {children}
      </div>
    </form>
  );
}

function focusFirstProblem(form: HTMLFormElement | null): void {
  form?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
}
