/** Messages of a conversation: prompts, answers, thinking, calls of tools and their results. */

import type { Json } from "../../api/types";
import { JsonView, LongText } from "../../components/json";
import { addressOf, Picture } from "../../components/picture";
import { clip } from "../../lib/format";
import { field } from "../../state/span-events";

const LONG = 1500;

export function MessageView({ message, speaker = "model" }: { message: Json; speaker?: string }) {
  const role = String(field(message, "role") ?? "");
  if (role === "system") {
    return (
      <details class="message system">
        <summary>
          <RoleName role="instructions" /> <span class="muted">{clip(String(field(message, "text")), 90)}</span>
        </summary>
        <LongText text={String(field(message, "text"))} limit={LONG} />
      </details>
    );
  }
  if (role === "tool") return <ToolResultView message={message} />;
  return (
    <article class={`message ${role}`}>
      <RoleName role={role === "assistant" ? speaker : role} />
      {partsOf(message).map((part, index) => (
        <PartView key={index} part={part} />
      ))}
    </article>
  );
}

function ToolResultView({ message }: { message: Json }) {
  const isError = field(message, "is_error") === true;
  const content = String(field(message, "content") ?? "");
  const images = field(message, "images");
  return (
    <article class={`message tool${isError ? " error" : ""}`}>
      <RoleName role={`${isError ? "error of" : "result of"} ${String(field(message, "name"))}`} />
      <LongText text={content} limit={LONG} />
      {Array.isArray(images) && images.map((image, index) => <PartView key={index} part={image} />)}
    </article>
  );
}

function PartView({ part }: { part: Json }) {
  const kind = field(part, "kind");
  if (kind === "text") return <LongText text={String(field(part, "text"))} limit={LONG * 2} />;
  if (kind === "thinking") return <Thinking text={String(field(part, "text"))} />;
  if (kind === "tool_call") {
    return (
      <div class="tool-call">
        <span class="tool-name">calls {String(field(part, "name"))}</span>
        <JsonView value={parse(String(field(part, "arguments") ?? ""))} />
      </div>
    );
  }
  if (addressOf(part) !== "") return <Picture address={addressOf(part)} />;
  return <span class="muted">[{String(kind ?? "part")}]</span>;
}

export function Thinking({ text, isOpen = false }: { text: string; isOpen?: boolean }) {
  return (
    <details class="thinking" open={isOpen}>
      <summary>Thinking</summary>
      <LongText text={text} limit={LONG} />
    </details>
  );
}

export function RoleName({ role }: { role: string }) {
  return <span class="role">{role}</span>;
}

export function partsOf(message: Json): Json[] {
  const parts = field(message, "parts");
  if (Array.isArray(parts)) return parts;
  const content = field(message, "content");
  if (Array.isArray(content)) return content;
  return [{ kind: "text", text: String(content ?? field(message, "text") ?? "") }];
}

/** Return the value of JSON text; the text itself where it is none. */
export function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
