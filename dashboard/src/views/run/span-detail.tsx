/** What is known of a part of a run that somebody chose in the timeline. */

import type { Json } from "../../api/types";
import { StatusBadge } from "../../components/badge";
import { JsonView, LongText } from "../../components/json";
import { Fact } from "../../components/page";
import { formatCount, formatDuration, formatFullTime } from "../../lib/format";
import { field } from "../../state/span-events";
import type { Span } from "../../state/trace";
import { MessageView, parse } from "./messages";

export function SpanDetail({ span, onClose }: { span: Span; onClose: () => void }) {
  const last = span.segments.at(-1)!;
  const seconds = span.segments.reduce((sum, part) => sum + (part.end ?? part.start) - part.start, 0);
  return (
    <section class="span-detail" aria-label={`${span.kind} ${span.name}`}>
      <header>
        <div>
          <span class="kind" data-kind={span.kind}>
            {span.kind}
          </span>
          <h3>{span.name}</h3>
        </div>
        <button class="button ghost" type="button" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      <div class="facts">
        <StatusBadge status={span.status} />
        {last.end !== null && <Fact label="took">{formatDuration(seconds)}</Fact>}
        <Fact label="at">{formatFullTime(span.segments[0]!.start)}</Fact>
      </div>
      {span.error !== "" && <p class="problem">{span.error}</p>}
      <Content span={span} />
      <details class="raw">
        <summary>Events</summary>
        <JsonView value={span.opening as unknown as Json} name="begins" depth={1} />
        {span.closing !== null && <JsonView value={span.closing as unknown as Json} name="ends" depth={1} />}
      </details>
    </section>
  );
}

function Content({ span }: { span: Span }) {
  if (span.kind === "model") return <ModelContent span={span} />;
  if (span.kind === "tool") return <ToolContent span={span} />;
  const outputs = span.closing?.["outputs"];
  return (
    <>
      {typeof span.opening["description"] === "string" && <p>{span.opening["description"]}</p>}
      {typeof span.opening["query"] === "string" && <p>Query: {span.opening["query"]}</p>}
      {Array.isArray(outputs) && outputs.length > 0 && <p>Gave {outputs.join(", ")}.</p>}
    </>
  );
}

function ModelContent({ span }: { span: Span }) {
  const messages = field(span.opening["request"], "messages");
  const turn = Number(span.opening["turn"] ?? 1);
  const response = span.closing?.["response"];
  const usage = field(response, "usage");
  const answer = field(response, "message");
  return (
    <>
      {usage !== undefined && (
        <div class="facts">
          <Fact label="in">{formatCount(Number(field(usage, "input_tokens")))}</Fact>
          <Fact label="out">{formatCount(Number(field(usage, "output_tokens")))}</Fact>
          <Fact label="answered by">{String(field(response, "model") ?? field(usage, "model") ?? "")}</Fact>
        </div>
      )}
      <div class="messages">
        {turn > 1 && <p class="muted">Turn {turn} of the conversation</p>}
        {Array.isArray(messages) && messages.map((message, index) => <MessageView key={index} message={message} />)}
        {answer !== undefined && <MessageView message={answer} />}
      </div>
    </>
  );
}

function ToolContent({ span }: { span: Span }) {
  const result = field(span.closing?.["result"], "content");
  const images = field(span.closing?.["result"], "images");
  return (
    <>
      <h4>Arguments</h4>
      <JsonView value={parse(String(field(span.opening["call"], "arguments") ?? ""))} />
      {typeof result === "string" && span.error === "" && (
        <>
          <h4>Result</h4>
          <LongText text={result} limit={2000} />
          {Array.isArray(images) && images.length > 0 && <JsonView value={images} />}
        </>
      )}
    </>
  );
}
