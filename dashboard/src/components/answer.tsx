/** Answer to a request of a run: the form, the decision or the approval that it asks for. */

import { useState } from "preact/hooks";

import { ApiProblem, api } from "../api/client";
import type { OpenRequestForm } from "../api/overview";
import type { Json, RequestForm } from "../api/types";
import { asSchema } from "../lib/schema";
import type { PartProps, Reply } from "./answer-part";
import { ProblemNote } from "./empty";
import { isPlanForm, PlanAnswer } from "./plan-answer";
import { Rejection } from "./rejection";
import { findReviewForm, ReviewAnswer } from "./review-answer";
import { SchemaForm } from "./schema-form";

interface AnswerProps {
  entry: OpenRequestForm;
  /** True when nothing waits for the answer any more, which the text that somebody wrote outlives. */
  isClosed: boolean;
  /** Called before an answer is sent: until the server has replied, the request may be gone because of it. */
  onSend?: (entry: OpenRequestForm) => void;
  onAnswered: (entry: OpenRequestForm) => void;
  /** Called when the server refuses an answer, which may be sent again. */
  onRefused?: (entry: OpenRequestForm) => void;
  /** Called when the run does not wait for the answer any more. */
  onTooLate: (entry: OpenRequestForm) => void;
}

export function Answer({ entry, isClosed, onSend, onAnswered, onRefused, onTooLate }: AnswerProps) {
  const { request } = entry;
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const reply = async (answer: Reply): Promise<void> => {
    setBusy(true);
    setProblem("");
    onSend?.(entry);
    try {
      await api.answer(entry.run_id, { request: request.id, ...answer });
      onAnswered(entry);
    } catch (error) {
      onRefused?.(entry);
      if (error instanceof ApiProblem && error.status === 409) onTooLate(entry);
      else setProblem((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  if (!request.may_answer) return null;
  const Part = partFor(request);
  return (
    <div class="answer">
      <ProblemNote message={problem || (request.problem === null ? "" : `The last answer was refused: ${request.problem}`)} />
      <Part request={request} runId={entry.run_id} isBusy={isBusy || isClosed} reply={(answer) => void reply(answer)} />
    </div>
  );
}

function partFor(request: RequestForm): (props: PartProps) => preact.JSX.Element {
  if (request.kind === "approval") return ApprovalAnswer;
  if (request.kind === "confirmation") return ConfirmationAnswer;
  if (request.kind === "tool") return ResultAnswer;
  if (isPlanForm(asSchema(request.form))) return PlanAnswer;
  return findReviewForm(asSchema(request.form)) === null ? FormAnswer : ReviewAnswer;
}

function FormAnswer({ request, isBusy, reply }: PartProps) {
  return (
    <>
      <SchemaForm
        schema={request.form ?? { type: "string" }}
        submitLabel="Answer"
        isBusy={isBusy}
        onSubmit={(response) => reply({ response })}
      />
      <Rejection label="Reject" isBusy={isBusy} reply={reply} />
    </>
  );
}

function ConfirmationAnswer({ isBusy, reply }: PartProps) {
  return (
    <div class="buttons">
      <button class="button primary" type="button" data-shortcut="a" disabled={isBusy} onClick={() => reply({ response: true })}>
        Yes
      </button>
      <button class="button" type="button" data-shortcut="r" disabled={isBusy} onClick={() => reply({ response: false })}>
        No
      </button>
    </div>
  );
}

function ResultAnswer({ request, isBusy, reply }: PartProps) {
  return (
    <>
      <ToolCall request={request} />
      <SchemaForm
        schema={{ type: "string", title: "Result" }}
        submitLabel="Give the result"
        isBusy={isBusy}
        onSubmit={(response) => reply({ response })}
      />
    </>
  );
}

function ApprovalAnswer({ request, isBusy, reply }: PartProps) {
  const [isChanging, setChanging] = useState(false);
  const parameters = asSchema(request.form);
  const given = parseArguments(request.arguments);
  if (isChanging) {
    return (
      <SchemaForm
        schema={parameters}
        value={given}
        submitLabel="Approve with these arguments"
        isBusy={isBusy}
        onSubmit={(changed) => reply({ response: true, arguments: changed })}
      >
        <button class="button ghost" type="button" onClick={() => setChanging(false)}>
          Back
        </button>
      </SchemaForm>
    );
  }
  return (
    <>
      <ToolCall request={request} />
      <div class="buttons">
        <button
          class="button primary"
          type="button"
          data-shortcut="a"
          disabled={isBusy}
          onClick={() => reply({ response: true })}
        >
          Approve
        </button>
        {"properties" in parameters && (
          <button class="button" type="button" data-shortcut="e" disabled={isBusy} onClick={() => setChanging(true)}>
            Change the arguments
          </button>
        )}
      </div>
      <Rejection label="Reject" isBusy={isBusy} reply={reply} />
    </>
  );
}

function ToolCall({ request }: { request: RequestForm }) {
  const given = parseArguments(request.arguments);
  const entries = given !== null && typeof given === "object" && !Array.isArray(given) ? Object.entries(given) : [];
  return (
    <div class="called-tool">
      <p>
        Tool <code>{request.tool}</code>
        {entries.length === 0 && given === null && " without arguments"}
      </p>
      {entries.length > 0 ? (
        <dl>
          {entries.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="mono">{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</dd>
            </div>
          ))}
        </dl>
      ) : (
        given !== null && <pre>{typeof given === "string" ? given : JSON.stringify(given, null, 2)}</pre>
      )}
    </div>
  );
}

/** Return the arguments of a call, which a model writes as text. */
function parseArguments(value: Json): Json {
  if (typeof value !== "string") return value;
  try {
    return value.trim() === "" ? null : (JSON.parse(value) as Json);
  } catch {
    return value;
  }
}
