/** Curves over time. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Curve {
  label: string;
  /** A value for each time; null where there is none. */
  values: (number | null)[];
}

interface ChartProps {
  title: string;
  /** Seconds since the epoch, ascending. */
  times: number[];
  curves: Curve[];
  format: (value: number) => string;
}

const HEIGHT = 200;
const COLORS = 8;
const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export function Chart({ title, times, curves, format }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const names = curves.map((curve) => curve.label).join("\n");
  useEffect(() => {
    const element = place.current!;
    const created = new uPlot(describe(element, names.split("\n"), format), [[]], element);
    chart.current = created;
    const observer = new ResizeObserver(() => created.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      created.destroy();
    };
  }, [names]);
  useEffect(() => chart.current?.setData([times, ...curves.map((curve) => curve.values)]), [names, times, curves]);
  return <div class="chart" ref={place} role="img" aria-label={`${title}: ${summarize(curves, format)}`} />;
}

function summarize(curves: Curve[], format: (value: number) => string): string {
  const last = curves.map((curve) => {
    const value = curve.values.findLast((one) => one !== null);
    return `${curve.label} ${value === undefined || value === null ? "unknown" : format(value)}`;
  });
  return last.join(", ");
}

function describe(element: HTMLElement, names: string[], format: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: color("--muted"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { stroke: color("--line"), width: 1 },
  };
  return {
    width: element.clientWidth || 400,
    height: HEIGHT,
    legend: { live: false },
    cursor: { y: false },
    scales: { y: { range: (_, low, high) => [Math.min(0, low), high > low ? high * 1.1 : low + 1] } },
    axes: [{ ...axis, values: (_, splits) => splits.map((time) => TIME.format(time * 1000)) }, { ...axis, size: 64, values: (_, splits) => splits.map(format) }],
    series: [
      {},
      ...names.map((label, index) => ({
        label,
        stroke: color(`--curve-${index % COLORS}`),
        width: 2,
        points: { size: 6 },
      })),
    ],
  };
}
