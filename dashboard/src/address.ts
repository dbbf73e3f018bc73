/** Part of the address after `#`, which names the view. */

import { signal } from "@preact/signals";

/** The part after `#`. */
export const hash = signal(location.hash);

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

/** Open a view. */
export function navigate(address: string): void {
  location.hash = address;
}

/** Change the address without a new entry in the history. */
export function replaceAddress(address: string): void {
  history.replaceState(history.state, "", address);
  hash.value = address;
}
