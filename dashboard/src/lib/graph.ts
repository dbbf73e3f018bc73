/** Places of the nodes and edges of a graph. */

import { Graph, layout } from "@dagrejs/dagre";

export type NodeShape = "box" | "double" | "round" | "stadium" | "hexagon" | "slanted";

export interface GraphNode {
  id: string;
  lines: string[];
  shape: string;
  /** Tone of its color. */
  tone?: string;
  /** True for a node that matters less just now. */
  isDim?: boolean;
  /** Short text at its corner, such as its place in the plan. */
  mark?: string;
}

export interface GraphEdge {
  source: string;
  target: string;
  label: string;
  style: string;
}

export interface PlacedNode extends GraphNode {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PlacedEdge extends GraphEdge {
  points: { x: number; y: number }[];
}

export interface PlacedGraph {
  nodes: PlacedNode[];
  edges: PlacedEdge[];
  width: number;
  height: number;
}

const LINE = 17;
const MARGIN = 14;
let pen: CanvasRenderingContext2D | null = null;

export function placeGraph(nodes: GraphNode[], edges: GraphEdge[], direction: "LR" | "TD"): PlacedGraph {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: direction === "LR" ? "LR" : "TB", nodesep: 18, ranksep: 36, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, measure(node));
  const known = new Set(nodes.map((node) => node.id));
  const drawn = edges.filter((edge) => known.has(edge.source) && known.has(edge.target));
  drawn.forEach((edge, index) => {
    const width = edge.label === "" ? 0 : textWidth(edge.label, 11) + 8;
    graph.setEdge(edge.source, edge.target, { width, height: edge.label === "" ? 0 : 14 }, String(index));
  });
  layout(graph);
  const whole = graph.graph() as { width?: number; height?: number };
  return makeRoom({
    nodes: nodes.map((node) => ({ ...node, ...(graph.node(node.id) as Omit<PlacedNode, keyof GraphNode>) })),
    edges: drawn.map((edge, index) => {
      const placed = graph.edge(edge.source, edge.target, String(index)) as { points: PlacedEdge["points"] };
      return { ...edge, points: placed.points };
    }),
    width: Math.max(whole.width ?? 0, 1),
    height: Math.max(whole.height ?? 0, 1),
  });
}

/** Return a graph with room for its edges too: the layout counts its nodes only. */
function makeRoom({ nodes, edges, width, height }: PlacedGraph): PlacedGraph {
  const points = edges.flatMap((edge) => edge.points);
  const right = MARGIN - Math.min(MARGIN, ...points.map((point) => point.x));
  const down = MARGIN - Math.min(MARGIN, ...points.map((point) => point.y));
  const move = <Place extends { x: number; y: number }>(place: Place): Place => ({
    ...place,
    x: place.x + right,
    y: place.y + down,
  });
  return {
    nodes: nodes.map(move),
    edges: edges.map((edge) => ({ ...edge, points: edge.points.map(move) })),
    width: Math.max(width, ...points.map((point) => point.x + MARGIN)) + right,
    height: Math.max(height, ...points.map((point) => point.y + MARGIN)) + down,
  };
}

function measure(node: GraphNode): { width: number; height: number } {
  const text = Math.max(...node.lines.map((line, index) => textWidth(line, index === 0 ? 13 : 11)));
  const extra = node.shape === "hexagon" || node.shape === "slanted" ? 40 : node.shape === "stadium" ? 30 : 26;
  return { width: Math.max(text + extra, 44), height: node.lines.length * LINE + 16 };
}

function textWidth(text: string, size: number): number {
  pen ??= document.createElement("canvas").getContext("2d");
  if (pen === null) return text.length * size * 0.6;
  pen.font = `${size}px system-ui, sans-serif`;
  return pen.measureText(text).width;
}

/** Return a smooth path through points. */
export function drawPath(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${round(first.x)} ${round(first.y)}`;
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1];
    if (next === undefined) path += ` L${round(point.x)} ${round(point.y)}`;
    else path += ` Q${round(point.x)} ${round(point.y)} ${round((point.x + next.x) / 2)} ${round((point.y + next.y) / 2)}`;
  }
  return path;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
