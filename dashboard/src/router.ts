/** Routing by the part of the address after `#`: the server needs to know no path but its own. */

import { computed } from "@preact/signals";

import { hash } from "./address";
import { ROUTES, type RouteDefinition } from "./routes";

export interface Place {
  route: RouteDefinition | null;
  params: Record<string, string>;
  query: URLSearchParams;
}

export const place = computed<Place>(() => findPlace(hash.value));

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
