/** Drawing of a graph by SVG elements. */

import { useMemo } from "preact/hooks";

import { drawPath, type GraphEdge, type GraphNode, type PlacedNode, placeGraph } from "../lib/graph";

/** Part of its own size to which a drawing shrinks to fit; a larger one is scrolled. */
const SMALLEST = 0.72;

interface GraphProps {
  label: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
  direction: "LR" | "TD";
}

export function GraphView({ label, nodes, edges, direction }: GraphProps) {
  // Colors change more often than what is drawn: places depend on names and lines only.
  const key = JSON.stringify([nodes.map((node) => [node.id, node.lines, node.shape]), edges, direction]);
  const placed = useMemo(() => placeGraph(nodes, edges, direction), [key]);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const { width, height } = placed;
  return (
    <div class="graph" tabIndex={0} role="group" aria-label={label}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        style={{ width: `${width}px`, minWidth: `${width * SMALLEST}px` }}
        role="img"
        aria-label={describe(nodes, edges)}
      >
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
            <path d="M0 0.8L7 4L0 7.2z" />
          </marker>
        </defs>
        {placed.edges.map((edge, index) => (
          <EdgeView
            key={`${edge.source} ${edge.target} ${index}`}
            edge={edge}
            isDim={isDim(byId, edge.source) || isDim(byId, edge.target)}
          />
        ))}
        {placed.nodes.map((node) => (
          <NodeView key={node.id} node={byId.get(node.id) ?? node} place={node} />
        ))}
      </svg>
    </div>
  );
}

function isDim(nodes: Map<string, GraphNode>, id: string): boolean {
  return nodes.get(id)?.isDim === true;
}

function EdgeView({ edge, isDim }: { edge: GraphEdge & { points: { x: number; y: number }[] }; isDim: boolean }) {
  const middle = edge.points[Math.floor(edge.points.length / 2)];
  return (
    <g class={`edge ${edge.style}${isDim ? " dim" : ""}`}>
      <path d={drawPath(edge.points)} marker-end={edge.style === "plain" ? undefined : "url(#arrow)"} />
      {edge.label !== "" && middle !== undefined && (
        <text x={middle.x} y={middle.y} text-anchor="middle" dy="4">
          {edge.label}
        </text>
      )}
    </g>
  );
}

function NodeView({ node, place }: { node: GraphNode; place: PlacedNode }) {
  const { x, y, width, height } = place;
  const { lines } = node;
  const top = -((lines.length - 1) * 17) / 2;
  return (
    <g
      class={`node ${node.shape}${node.isDim === true ? " dim" : ""}`}
      data-tone={node.tone}
      style={{ transform: `translate(${x}px, ${y}px)` }}
    >
      <Outline shape={node.shape} width={width} height={height} />
      {lines.map((line, index) => (
        <text key={index} class={index === 0 ? "" : "note"} y={top + index * 17} dy="4.5" text-anchor="middle">
          {line}
        </text>
      ))}
      {node.mark !== undefined && (
        <g style={{ transform: `translate(${-width / 2}px, ${-height / 2}px)` }} class="mark">
          <circle r="9" />
          <text dy="4" text-anchor="middle">
            {node.mark}
          </text>
        </g>
      )}
    </g>
  );
}

function Outline({ shape, width, height }: { shape: string; width: number; height: number }) {
  const x = -width / 2;
  const y = -height / 2;
  if (shape === "hexagon") {
    const cut = 12;
    const points = [
      [x + cut, y],
      [-x - cut, y],
      [-x, 0],
      [-x - cut, -y],
      [x + cut, -y],
      [x, 0],
    ];
    return <polygon class="outline" points={points.map((point) => point.join(",")).join(" ")} />;
  }
  if (shape === "slanted") {
    const points = [
      [x + 10, y],
      [-x, y],
      [-x - 10, -y],
      [x, -y],
    ];
    return <polygon class="outline" points={points.map((point) => point.join(",")).join(" ")} />;
  }
  const radius = shape === "stadium" || shape === "round" ? height / 2 : 7;
  return (
    <>
      <rect class="outline" x={x} y={y} width={width} height={height} rx={radius} />
      {shape === "double" && (
        <rect class="inner" x={x + 3.5} y={y + 3.5} width={width - 7} height={height - 7} rx={radius - 3} />
      )}
    </>
  );
}

/** Return the graph in words, for those who do not see it. */
function describe(nodes: GraphNode[], edges: GraphEdge[]): string {
  const names = new Map(nodes.map((node) => [node.id, node.lines[0] ?? node.id]));
  const flows = edges.slice(0, 60).map((edge) => `${names.get(edge.source)} to ${names.get(edge.target)}`);
  return `${nodes.length} nodes. ${flows.join("; ")}`;
}
