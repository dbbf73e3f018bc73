/** Numbers and times as people read them. */

export function formatDuration(seconds: number): string {
  if (seconds < 0.0005) return "0 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

export function formatCost(cost: number | null): string {
  if (cost === null) return "–";
  if (cost === 0) return "$0";
  if (cost < 0.01) return `$${cost.toPrecision(2)}`;
  return `$${cost.toFixed(cost < 1 ? 3 : 2)}`;
}

const COUNT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const WHOLE = new Intl.NumberFormat("en");

export function formatCount(count: number): string {
  return count < 10_000 ? WHOLE.format(count) : COUNT.format(count);
}

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function formatTime(seconds: number | null): string {
  return seconds === null ? "–" : TIME.format(seconds * 1000);
}

export function formatFullTime(seconds: number | null): string {
  return seconds === null ? "" : FULL.format(seconds * 1000);
}

export function formatAge(seconds: number | null, now: number): string {
  if (seconds === null) return "–";
  const age = Math.max(0, now - seconds);
  if (age < 5) return "just now";
  if (age < 60) return `${Math.floor(age)} s ago`;
  if (age < 3600) return `${Math.floor(age / 60)} min ago`;
  if (age < 86_400) return `${Math.floor(age / 3600)} h ago`;
  return DAY.format(seconds * 1000);
}

/** Return the name of a class without its module. */
export function shortName(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1).split(":").pop() ?? name;
}

/** Return a text in a single line of limited length. */
export function clip(text: string, length: number): string {
  const line = text.slice(0, length * 2).replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}
