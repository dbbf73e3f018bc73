/** Evaluations of the store, their cases, and what changed from one to another. */

import { get } from "./client";

export interface EvaluationForm {
  id: string;
  name: string;
  dataset: string;
  runnable: string;
  status: "running" | "complete" | "waiting" | "stopped";
  expected: number;
  done: number;
  started: number;
  stopped: string | null;
  waiting: { name: string; run_id: string; prompts: string[] }[];
}

export interface ResultForm {
  name: string;
  value: boolean | number;
  reason: string | null;
}

export interface TrialForm {
  name: string;
  case: string;
  repetition: number;
  run_id: string;
  seconds: number;
  cost: number | null;
  tokens: number;
  results: ResultForm[];
  error: string | null;
  input: string;
  expected: string | null;
  output: string | null;
}

export interface FigureForm {
  name: string;
  cases: number;
  mean: number;
  low: number | null;
  high: number | null;
}

export interface EvaluationDetailsForm {
  evaluation: EvaluationForm;
  scores: FigureForm[];
  measures: FigureForm[];
  trials: TrialForm[];
}

export interface DifferenceForm {
  name: string;
  cases: number;
  before: number;
  after: number;
  difference: number;
  p_value: number;
  low: number | null;
  high: number | null;
  verdict: "worse" | "better" | "same";
}

export interface ComparisonForm {
  verdict: string;
  is_worse: boolean;
  is_better: boolean;
  scores: DifferenceForm[];
  measures: DifferenceForm[];
  changed: { case: string; score: string; before: number[]; after: number[]; is_flaky: boolean }[];
  flaky: string[];
  missing: string[];
  added: string[];
}

export const evaluations = {
  list: (signal?: AbortSignal) => get<{ evaluations: EvaluationForm[] }>("api/evaluations", {}, signal),
  details: (id: string, signal?: AbortSignal) =>
    get<EvaluationDetailsForm>(`api/evaluations/${encodeURIComponent(id)}`, {}, signal),
  compare: (id: string, baseline: string, signal?: AbortSignal) =>
    get<ComparisonForm>(`api/evaluations/${encodeURIComponent(id)}/comparison`, { baseline }, signal),
};
