/** Operations on what is not a single run: who calls, what waits for people, the models and the store. */

import { get } from "./client";
import type { RequestForm } from "./types";

export type Right = "see" | "start" | "answer" | "direct";

export interface MeForm {
  name: string;
  roles: string[];
  rights: Right[];
  has_every_role: boolean;
}

export interface OpenRequestForm {
  run_id: string;
  agent: string;
  since: number | null;
  request: RequestForm;
}

export interface DeploymentForm {
  instance: string;
  model: string;
  kind: string;
  circuit: "closed" | "open" | "half-open";
  in_flight: number;
  waiting: number;
  max_concurrency: number | null;
  requests_per_second: number | null;
  tokens_per_second: number | null;
  requests: number;
  answers: number;
  failures: number;
  last_failure: string | null;
  cooldown_seconds: number | null;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
  latency: number | null;
  average_latency: number | null;
}

export interface UsePointForm {
  at: number;
  calls: number;
  errors: number;
  seconds: number;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
}

export interface ModelUseForm {
  model: string;
  points: UsePointForm[];
}

export interface ModelsForm {
  deployments: DeploymentForm[];
  use: ModelUseForm[];
  seconds_per_point: number;
  since: number;
}

export interface HeldRunForm {
  run_id: string;
  agent: string;
  status: string;
  lease_ends_at: number | null;
}

export interface WorkerForm {
  name: string;
  is_this_server: boolean;
  runs: HeldRunForm[];
}

export interface ExperienceForm {
  kind: "action" | "tool" | "model";
  name: string;
  agent: string;
  runs: number;
  success: number;
  seconds: number;
  dollars: number;
  by_model: Record<string, number>;
}

export interface StoreForm {
  kind: string;
  runs: Record<string, number>;
  now: number;
  workers: WorkerForm[];
  interrupted: string[];
  queued: string[];
}

export const overview = {
  me: (signal?: AbortSignal) => get<MeForm>("api/me", {}, signal),
  requests: (signal?: AbortSignal) => get<{ requests: OpenRequestForm[]; roles: string[] }>("api/requests", {}, signal),
  models: (signal?: AbortSignal) => get<ModelsForm>("api/models", {}, signal),
  experience: (signal?: AbortSignal) => get<{ experience: ExperienceForm[] }>("api/experience", {}, signal),
  store: (signal?: AbortSignal) => get<StoreForm>("api/store", {}, signal),
};
