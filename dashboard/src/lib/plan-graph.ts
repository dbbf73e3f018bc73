/** Graph of what a planned agent can do, with what it has done and what it plans. */

import type { DiagramForm } from "../api/types";
import { NOTHING } from "../state/span-events";
import type { PlanData } from "../state/trace";
import type { GraphEdge, GraphNode } from "./graph";

export interface PlanState {
  /** Status of each action that has begun, by its name. */
  actions: ReadonlyMap<string, string>;
  /** Names of the types and conditions that are there. */
  present: ReadonlySet<string>;
  plan: PlanData | null;
  /** True when the process is stuck: what is missing stands out. */
  isStuck: boolean;
  /** True while the plan that is shown is the one that is carried out. */
  isCurrent: boolean;
}

const TONES: Record<string, string> = { running: "active", completed: "good", failed: "bad", waiting: "wait", [NOTHING]: "quiet" };

export function paintDiagram(diagram: DiagramForm, state: PlanState): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const order = rankActions(state);
  const touched = new Set(order.keys());
  for (const name of state.actions.keys()) touched.add(name);
  const isQuiet = touched.size === 0;
  const used = findUsed(diagram, touched);
  const given = new Set(diagram.edges.map((edge) => edge.target));
  const nodes = diagram.nodes.map((node) => {
    const name = node.lines[0] ?? "";
    const isAction = node.shape === "box" || node.shape === "double";
    const status = isAction ? state.actions.get(name) : undefined;
    const tone = isAction ? TONES[status ?? ""] : toneOfThing(name, given.has(node.id), state);
    const rank = isAction ? order.get(name) : undefined;
    const isDim = !isQuiet && tone === undefined && rank === undefined && !used.has(node.id);
    const lines = status === NOTHING ? [...node.lines, NOTHING] : node.lines;
    return { ...node, lines, tone: tone ?? (rank === undefined ? undefined : "planned"), isDim, mark: rank };
  });
  return { nodes: nodes.map(dropEmpty), edges: diagram.edges };
}

/** Return a graph of the actions of a plan, for an agent of which there is no drawing. */
export function drawPlan(state: PlanState): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const names = [...state.actions.keys(), ...(state.plan?.actions.map((action) => action.name) ?? [])];
  const order = rankActions(state);
  const unique = [...new Set(names)];
  const nodes = unique.map((name) => {
    const tone = TONES[state.actions.get(name) ?? ""] ?? "planned";
    const lines = state.actions.get(name) === NOTHING ? [name, NOTHING] : [name];
    return dropEmpty({ id: name, lines, shape: "box", tone, mark: order.get(name) });
  });
  const edges = unique.slice(1).map((name, index) => ({ source: unique[index]!, target: name, label: "", style: "solid" }));
  return { nodes, edges };
}

/** Return the tone of a type or a condition; of a stuck process, what is not there and nothing gives is bad. */
function toneOfThing(name: string, isGiven: boolean, state: PlanState): string | undefined {
  if (state.present.has(name)) return "good";
  return state.isStuck && !isGiven ? "bad" : undefined;
}

/** Return the place of each action that is still to run, from 1. */
function rankActions(state: PlanState): Map<string, string> {
  const waiting = (state.plan?.actions ?? []).filter(
    (action) => !state.isCurrent || !["completed", "failed", NOTHING].includes(state.actions.get(action.name) ?? ""),
  );
  return new Map(waiting.map((action, index) => [action.name, String(index + 1)]));
}

/** Return the ids of what stands beside actions that matter. */
function findUsed(diagram: DiagramForm, touched: ReadonlySet<string>): Set<string> {
  const ids = new Set(diagram.nodes.filter((node) => touched.has(node.lines[0] ?? "")).map((node) => node.id));
  const used = new Set(ids);
  for (const edge of diagram.edges) {
    if (ids.has(edge.source)) used.add(edge.target);
    if (ids.has(edge.target)) used.add(edge.source);
  }
  return used;
}

function dropEmpty<T extends GraphNode & { mark?: string | undefined; tone?: string | undefined }>(node: T): GraphNode {
  const { mark, tone, ...rest } = node;
  return { ...rest, ...(mark === undefined ? {} : { mark }), ...(tone === undefined ? {} : { tone }) };
}
