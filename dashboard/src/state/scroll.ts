/** Places to which pages were scrolled, so that somebody who goes back to a long list finds it where it was. */

import { useEffect } from "preact/hooks";

import { entry } from "../address";

const places = new Map<number, number>();
/** Milliseconds in which a list may come that is long enough for its place. */
const PATIENCE = 3000;
const USES = ["wheel", "pointerdown", "keydown", "touchstart"];

/** Remember where the content is scrolled to, and go there when its entry of the history is shown again. */
export function useScrollPlace(find: () => HTMLElement | null): void {
  const shown = entry.value;
  useEffect(() => {
    const content = find();
    if (content === null) return;
    const stop = restore(content, places.get(shown) ?? 0);
    const remember = (): void => {
      if (entry.peek() === shown) places.set(shown, content.scrollTop);
    };
    content.addEventListener("scroll", remember, { passive: true });
    return () => {
      stop();
      content.removeEventListener("scroll", remember);
    };
  }, [shown]);
}

/** Scroll to a place as soon as the content reaches it, unless somebody scrolls before. */
function restore(content: HTMLElement, place: number): () => void {
  const stop = (): void => {
    observer.disconnect();
    clearTimeout(limit);
    for (const use of USES) content.removeEventListener(use, stop);
  };
  const go = (): void => {
    content.scrollTop = place;
    if (Math.abs(content.scrollTop - place) < 2) stop();
  };
  const observer = new MutationObserver(go);
  const limit = setTimeout(stop, PATIENCE);
  for (const use of USES) content.addEventListener(use, stop, { passive: true });
  observer.observe(content, { childList: true, subtree: true, attributes: true, attributeFilter: ["style"] });
  go();
  return stop;
}
