/** Timeline of a run: the tree of all that it did, with a bar for each part. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { toneOf } from "../../components/badge";
import { useWindow } from "../../components/virtual";
import { formatDuration } from "../../lib/format";
import { TimeScale } from "../../lib/time-scale";
import { NOTHING } from "../../state/span-events";
import type { Span } from "../../state/trace";

const ROW = 30;
/** Seconds of planning below which it is left out, unless something happened inside. */
const SHORT_PLANNING = 0.2;
const TICK = 200;
const NARROW = 760;

export interface TimelineProps {
  roots: readonly Span[];
  isRunning: boolean;
  selected: string;
  onSelect: (id: string) => void;
}

interface Row {
  span: Span;
  depth: number;
  isOpen: boolean;
  hasChildren: boolean;
}

export function Timeline({ roots, isRunning, selected, onSelect }: TimelineProps) {
  const closed = useSignal<ReadonlySet<string>>(new Set());
  const beat = useSignal(0);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => {
      if (!document.hidden) beat.value += 1;
    }, TICK);
    return () => clearInterval(timer);
  }, [isRunning]);
  const rows = useMemo(() => flatten(roots, closed.value), [roots, closed.value]);
  const { ref, window } = useWindow<HTMLDivElement>(rows.length, ROW);
  void beat.value;
  const { start, end: latest } = useMemo(() => findRange(roots), [roots]);
  const end = isRunning ? Math.max(latest, Date.now() / 1000) : latest;
  const scale = new TimeScale(roots[0]?.segments ?? [], start, end);
  const toggle = (id: string): void => {
    const next = new Set(closed.value);
    if (!next.delete(id)) next.add(id);
    closed.value = next;
  };
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const index = rows.findIndex((row) => row.span.id === selected);
    if (step !== undefined) {
      const next = Math.min(Math.max(index + step, 0), rows.length - 1);
      if (rows[next] !== undefined) onSelect(rows[next].span.id);
      showRow(event.currentTarget as HTMLElement, next);
    } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const row = rows[index];
      if (row?.hasChildren === true && row.isOpen === (event.key === "ArrowLeft")) toggle(row.span.id);
    } else return;
    event.preventDefault();
  };
  return (
    <div class="timeline">
      <div class="timeline-axis" aria-hidden="true">
        <span />
        <div class="timeline-track">
          <div class="timeline-scale">
            {scale.ticks(innerWidth < NARROW ? 2 : 6).map((tick) => (
              <span class="tick" key={tick.seconds} style={{ left: percent(tick.place) }}>
                {tick.seconds === 0 ? "0" : formatDuration(tick.seconds)}
              </span>
            ))}
          </div>
        </div>
      </div>
      <div
        class="timeline-rows"
        tabIndex={0}
        role="tree"
        aria-label="What the run did"
        aria-activedescendant={selected === "" ? undefined : rowId(selected)}
        onKeyDown={move}
      >
        <div ref={ref} role="presentation" style={{ paddingTop: `${window.before}px`, paddingBottom: `${window.after}px` }}>
          {rows.slice(window.first, window.last).map((row) => (
            <TimelineRow
              key={row.span.id}
              row={row}
              scale={scale}
              end={end}
              isSelected={row.span.id === selected}
              onSelect={onSelect}
              onToggle={toggle}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface TimelineRowProps {
  row: Row;
  scale: TimeScale;
  end: number;
  isSelected: boolean;
  onSelect: (id: string) => void;
  onToggle: (id: string) => void;
}

function TimelineRow({ row, scale, end, isSelected, onSelect, onToggle }: TimelineRowProps) {
  const { span, depth } = row;
  const seconds = span.segments.reduce((sum, segment) => sum + (segment.end ?? end) - segment.start, 0);
  const last = span.segments.at(-1)!;
  const until = last.end === null ? 1 : scale.place(last.end);
  const tone = toneOf(span.status);
  return (
    <div
      class="timeline-row"
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isSelected}
      aria-expanded={row.hasChildren ? row.isOpen : undefined}
      id={rowId(span.id)}
      onClick={() => onSelect(span.id)}
      style={{ height: `${ROW}px` }}
    >
      <div class="timeline-name" style={{ paddingLeft: `${8 + depth * 14}px` }}>
        <span
          class="toggle"
          aria-hidden="true"
          onClick={(event) => {
            if (row.hasChildren) {
              event.stopPropagation();
              onToggle(span.id);
            }
          }}
        >
          {row.hasChildren ? (row.isOpen ? "▾" : "▸") : ""}
        </span>
        <span class="kind" data-kind={span.kind}>
          {KIND_LABELS[span.kind]}
        </span>
        {" "}
        <span class="timeline-label">{span.name}</span>
        <span class="visually-hidden">, {span.status}</span>
      </div>
      <div class="timeline-track" data-tone={tone}>
        <div class="timeline-scale">
          {scale.gaps.map((gap) => (
            <span class="gap" key={gap.from} title={`waited ${formatDuration(gap.seconds)}`} style={{ left: percent(gap.from), width: percent(gap.to - gap.from) }} />
          ))}
          {span.segments.map((segment, index) => {
            const left = scale.place(segment.start);
            const right = segment.end === null ? 1 : scale.place(segment.end);
            return (
              <span
                key={index}
                class={`bar${segment.end === null ? " live" : ""}`}
                data-kind={span.kind}
                style={{ left: percent(left), width: percent(right - left) }}
              />
            );
          })}
          <span class="bar-note" style={{ left: percent(until) }}>
            {formatDuration(seconds)}
            {[NOTHING, "interrupted"].includes(span.status) && `, ${span.status}`}
          </span>
        </div>
      </div>
    </div>
  );
}

/** Return the first and the last moment of spans. */
function findRange(roots: readonly Span[]): { start: number; end: number } {
  let start = Infinity;
  let end = 0;
  const visit = (span: Span): void => {
    for (const segment of span.segments) {
      start = Math.min(start, segment.start);
      end = Math.max(end, segment.end ?? segment.start);
    }
    span.children.forEach(visit);
  };
  roots.forEach(visit);
  return { start, end };
}

function rowId(spanId: string): string {
  return `span-${spanId}`;
}

/** Scroll so that a row is in sight. */
function showRow(scroller: HTMLElement, index: number): void {
  const top = index * ROW;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  const bottom = top + ROW - scroller.clientHeight;
  if (bottom > scroller.scrollTop) scroller.scrollTop = bottom;
}

function percent(part: number): string {
  return `${part * 100}%`;
}

const KIND_LABELS: Record<string, string> = {
  run: "run",
  plan: "plan",
  action: "action",
  model: "model",
  tool: "tool",
  search: "search",
  task: "task",
  phase: "phase",
  review: "review",
  delegation: "asks",
};

function flatten(roots: readonly Span[], closed: ReadonlySet<string>): Row[] {
  const rows: Row[] = [];
  const visit = (span: Span, depth: number): void => {
    const children = span.children.filter(isShown);
    const isOpen = !closed.has(span.id);
    rows.push({ span, depth, isOpen, hasChildren: children.length > 0 });
    if (isOpen) for (const child of children) visit(child, depth + 1);
  };
  for (const root of roots) if (isShown(root)) visit(root, 0);
  return rows;
}

function isShown(span: Span): boolean {
  if (span.kind !== "plan" || span.children.length > 0 || span.error !== "") return true;
  const segment = span.segments[0]!;
  return segment.end !== null && segment.end - segment.start > SHORT_PLANNING;
}
