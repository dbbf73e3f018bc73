/** Conversations of a run with models, each agent's by itself. */

import { useSignal } from "@preact/signals";

import type { Json, RunDetailsForm } from "../../api/types";
import { EmptyState } from "../../components/empty";
import { LongText } from "../../components/json";
import { formatTime } from "../../lib/format";
import type { RunPage } from "../../state/run-page";
import type { Conversation } from "../../state/trace";
import { MessageView, RoleName, Thinking } from "./messages";

/** Messages that are shown at first, the latest. */
const SHOWN = 100;

export function Conversations({ page }: { page: RunPage }) {
  void page.version.value;
  const chosen = useSignal("");
  const all = listConversations(page);
  if (all.length === 0) return <EmptyState title="This run has not called a model" />;
  const current = all.find((conversation) => conversation.id === chosen.value) ?? all[0]!;
  return (
    <div class="split">
      <ul class="choices" aria-label="Conversations">
        {all.map((conversation) => (
          <li key={conversation.id}>
            <button type="button" aria-pressed={conversation === current} onClick={() => (chosen.value = conversation.id)}>
              <span class="choice-name">{conversation.path.at(-1) ?? "run"}</span>
              <span class="choice-note">
                {[conversation.path.slice(0, -1).join(" › "), conversation.model, formatTime(conversation.at)]
                  .filter((part) => part !== "" && part !== "–")
                  .join(" · ")}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <Messages key={current.id} conversation={current} />
    </div>
  );
}

function Messages({ conversation }: { conversation: Conversation }) {
  const most = useSignal(SHOWN);
  const { messages, partial, thinking } = conversation;
  const skipped = Math.max(0, messages.length - most.value);
  return (
    <div class="messages" role="log" aria-label={`Conversation of ${conversation.path.at(-1) ?? "the run"}`} tabIndex={0}>
      {skipped > 0 && (
        <button class="button" type="button" onClick={() => (most.value += SHOWN)}>
          {skipped === 1 ? "1 earlier message" : `${skipped} earlier messages`}
        </button>
      )}
      {messages.slice(skipped).map((message, index) => (
        <MessageView key={skipped + index} message={message} />
      ))}
      {(partial !== "" || thinking !== "") && (
        <article class="message assistant partial">
          <RoleName role="model" />
          {thinking !== "" && <Thinking text={thinking} isOpen={partial === ""} />}
          {partial !== "" && <LongText text={partial} limit={1e9} />}
        </article>
      )}
    </div>
  );
}

/** Return the conversations that the events tell of, and those that only the server's record has. */
export function listConversations(page: RunPage): Conversation[] {
  const seen = page.trace.conversations;
  const known = new Set(seen.map((conversation) => conversation.runId));
  const stored: Conversation[] = [];
  const visit = (details: RunDetailsForm, path: string[]): void => {
    const here = [...path, details.run.agent];
    if (details.messages.length > 0 && !known.has(details.run.id)) stored.push(restore(details, here));
    for (const child of details.children) visit(child, here);
  };
  if (page.details.value !== null) visit(page.details.value, []);
  return [...seen, ...stored];
}

function restore(details: RunDetailsForm, path: string[]): Conversation {
  const { id, started_at: at } = details.run;
  const messages: Json[] = details.messages;
  return { id, runId: id, path, model: "", messages, answered: messages.length, turns: 0, partial: "", thinking: "", at: at ?? 0 };
}
