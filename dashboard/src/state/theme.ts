/** Light or dark: that of the system, until a person chooses. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "tactician.theme";
const THEMES: readonly Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>(readTheme());

effect(() => {
  const chosen = theme.value;
  if (chosen === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(KEY);
  } else {
    document.documentElement.dataset.theme = chosen;
    localStorage.setItem(KEY, chosen);
  }
});

export function changeTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
}

function readTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}
