/** Person who looks, and what the person may do. */

import { signal } from "@preact/signals";

import { type MeForm, overview, type Right } from "../api/overview";
import { Refresh } from "./refresh";

export const me = signal<MeForm | null>(null);

const refresh = new Refresh({ read: overview.me, take: (person) => (me.value = person), report: () => {} });

/** Read who looks. Without a token, the page asks for one. */
export function readMe(): void {
  refresh.request();
}

export function mayI(right: Right): boolean {
  return me.value === null || me.value.rights.includes(right);
}
