/** Messages to agents, whose answers come in pieces. */

import { ApiProblem, apiUrl, get, send } from "./client";
import { readEvents } from "./stream";
import type { AgentForm, Json, RequestForm } from "./types";

export interface AnswerTextForm {
  run_id: string | null;
  status: string;
  text: string;
  pending: RequestForm[];
}

export interface ConversationForm {
  id: string;
  messages: Json[];
  /** Id of the run that answered last. */
  run_id: string | null;
}

/** Conversation in a list. */
export interface ConversationEntryForm {
  id: string;
  title: string;
  changed_at: number;
  waiting: boolean;
}

export interface ConversationsForm {
  conversations: ConversationEntryForm[];
  next: number | null;
}

export function listConversations(agent: string, after: number, signal?: AbortSignal): Promise<ConversationsForm> {
  return get<ConversationsForm>("api/conversations", { agent, after: String(after) }, signal);
}

const TRIES = 6;

export function readConversation(id: string, signal?: AbortSignal): Promise<ConversationForm> {
  return get<ConversationForm>(`api/conversations/${encodeURIComponent(id)}`, {}, signal);
}

/** Return a key with which the server takes a message once, however often it is sent. */
export function createKey(): string {
  return crypto.randomUUID?.() ?? String(Math.random()).slice(2);
}

/**
 * Send a message in a conversation and return the answer; `onText` takes the text so far.
 *
 * A connection that breaks is opened again: with the same key, the server gives the first answer again.
 */
export async function sendMessage(
  conversation: string,
  agent: AgentForm,
  message: string,
  key: string,
  onText: (text: string) => void,
): Promise<AnswerTextForm> {
  const body = JSON.stringify({ agent: agent.id, message, idempotency_key: key });
  for (let attempt = 1; ; attempt++) {
    try {
      return await receive(conversation, body, onText);
    } catch (error) {
      if (error instanceof Refusal || error instanceof ApiProblem || attempt === TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** attempt));
    }
  }
}

class Refusal extends Error {}

async function receive(conversation: string, body: string, onText: (text: string) => void): Promise<AnswerTextForm> {
  const url = apiUrl(`api/conversations/${encodeURIComponent(conversation)}/messages`);
  const headers = { accept: "text/event-stream", "content-type": "application/json" };
  const response = await send(url, { method: "POST", headers, body });
  let text = "";
  for await (const event of readEvents(response)) {
    if (event.kind === "text") onText((text += (JSON.parse(event.data) as { text: string }).text));
    else if (event.kind === "end") return JSON.parse(event.data) as AnswerTextForm;
    else if (event.kind === "error") throw new Refusal((JSON.parse(event.data) as { message: string }).message);
  }
  throw new Error("The connection ended before the answer was complete. Reload the page to see what the server has.");
}
