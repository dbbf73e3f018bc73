/** Rejection with a reason. */

import { useState } from "preact/hooks";

import { focusOnce, submitByKey } from "../lib/keys";
import type { Reply } from "./answer-part";

export function Rejection({ label, isBusy, reply }: { label: string; isBusy: boolean; reply: (reply: Reply) => void }) {
  const [isOpen, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    reply({ response: false, reason });
  };
  if (!isOpen) {
    return (
      <button class="button danger" type="button" data-shortcut="r" onClick={() => setOpen(true)}>
        {label}…
      </button>
    );
  }
  return (
    <form class="form rejection" onSubmit={submit} onKeyDown={submitByKey}>
      <label class="field">
        <span>Why not</span>
        <input ref={focusOnce} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      <div class="buttons">
        <button class="button danger" type="submit" disabled={isBusy}>
          {label}
        </button>
        <button class="button ghost" type="button" onClick={() => setOpen(false)}>
          Back
        </button>
      </div>
    </form>
  );
}
