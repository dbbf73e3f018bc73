/** Messages to agents, whose answers come in pieces. */

import { apiUrl, send } from "./client";
import { readEvents } from "./stream";
import type { RequestForm } from "./types";

export interface AnswerTextForm {
  run_id: string | null;
  status: string;
  text: string;
  pending: RequestForm[];
}

/** Send a message in a conversation and return the answer; `onText` takes its pieces. */
export async function sendMessage(
  conversation: string,
  agent: string,
  message: string,
  onText: (text: string) => void,
): Promise<AnswerTextForm> {
  const url = apiUrl(`api/conversations/${encodeURIComponent(conversation)}/messages`);
  const headers = { accept: "text/event-stream", "content-type": "application/json" };
  const response = await send(url, { method: "POST", headers, body: JSON.stringify({ agent, message }) });
  for await (const event of readEvents(response)) {
    if (event.kind === "text") onText((JSON.parse(event.data) as { text: string }).text);
    else if (event.kind === "end") return JSON.parse(event.data) as AnswerTextForm;
    else if (event.kind === "error") throw new Error((JSON.parse(event.data) as { message: string }).message);
  }
  throw new Error("The connection ended before the answer did.");
}
