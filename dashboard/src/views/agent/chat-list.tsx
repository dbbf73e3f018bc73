/** Conversations with an agent: those that the person may read, the newest first. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { type ConversationEntryForm, listConversations } from "../../api/conversation";
import type { AgentForm } from "../../api/types";
import { ProblemNote } from "../../components/empty";
import { clip, formatAge } from "../../lib/format";
import { linkTo } from "../../links";
import { now } from "../../state/clock";

export function addressOfChat(agent: AgentForm, id: string): string {
  return linkTo(`agents/${encodeURIComponent(agent.id)}`, { try: "chat", chat: id });
}

interface ChatListProps {
  agent: AgentForm;
  /** Id of the conversation that is shown. */
  current: string;
  /** Changes when the list may have changed. */
  version: string;
}

export function ChatList({ agent, current, version }: ChatListProps) {
  const shown = useSignal<readonly ConversationEntryForm[]>([]);
  const next = useSignal<number | null>(null);
  const problem = useSignal("");
  const read = async (after: number, signal?: AbortSignal): Promise<void> => {
    try {
      const page = await listConversations(agent.id, after, signal);
      if (signal?.aborted) return;
      shown.value = after === 0 ? page.conversations : [...shown.value, ...page.conversations];
      next.value = page.next;
      problem.value = "";
    } catch (error) {
      if (!signal?.aborted) problem.value = `The list of conversations did not load: ${(error as Error).message}`;
    }
  };
  useEffect(() => {
    const reading = new AbortController();
    void read(0, reading.signal);
    return () => reading.abort();
  }, [agent.id, version]);
  return (
    <details class="chat-list">
      <summary>
        Conversations{" "}
        <span class="muted">
          {shown.value.length}
          {next.value !== null && "+"}
        </span>
      </summary>
      <ProblemNote message={problem.value} />
      <ul aria-label="Conversations">
        {shown.value.map((chat) => (
          <li key={chat.id}>
            <a href={addressOfChat(agent, chat.id)} aria-current={chat.id === current ? "page" : undefined}>
              {clip(chat.title, 60) || "A picture"}
            </a>{" "}
            <span class="muted">
              {formatAge(chat.changed_at, now.value)}
              {chat.waiting && " · waits for an answer"}
            </span>
          </li>
        ))}
        <li>
          <a href={linkTo(`agents/${encodeURIComponent(agent.id)}`, { try: "chat" })}>New conversation</a>
        </li>
      </ul>
      {next.value !== null && (
        <button class="button" type="button" onClick={() => void read(next.value ?? 0)}>
          Show older conversations
        </button>
      )}
    </details>
  );
}
