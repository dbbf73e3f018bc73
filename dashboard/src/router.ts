/** Routing by the part of the address after `#`: the server needs to know no path but its own. */

import { computed, signal } from "@preact/signals";

import { ROUTES, type RouteDefinition } from "./routes";

export interface Place {
  route: RouteDefinition | null;
  params: Record<string, string>;
  query: URLSearchParams;
}

const hash = signal(location.hash);

/** Number of the entry of the history that is shown: somebody who goes back finds the page where it was. */
export const entry = signal(numberEntry());

addEventListener("hashchange", () => {
  entry.value = numberEntry();
  hash.value = location.hash;
});

/** Return the number of the entry of the history, which a new entry gets now. */
function numberEntry(): number {
  const state = history.state as { entry?: number } | null;
  if (typeof state?.entry === "number") return state.entry;
  const number = Date.now() + Math.random();
  history.replaceState({ entry: number }, "");
  return number;
}

export const place = computed<Place>(() => findPlace(hash.value));

/** Return the address of a view. */
export function linkTo(path: string, query: Record<string, string> = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== "");
  return `#/${path}${entries.length ? `?${new URLSearchParams(entries)}` : ""}`;
}

/** Open a view. */
export function navigate(address: string): void {
  location.hash = address;
}

/** Change the address without a new entry in the history. */
export function replaceAddress(address: string): void {
  history.replaceState(history.state, "", address);
  hash.value = address;
}

function findPlace(address: string): Place {
  const [path = "", search = ""] = address.replace(/^#\/?/, "").split("?", 2);
  const query = new URLSearchParams(search);
  const parts = path === "" ? ["runs"] : path.split("/").filter((part) => part !== "");
  for (const route of ROUTES) {
    const params = matchPath(route.path.split("/"), parts);
    if (params !== null) return { route, params, query };
  }
  return { route: null, params: {}, query };
}

function matchPath(pattern: string[], parts: string[]): Record<string, string> | null {
  if (pattern.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, name] of pattern.entries()) {
    const part = parts[index]!;
    if (name.startsWith(":")) params[name.slice(1)] = decode(part);
    else if (name !== part) return null;
  }
  return params;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
