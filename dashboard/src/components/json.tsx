/** Value as JSON that can be opened part by part. */

import { useState } from "preact/hooks";

import type { Json } from "../api/types";
import { clip } from "../lib/format";
import { addressOf, Picture } from "./picture";

const MOST_ITEMS = 200;
const LONG_TEXT = 400;

export function JsonView({ value, name, depth = 0 }: { value: Json; name?: string; depth?: number }) {
  const label = name === undefined ? null : <span class="json-name">{name}: </span>;
  if (value === null || typeof value !== "object") {
    return (
      <div class="json-line">
        {label}
        <Scalar value={value} />
      </div>
    );
  }
  if (addressOf(value) !== "") {
    return (
      <div class="json-line">
        {label}
        <Picture address={addressOf(value)} />
      </div>
    );
  }
  const entries = Array.isArray(value) ? value.map((item, index): [string, Json] => [String(index), item]) : Object.entries(value);
  if (entries.length === 0) {
    return (
      <div class="json-line">
        {label}
        <span class="muted">{Array.isArray(value) ? "[]" : "{}"}</span>
      </div>
    );
  }
  return <Branch entries={entries} label={name} isList={Array.isArray(value)} depth={depth} />;
}

interface BranchProps {
  entries: [string, Json][];
  label: string | undefined;
  isList: boolean;
  depth: number;
}

function Branch({ entries, label, isList, depth }: BranchProps) {
  const [isOpen, setOpen] = useState(depth < 2);
  const summary = isList ? `${entries.length} items` : clip(entries.map(([key]) => key).join(", "), 60);
  if (depth === 0 && label === undefined) return <Items entries={entries} depth={depth} />;
  return (
    <details class="json-branch" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label !== undefined && <span class="json-name">{label}</span>} <span class="muted">{summary}</span>
      </summary>
      {isOpen && <Items entries={entries} depth={depth} />}
    </details>
  );
}

function Items({ entries, depth }: { entries: [string, Json][]; depth: number }) {
  return (
    <div class="json-items">
      {entries.slice(0, MOST_ITEMS).map(([key, item]) => (
        <JsonView key={key} name={key} value={item} depth={depth + 1} />
      ))}
      {entries.length > MOST_ITEMS && <p class="muted">and {entries.length - MOST_ITEMS} more</p>}
    </div>
  );
}

function Scalar({ value }: { value: null | boolean | number | string }) {
  if (typeof value === "string") return <LongText text={value} />;
  return <span class="json-scalar">{String(value)}</span>;
}

/** Text of which the rest is shown when somebody asks for it. */
export function LongText({ text, limit = LONG_TEXT }: { text: string; limit?: number }) {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= limit * 1.2 || isWhole) return <span class="text">{text}</span>;
  return (
    <span class="text">
      {text.slice(0, limit)}…{" "}
      <button type="button" class="link" onClick={() => setWhole(true)}>
        all {text.length} characters
      </button>
    </span>
  );
}
