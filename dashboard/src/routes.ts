/** Table of the views: a view is a file of its own, loaded when it is first opened; the first view comes at once. */

import type { ComponentType } from "preact";

import type { ViewProps } from "./links";
import RunsView from "./views/runs";

export type View = ComponentType<ViewProps>;

export interface RouteDefinition {
  /** Path after `#/`, with names after colons. */
  path: string;
  /** Title of the page. */
  title: string;
  /** Text of the link in the navigation; without it, the view is not in the navigation. */
  nav?: string;
  load: () => Promise<{ default: View }>;
}

export const ROUTES: readonly RouteDefinition[] = [
  { path: "runs", title: "Runs", nav: "Runs", load: () => Promise.resolve({ default: RunsView }) },
  { path: "runs/:id", title: "Run", load: () => import("./views/run") },
  { path: "waiting", title: "Waiting for people", nav: "Waiting", load: () => import("./views/waiting") },
  { path: "agents", title: "Agents", nav: "Agents", load: () => import("./views/agents") },
  { path: "agents/:id", title: "Agent", load: () => import("./views/agent") },
  { path: "evaluations", title: "Evaluations", nav: "Evaluations", load: () => import("./views/evaluations") },
  { path: "evaluations/:id", title: "Evaluation", load: () => import("./views/evaluation") },
  { path: "models", title: "Models", nav: "Models", load: () => import("./views/models") },
  { path: "stores", title: "Stores", nav: "Stores", load: () => import("./views/stores") },
];
