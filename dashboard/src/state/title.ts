/** Title of the page, with the number of requests that wait for people in front of it. */

import { effect, signal } from "@preact/signals";

export const pageTitle = signal("");
/** Number of requests that wait for whoever looks. */
export const waitingCount = signal(0);

effect(() => {
  const count = waitingCount.value;
  const name = pageTitle.value === "" ? "Tactician" : `${pageTitle.value} · Tactician`;
  document.title = count > 0 ? `(${count}) ${name}` : name;
});
