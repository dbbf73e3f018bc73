/** Agents of the server. They do not change while it runs, but other ones may be there after a restart. */

import { signal } from "@preact/signals";

import { api } from "../api/client";
import type { AgentForm, DiagramForm } from "../api/types";
import { Refresh } from "./refresh";

export const agents = signal<readonly AgentForm[] | null>(null);
export const agentsProblem = signal("");

const refresh = new Refresh({
  read: api.agents,
  take: (answer) => {
    diagrams.clear();
    agents.value = answer.agents;
  },
  report: (problem) => (agentsProblem.value = problem),
});

export function readAgents(): void {
  if (agents.value === null) refresh.request();
}

/** Read the agents again: the server may have been started again. */
export function renewAgents(): void {
  if (agents.value !== null) refresh.request();
}

const diagrams = new Map<string, Promise<DiagramForm | null>>();

/** Return the drawing of an agent by its id; `null` when it has none. */
export function readDiagram(id: string): Promise<DiagramForm | null> {
  let diagram = diagrams.get(id);
  if (diagram === undefined) {
    diagram = api.diagram(id).catch(() => {
      diagrams.delete(id); // asked for again when somebody opens the page again
      return null;
    });
    diagrams.set(id, diagram);
  }
  return diagram;
}
