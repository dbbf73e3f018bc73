/** Agents of the server. */

import { useEffect } from "preact/hooks";

import type { AgentForm, InputForm } from "../api/types";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { Page } from "../components/page";
import { asSchema } from "../lib/schema";
import { kindOf, linkTo } from "../links";
import { agents, agentsProblem, readAgents } from "../state/agents";

export default function AgentsView() {
  useEffect(readAgents, []);
  return (
    <Page title="Agents">
      <ProblemNote message={agentsProblem.value} />
      <AgentCards all={agents.value} />
    </Page>
  );
}

function AgentCards({ all }: { all: readonly AgentForm[] | null }) {
  if (all === null) return agentsProblem.value === "" ? <Loading /> : null;
  if (all.length === 0) return <EmptyState title="No agents">Start the server with a file that has agents: tactician serve FILE</EmptyState>;
  return (
    <ul class="cards">
      {all.map((agent) => (
        <li key={agent.id} class="card agent-card">
          <a href={linkTo(`agents/${encodeURIComponent(agent.id)}`)}>
            <h2>{agent.name}</h2>
            <p>{agent.description || "No description"}</p>
            <p class="muted agent-kind">
              {kindOf(agent)}
              {agent.inputs.length > 0 && ` · takes ${agent.inputs.map(nameOf).join(", ")}`}
            </p>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Return the name of an input, or the names of the values of an ensemble. */
function nameOf({ type, form }: InputForm): string {
  return type === "Values" ? Object.keys(asSchema(asSchema(form)["properties"])).join(", ") : type;
}
