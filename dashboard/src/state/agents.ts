/** Agents of the server, read once: they do not change while it runs. */

import { signal } from "@preact/signals";

import { api } from "../api/client";
import type { AgentForm, DiagramForm } from "../api/types";

export const agents = signal<readonly AgentForm[] | null>(null);
export const agentsProblem = signal("");

let isReading = false;

export function readAgents(): void {
  if (isReading || agents.value !== null) return;
  isReading = true;
  api
    .agents()
    .then((answer) => (agents.value = answer.agents))
    .catch((error: Error) => (agentsProblem.value = error.message))
    .finally(() => (isReading = false));
}

const diagrams = new Map<string, Promise<DiagramForm | null>>();

/** Return the drawing of an agent by its id; `null` when it has none. */
export function readDiagram(id: string): Promise<DiagramForm | null> {
  let diagram = diagrams.get(id);
  if (diagram === undefined) diagrams.set(id, (diagram = api.diagram(id).catch(() => null)));
  return diagram;
}
