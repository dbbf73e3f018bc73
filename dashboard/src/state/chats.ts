/** Conversations that were begun in this browser: their ids only, as the server has the words, for those who may read them. */

export interface Chat {
  id: string;
  /** Milliseconds since the epoch of the last message. */
  at: number;
  /** Id of the run that answered last. */
  run: string | null;
}

const MOST = 20;

export function listChats(agent: string): Chat[] {
  try {
    const stored = JSON.parse(localStorage.getItem(keyOf(agent)) ?? "[]") as Chat[];
    return Array.isArray(stored) ? stored : [];
  } catch {
    return [];
  }
}

export function findChat(agent: string, id: string): Chat | null {
  return listChats(agent).find((chat) => chat.id === id) ?? null;
}

/** Put a conversation at the beginning of the list. */
export function rememberChat(agent: string, id: string, run: string | null): void {
  const others = listChats(agent).filter((chat) => chat.id !== id);
  const chats = [{ id, at: Date.now(), run }, ...others].slice(0, MOST);
  localStorage.setItem(keyOf(agent), JSON.stringify(chats));
}

function keyOf(agent: string): string {
  return `tactician.chats.${agent}`;
}
