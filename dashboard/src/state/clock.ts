/** Time that ticks while somebody looks: for durations of what still runs, and deadlines. */

import { signal } from "@preact/signals";

/** Seconds since the epoch, a new value each second. */
export const now = signal(Date.now() / 1000);

setInterval(() => {
  if (!document.hidden) now.value = Date.now() / 1000;
}, 1000);
