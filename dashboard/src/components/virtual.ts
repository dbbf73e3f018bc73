/** Rows of a long list that are in sight, so that a list of thousands costs as much as one of dozens. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";

const OVERSCAN = 8;

export interface Window {
  first: number;
  last: number;
  /** Height in pixels of the rows before the first and after the last. */
  before: number;
  after: number;
}

/**
 * Return the rows in sight of the nearest scrolling element, for rows of one height.
 *
 * The returned ref belongs on the element that holds the rows.
 */
export function useWindow<E extends HTMLElement>(count: number, rowHeight: number) {
  const ref = useRef<E>(null);
  const [range, setRange] = useState({ first: 0, last: Math.min(count, 60) });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const scroller = findScroller(element);
    const measure = (): void => {
      const top = element.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(-top / rowHeight) - OVERSCAN);
      const last = Math.min(count, Math.ceil((scroller.clientHeight - top) / rowHeight) + OVERSCAN);
      setRange((old) => (old.first === first && old.last === last ? old : { first, last: Math.max(first, last) }));
    };
    measure();
    scroller.addEventListener("scroll", measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(scroller);
    return () => {
      scroller.removeEventListener("scroll", measure);
      observer.disconnect();
    };
  }, [count, rowHeight]);
  const first = Math.min(range.first, count);
  const last = Math.min(Math.max(range.last, first), count);
  const window: Window = { first, last, before: first * rowHeight, after: (count - last) * rowHeight };
  return { ref, window };
}

function findScroller(element: HTMLElement): HTMLElement {
  for (let parent = element.parentElement; parent !== null; parent = parent.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(parent).overflowY)) return parent;
  }
  return document.documentElement;
}
