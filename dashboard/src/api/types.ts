/** Forms of the API, as its OpenAPI document describes them. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface RequestForm {
  id: string;
  kind: string;
  prompt: string;
  tool: string | null;
  arguments: Json;
  form: Json;
  role: string | null;
  deadline: number | null;
  problem: string | null;
  path: string[];
  may_answer: boolean;
  default: Json;
}

export interface UsageForm {
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
}

export type JobStatus = "in_progress" | "completed" | "failed" | "waiting" | "cancelled" | "unknown";

export interface RunForm {
  id: string;
  agent: string;
  kind: string;
  status: string;
  job_status: JobStatus;
  started_at: number | null;
  changed_at: number | null;
  seconds: number;
  usage: UsageForm;
  pending: RequestForm[];
  goal: string | null;
  failure: string | null;
  output: string;
  result: Json;
  steps: number;
  parent_id: string | null;
  was_interrupted: boolean;
}

/** Runs, the newest first; `next` is where the next page begins, if there is one. */
export interface RunsForm {
  runs: RunForm[];
  next: number | null;
}

export interface ActionForm {
  name: string;
  started_at: number;
  seconds: number;
  outputs: string[];
  error: string | null;
  cost: number | null;
}

export interface ObjectForm {
  type: string;
  value: Json;
  name: string;
  is_hidden: boolean;
}

export interface ModelUsageForm {
  model: string;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  thinking_tokens: number;
  cost: number | null;
}

export interface RunDetailsForm {
  run: RunForm;
  models: ModelUsageForm[];
  history: ActionForm[];
  objects: ObjectForm[];
  conditions: Record<string, boolean>;
  messages: Json[];
  children: RunDetailsForm[];
}

export interface DiagramForm {
  direction: "LR" | "TD";
  nodes: { id: string; lines: string[]; shape: string }[];
  edges: { source: string; target: string; label: string; style: string }[];
}

/** Plan of a process, and why it was chosen. */
export interface PlanForm {
  run_id: string;
  at: number;
  goal: string;
  cost: number;
  net_value: number;
  is_optimal: boolean;
  why: string;
  steps: { name: string; cost: number }[];
  penalty: number;
  expected: ExpectationForm | null;
}

/** What a plan is expected to take, by the earlier runs of its actions. */
export interface ExpectationForm {
  seconds: number;
  makespan: number;
  dollars: number;
  success: number;
  runs: number;
  timeline: { action: string; start: number; seconds: number }[];
}

export interface InputForm {
  type: string;
  form: Json;
}

export interface AgentForm {
  id: string;
  name: string;
  description: string;
  kind: string;
  takes_text: boolean;
  inputs: InputForm[];
  chats: boolean;
  plans: boolean;
}

/** Event of a run: the fields that all have, and those of its type. */
export interface RunEvent {
  type: string;
  id: string;
  run_id: string;
  parent_id: string | null;
  path: string[];
  time: number;
  span_id: string | null;
  [field: string]: Json;
}
