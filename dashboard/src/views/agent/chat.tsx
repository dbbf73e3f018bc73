/** Chat with an agent: each message continues the conversation, whose id is in the address. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";

import { api, ApiProblem } from "../../api/client";
import { type ConversationForm, createKey, readConversation, sendMessage } from "../../api/conversation";
import type { AgentForm, Json, RunForm } from "../../api/types";
import { Answer } from "../../components/answer";
import { ProblemNote } from "../../components/empty";
import { submitByKey } from "../../lib/keys";
import { replaceAddress } from "../../address";
import { linkTo } from "../../links";
import { mayI } from "../../state/me";
import { Refresh } from "../../state/refresh";
import { field } from "../../state/span-events";
import { MessageView, partsOf, RoleName } from "../run/messages";
import { addressOfChat, ChatList } from "./chat-list";
import { NoStart } from "./start";

/** Milliseconds between two looks at a run that waits for a person. */
const LOOK = 1500;
const UNFINISHED = ["not started", "running", "waiting", "paused"];

/** Ids that were made here: the server has no messages of them yet. */
const fresh = new Set<string>();

export function ChatTab({ agent, id }: { agent: AgentForm; id: string | null }) {
  useEffect(() => {
    if (id === null) replaceAddress(addressOfChat(agent, createId()));
  }, [agent.id, id]);
  return id === null ? null : <Chat key={id} agent={agent} id={id} />;
}

function createId(): string {
  const id = createKey();
  fresh.add(id);
  return id;
}

function Chat({ agent, id }: { agent: AgentForm; id: string }) {
  const messages = useSignal<readonly Json[]>([]);
  const run = useSignal<RunForm | null>(null);
  const partial = useSignal<string | null>(null);
  const problem = useSignal("");
  const failure = useSignal("");
  const text = useSignal("");
  const end = useRef<HTMLDivElement>(null);
  const wanted = useRef<string | null>(null);
  const unsent = useRef({ message: "", key: "" });
  const refresh = useMemo(
    () =>
      new Refresh({
        read: async (signal) => {
          const conversation = await readMessages(id, signal);
          const current = wanted.current ?? conversation.run_id;
          return { found: current === null ? null : await readRun(current, signal), messages: conversation.messages };
        },
        take: (answer) => {
          if (partial.value !== null) return; // an answer is coming, which the conversation does not have yet
          run.value = answer.found;
          if (answer.messages.length >= messages.value.length || !isOpen(answer.found)) messages.value = answer.messages;
        },
        report: (reason) => (problem.value = reason),
      }),
    [id],
  );
  useEffect(() => {
    if (!fresh.has(id)) refresh.renew();
    const timer = setInterval(() => isOpen(run.value) && !document.hidden && refresh.request(), LOOK);
    return () => {
      clearInterval(timer);
      refresh.close();
    };
  }, [id]);
  useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [messages.value, partial.value, run.value]);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const message = text.value.trim();
    if (message === "" || partial.value !== null) return;
    text.value = failure.value = partial.value = "";
    messages.value = [...messages.value, { role: "user", content: message }];
    fresh.delete(id);
    const key = unsent.current.message === message ? unsent.current.key : createKey();
    unsent.current = { message: "", key: "" };
    try {
      const answer = await sendMessage(id, agent, message, key, (piece) => (partial.value = piece));
      wanted.current = answer.run_id;
      if (answer.text !== "") messages.value = [...messages.value, { role: "assistant", content: answer.text }];
    } catch (error) {
      failure.value = (error as Error).message;
      wanted.current = null;
      if (!(await isTaken(message))) {
        text.value ||= message;
        unsent.current = { message, key };
      }
    } finally {
      partial.value = null;
      refresh.renew();
    }
  };
  /** Show what the server has, and return whether that ends with this message. */
  const isTaken = async (message: string): Promise<boolean> => {
    try {
      messages.value = (await readMessages(id)).messages;
    } catch {
      messages.value = messages.value.slice(0, -1);
      return false;
    }
    return field(messages.value.at(-1) ?? null, "content") === message;
  };
  return (
    <div class="chat">
      <ChatList agent={agent} current={id} version={`${messages.value.length} ${run.value?.status ?? ""}`} />
      <div class="messages" role="log" aria-label={`Chat with ${agent.name}`} tabIndex={0}>
        {messages.value.length === 0 && <p class="muted">Each message continues the conversation.</p>}
        {messages.value.map((message, index) => (
          <MessageView key={index} message={message} speaker={agent.name} />
        ))}
        {run.value !== null && <Questions run={run.value} onAnswered={() => refresh.renew()} />}
        {partial.value !== null && (
          <article class="message assistant partial">
            <RoleName role={agent.name} />
            <span class="text">{partial.value}</span>
          </article>
        )}
        <div ref={end} />
      </div>
      {run.value !== null && (
        <p class="chat-note">
          <a href={linkTo(`runs/${encodeURIComponent(run.value.id)}`)}>Open the run</a>
        </p>
      )}
      <ProblemNote message={failure.value || problem.value} />
      {mayI("start") ? (
        <form class="chat-form" onSubmit={submit} onKeyDown={submitByKey}>
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
      ) : (
        <NoStart />
      )}
    </div>
  );
}

/** What the answer waits for, which somebody may answer in the chat. */
function Questions({ run, onAnswered }: { run: RunForm; onAnswered: () => void }) {
  return (
    <>
      {run.pending.map((request) => (
        <section key={`${request.id} ${request.prompt}`} class="chat-question" aria-label="Question">
          <p>
            <strong>This run waits for {request.role === null ? "an answer" : `an answer of the role “${request.role}”`}:</strong>
          </p>
          <pre class="prompt">{request.prompt}</pre>
          {request.may_answer ? (
            <Answer
              entry={{ run_id: run.id, agent: run.agent, since: run.changed_at, request }}
              isClosed={false}
              onAnswered={onAnswered}
              onTooLate={onAnswered}
            />
          ) : (
            <p class="muted">You cannot answer this: somebody else has to.</p>
          )}
        </section>
      ))}
    </>
  );
}

/** Return what people and the agent said in a conversation; nothing of one that has not begun. */
async function readMessages(id: string, signal?: AbortSignal): Promise<ConversationForm> {
  try {
    const conversation = await readConversation(id, signal);
    return { ...conversation, messages: conversation.messages.filter((message) => isSaid(message)) };
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 404) return { id, messages: [], run_id: null };
    throw error;
  }
}

/** Return a run; `null` for one that left no record, or that somebody else has started. */
async function readRun(id: string, signal: AbortSignal): Promise<RunForm | null> {
  try {
    return await api.run(id, signal);
  } catch (error) {
    if (error instanceof ApiProblem && [403, 404].includes(error.status)) return null;
    throw error;
  }
}

function isOpen(run: RunForm | null): boolean {
  return run !== null && UNFINISHED.includes(run.status);
}

function isSaid(message: Json): boolean {
  const role = field(message, "role");
  return role === "user" || (role === "assistant" && textOf(message) !== "");
}

function textOf(message: Json): string {
  const texts = partsOf(message).filter((part) => field(part, "kind") === "text");
  return texts.map((part) => String(field(part, "text"))).join(" ").trim();
}
