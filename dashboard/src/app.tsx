/** Shell of the dashboard: navigation, and the view that the address names. */

import { type Signal, signal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { isSignedIn, needsToken, signOut } from "./api/client";
import { isDisconnected } from "./api/stream";
import { EmptyState, Loading, ProblemNote } from "./components/empty";
import { SignIn } from "./components/sign-in";
import { linkTo } from "./links";
import { place } from "./router";
import { ROUTES, type RouteDefinition, type View } from "./routes";
import { me, readMe } from "./state/me";
import { watchRequests } from "./state/requests";
import { watchRuns } from "./state/runs";
import { useScrollPlace } from "./state/scroll";
import { changeTheme, theme } from "./state/theme";
import { waitingCount } from "./state/title";

type Loaded = { route: RouteDefinition; view: View } | { problem: string } | null;
const loaded: Signal<Loaded> = signal(null);

export function App() {
  useEffect(watchRuns, []);
  useEffect(watchRequests, []);
  useEffect(readMe, []);
  useScrollPlace(findContent);
  useSignalEffect(() => void loadView(place.value.route));
  return (
    <>
      <a class="skip" href="#content" onClick={focusContent}>
        Skip to content
      </a>
      <Navigation />
      <main id="content" tabIndex={0}>
        {isDisconnected.value && (
          <p class="notice" role="status">
            The connection to the server is lost. Trying again…
          </p>
        )}
        <Outlet />
      </main>
      {needsToken.value && <SignIn />}
    </>
  );
}

function Navigation() {
  const current = place.value.route?.path.split("/")[0];
  return (
    <nav class="nav" aria-label="Views">
      <a class="brand" href={linkTo("runs")}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M8 22l6-6 4 4 6-10" />
        </svg>
        Tactician
      </a>
      <ul>
        {ROUTES.filter((route) => route.nav !== undefined).map((route) => (
          <li key={route.path}>
            <a href={linkTo(route.path)} aria-current={route.path === current ? "page" : undefined}>
              {route.nav}
              {route.path === "waiting" && waitingCount.value > 0 && <span class="count">{waitingCount.value}</span>}
            </a>
          </li>
        ))}
      </ul>
      <div class="nav-foot">
        {isSignedIn() && me.value !== null && <Whoami name={me.value.name} roles={me.value.roles} />}
        <button class="button ghost" type="button" onClick={changeTheme}>
          Theme: {theme.value}
        </button>
        {isSignedIn() && (
          <button class="button ghost" type="button" onClick={signOut}>
            Sign out
          </button>
        )}
      </div>
    </nav>
  );
}

function Whoami({ name, roles }: { name: string; roles: string[] }) {
  return (
    <p class="whoami">
      <strong>{name}</strong>
      {roles.length > 0 && <span class="muted"> {roles.join(", ")}</span>}
    </p>
  );
}

function Outlet() {
  const { route, params, query } = place.value;
  const state = loaded.value;
  if (route === null) return <EmptyState title="This page does not exist.">
        <a href={linkTo("runs")}>Show the runs</a>
      </EmptyState>;
  if (state === null) return <Loading />;
  if ("problem" in state) return <ProblemNote message={state.problem} />;
  if (state.route !== route) return <Loading />;
  return <state.view key={`${route.path} ${Object.values(params).join(" ")}`} params={params} query={query} />;
}

async function loadView(route: RouteDefinition | null): Promise<void> {
  if (route === null) return;
  try {
    const module = await route.load();
    if (place.peek().route === route) loaded.value = { route, view: module.default };
  } catch (error) {
    loaded.value = { problem: `This page did not load: ${(error as Error).message}. Reload it.` };
  }
}

function focusContent(event: Event): void {
  event.preventDefault();
  findContent()?.focus();
}

function findContent(): HTMLElement | null {
  return document.getElementById("content");
}
