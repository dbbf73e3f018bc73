/** What views share to link to one another, so that none imports another or the table of views. */

import type { AgentForm } from "./api/types";

export interface ViewProps {
  /** Names in the path, such as `id` of `runs/:id`. */
  params: Record<string, string>;
  /** Values after the question mark. */
  query: URLSearchParams;
}

/** Return the address of a view. */
export function linkTo(path: string, query: Record<string, string> = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== "");
  return `#/${path}${entries.length ? `?${new URLSearchParams(entries)}` : ""}`;
}

/** Return the kind of an agent in words. */
export function kindOf(agent: AgentForm): string {
  return KINDS[agent.kind] ?? agent.kind;
}

const KINDS: Record<string, string> = {
  Agent: "Agent",
  PlannedAgent: "Planned agent",
  SupervisorAgent: "Supervisor",
  RouterAgent: "Router",
  AgentNetwork: "Network of agents",
  Ensemble: "Ensemble",
};
