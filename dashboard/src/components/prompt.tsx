/** Question to a person: its text, and where it has parts between tags, these side by side. */

import type { RequestForm } from "../api/types";
import { asSchema } from "../lib/schema";

const PART = /<([a-z]+)>\n([\s\S]*?)\n<\/\1>/g;
const LABELS: Readonly<Record<string, string>> = {
  input: "Input",
  answer: "Answer",
  first: "First answer",
  second: "Second answer",
};

/** Return the parts of a question that its form says to have some. */
function partsOf(request: RequestForm): RegExpExecArray[] {
  const hasParts = asSchema(asSchema(request.form)["x-form"])["parts"] === true;
  return hasParts ? [...request.prompt.matchAll(PART)] : [];
}

/** Return the text of a question without its parts. */
export function questionOf(request: RequestForm): string {
  return request.prompt.slice(0, partsOf(request)[0]?.index).trim();
}

export function Prompt({ request }: { request: RequestForm }) {
  const parts = partsOf(request);
  if (parts.length === 0) return <pre class="prompt">{request.prompt}</pre>;
  return (
    <>
      <pre class="prompt">{questionOf(request)}</pre>
      <div class="parts">
        {parts.map(([, name, text]) => (
          <section key={name} class={name === "input" || name === "answer" ? "part whole" : "part"} aria-label={LABELS[name!] ?? name}>
            <span class="muted">{LABELS[name!] ?? name}</span>
            <div class="pre">{text!.replaceAll("<\u200b/", "</")}</div>
          </section>
        ))}
      </div>
    </>
  );
}
