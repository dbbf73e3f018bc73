/** Person who looks, and what the person may do. */

import { signal } from "@preact/signals";

import { type MeForm, overview, type Right } from "../api/overview";

export const me = signal<MeForm | null>(null);

/** Read who looks. Without a token, the page asks for one. */
export async function readMe(): Promise<void> {
  try {
    me.value = await overview.me();
  } catch {
    me.value = null;
  }
}

export function mayI(right: Right): boolean {
  return me.value === null || me.value.rights.includes(right);
}
