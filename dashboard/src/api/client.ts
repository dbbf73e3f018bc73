/** Requests to the REST API of the server that the page comes from. */

import { signal } from "@preact/signals";

import type { AgentForm, DiagramForm, Json, PlanForm, RunDetailsForm, RunForm, RunsForm } from "./types";

const TOKEN_KEY = "tactician.token";

/** True when the server wants a token that the page does not have. */
export const needsToken = signal(false);

/** The address of the API: beside the page, wherever an application has mounted both. */
const ROOT = new URL("../", document.baseURI);

export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export function apiUrl(path: string, query: Record<string, string | string[]> = {}): URL {
  const url = new URL(path, ROOT);
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat()) url.searchParams.append(name, value);
  }
  return url;
}

/** Keep a token for as long as the tab is open. */
export function signIn(token: string): void {
  sessionStorage.setItem(TOKEN_KEY, token);
  location.reload();
}

export function signOut(): void {
  sessionStorage.removeItem(TOKEN_KEY);
  location.reload();
}

export function isSignedIn(): boolean {
  return sessionStorage.getItem(TOKEN_KEY) !== null;
}

/** Send a request with the token of the person; a refusal becomes an `ApiProblem`. */
export async function send(url: URL, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  const token = sessionStorage.getItem(TOKEN_KEY);
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  const response = await fetch(url, { cache: "no-store", ...options, headers }).catch(explain);
  if (response.ok) return response;
  if (response.status === 401) needsToken.value = true;
  throw new ApiProblem(response.status, await readProblem(response));
}

/** Say what the browser's `TypeError` means; everything else keeps its reason. */
function explain(error: unknown): never {
  throw error instanceof TypeError ? new Error("The server cannot be reached.") : error;
}

export async function get<T>(
  path: string,
  query: Record<string, string | string[]> = {},
  signal: AbortSignal | null = null,
): Promise<T> {
  return (await send(apiUrl(path, query), { signal })).json() as Promise<T>;
}

export async function post<T>(path: string, body: Json): Promise<T> {
  const headers = { "content-type": "application/json" };
  const response = await send(apiUrl(path), { method: "POST", headers, body: JSON.stringify(body) });
  return response.json() as Promise<T>;
}

export async function remove<T>(path: string): Promise<T> {
  return (await send(apiUrl(path), { method: "DELETE" })).json() as Promise<T>;
}

/** Types of pictures that are nothing but pictures, whatever opens them. */
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);

/** Return a picture of the server. Those elsewhere are left alone: who has them would learn who looks. */
export async function loadPicture(address: string): Promise<Blob> {
  const url = new URL(address, location.href);
  if (!url.href.startsWith(`${ROOT.href}api/`)) throw new Error(address);
  const picture = await (await send(url, { cache: "default" })).blob();
  if (!PICTURES.has(picture.type)) throw new Error(`The page does not show ${picture.type}.`);
  return picture;
}

/** Operations that several views use; a view adds its own in its file. */
export const api = {
  latestRuns: (limit: number, signal?: AbortSignal) => get<RunsForm>("api/runs", { limit: String(limit) }, signal),
  outerRuns: (limit: number, after: number, signal?: AbortSignal) =>
    get<RunsForm>("api/runs", { limit: String(limit), after: String(after), outer: "true" }, signal),
  findRuns: (search: string, status: readonly string[], limit: number, after: number) =>
    get<RunsForm>("api/runs", { search, status: [...status], limit: String(limit), after: String(after), outer: "true" }),
  run: (id: string, signal?: AbortSignal) => get<RunForm>(`api/runs/${encodeURIComponent(id)}`, {}, signal),
  details: (id: string, signal?: AbortSignal) =>
    get<RunDetailsForm>(`api/runs/${encodeURIComponent(id)}/details`, {}, signal),
  plans: (id: string, signal?: AbortSignal) =>
    get<{ plans: PlanForm[] }>(`api/runs/${encodeURIComponent(id)}/plans`, {}, signal),
  agents: (signal?: AbortSignal) => get<{ agents: AgentForm[] }>("api/agents", {}, signal),
  diagram: (id: string) => get<DiagramForm>(`api/agents/${encodeURIComponent(id)}/diagram`),
  start: (agent: string, body: Json) => post<RunForm>(`api/agents/${encodeURIComponent(agent)}/runs`, body),
  answer: (run: string, body: Json) => post<RunForm>(`api/runs/${encodeURIComponent(run)}/answers`, body),
  resume: (run: string) => post<RunForm>(`api/runs/${encodeURIComponent(run)}/resume`, {}),
  cancel: (run: string) => remove<RunForm>(`api/runs/${encodeURIComponent(run)}`),
};

async function readProblem(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as { error?: { message?: string } };
    return body.error?.message ?? response.statusText;
  } catch {
    return response.statusText || `The server answered ${response.status}.`;
  }
}
