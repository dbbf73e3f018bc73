/** Tokens and cost of a run, by model and by the runs inside it. */

import type { ModelUsageForm, RunDetailsForm } from "../../api/types";
import { EmptyState } from "../../components/empty";
import { formatCost, formatCount } from "../../lib/format";

export function UsageByModel({ details }: { details: RunDetailsForm }) {
  const { models } = details;
  if (models.length === 0) return <EmptyState title="This run has not called a model" />;
  const most = Math.max(...models.map((model) => model.input_tokens + model.output_tokens), 1);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Tokens and cost by model">
      <table class="table plain">
        <caption class="visually-hidden">Tokens and cost by model</caption>
        <thead>
          <tr>
            {["Model", "Calls", "Tokens in", "Cached", "Tokens out", "Thinking", "Cost"].map((title, index) => (
              <th key={title} scope="col" class={index === 0 ? "" : "number"}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {models.map((model) => (
            <ModelRow key={model.model} usage={model} most={most} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">All</th>
            <td class="number">{formatCount(sum(models, "calls"))}</td>
            <td class="number">{formatCount(details.run.usage.input_tokens)}</td>
            <td class="number">{formatCount(sum(models, "cached_tokens"))}</td>
            <td class="number">{formatCount(details.run.usage.output_tokens)}</td>
            <td class="number">{formatCount(sum(models, "thinking_tokens"))}</td>
            <td class="number">{formatCost(details.run.usage.cost)}</td>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

function ModelRow({ usage, most }: { usage: ModelUsageForm; most: number }) {
  const share = (tokens: number): string => `${(tokens / most) * 100}%`;
  return (
    <tr>
      <th scope="row">
        {usage.model || "unknown model"}
        <span class="meter" aria-hidden="true">
          <span class="meter-in" style={{ width: share(usage.input_tokens) }} />
          <span class="meter-out" style={{ width: share(usage.output_tokens) }} />
        </span>
      </th>
      <td class="number">{formatCount(usage.calls)}</td>
      <td class="number">{formatCount(usage.input_tokens)}</td>
      <td class="number">{formatCount(usage.cached_tokens)}</td>
      <td class="number">{formatCount(usage.output_tokens)}</td>
      <td class="number">{formatCount(usage.thinking_tokens)}</td>
      <td class="number">{formatCost(usage.cost)}</td>
    </tr>
  );
}

function sum(models: ModelUsageForm[], name: "calls" | "cached_tokens" | "thinking_tokens"): number {
  return models.reduce((total, model) => total + model[name], 0);
}
