/** Shortcuts of a view: single keys, which do nothing while somebody types. */

import { useEffect } from "preact/hooks";

const TYPING = "input, textarea, select, [contenteditable]";

export function useKeys(actions: Record<string, () => void>): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const isTyping = (event.target as Element).closest(TYPING) !== null;
      const action = actions[event.key];
      if (action === undefined || (isTyping && event.key !== "Escape")) return;
      if (event.key === "Enter" && (event.target as Element).closest("a, button") !== null) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  });
}
