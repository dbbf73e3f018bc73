/** Chat with an agent: each message continues the conversation, and its answer comes in pieces. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { api } from "../../api/client";
import { sendMessage } from "../../api/conversation";
import type { AgentForm, Json } from "../../api/types";
import { ProblemNote } from "../../components/empty";
import { linkTo } from "../../router";
import { MessageView, RoleName } from "../run/messages";

/** Latest runs among which that of an answer is. */
const LATEST = 50;

interface Entry {
  message: Json;
  runId: string | null;
  waits: boolean;
}

export function Chat({ agent }: { agent: AgentForm }) {
  const id = useRef(crypto.randomUUID?.() ?? String(Math.random()).slice(2));
  const entries = useSignal<readonly Entry[]>([]);
  const partial = useSignal<string | null>(null);
  const problem = useSignal("");
  const text = useSignal("");
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [entries.value, partial.value]);
  const add = (role: string, content: string, runId: string | null = null, waits = false): void => {
    entries.value = [...entries.value, { message: { role, content }, runId, waits }];
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const message = text.value.trim();
    if (message === "" || partial.value !== null) return;
    text.value = "";
    problem.value = "";
    partial.value = "";
    add("user", message);
    try {
      const answer = await sendMessage(id.current, agent.id, message, (piece) => (partial.value += piece));
      add("assistant", answer.text, await findRun(answer.run_id), answer.pending.length > 0);
    } catch (error) {
      problem.value = (error as Error).message;
    } finally {
      partial.value = null;
    }
  };
  return (
    <div class="chat">
      <div class="messages" role="log" aria-label={`Chat with ${agent.name}`}>
        {entries.value.length === 0 && <p class="muted">Each message continues the conversation.</p>}
        {entries.value.map((entry, index) => (
          <div key={index} class="chat-entry">
            <MessageView message={entry.message} />
            {entry.runId !== null && (
              <p class="chat-note">
                {entry.waits && <a href={linkTo("waiting", { run: entry.runId })}>It waits for a person</a>}{" "}
                <a href={linkTo(`runs/${encodeURIComponent(entry.runId)}`)}>Look at the run</a>
              </p>
            )}
          </div>
        ))}
        {partial.value !== null && (
          <article class="message assistant partial">
            <RoleName role="model" />
            <span class="text">{partial.value}</span>
          </article>
        )}
        <div ref={end} />
      </div>
      <ProblemNote message={problem.value} />
      <form class="chat-form" onSubmit={submit}>
        <label class="visually-hidden" for="chat-text">
          Message
        </label>
        <input
          id="chat-text"
          autocomplete="off"
          placeholder={`Message to ${agent.name}`}
          value={text}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        <button class="button primary" type="submit" disabled={partial.value !== null}>
          Send
        </button>
      </form>
    </div>
  );
}

/** Return the id of a run that the server keeps; `null` for one that left no record. */
async function findRun(id: string | null): Promise<string | null> {
  if (id === null) return null;
  const { runs } = await api.latestRuns(LATEST);
  return runs.some((run) => run.id === id) ? id : null;
}
