/** What is read again and again while a view is open and the page is shown. */

import { useEffect, useState } from "preact/hooks";

import { Refresh } from "./refresh";

export interface Polled<T> {
  value: T | null;
  problem: string;
}

export function usePolled<T>(read: (signal: AbortSignal) => Promise<T>, seconds: number): Polled<T> {
  const [state, setState] = useState<Polled<T>>({ value: null, problem: "" });
  useEffect(() => {
    const refresh = new Refresh({
      read,
      take: (value) => setState({ value, problem: "" }),
      report: (problem) => problem !== "" && setState((old) => ({ ...old, problem })),
    });
    const look = (): void => {
      if (!document.hidden) refresh.request();
    };
    look();
    const timer = setInterval(look, seconds * 1000);
    document.addEventListener("visibilitychange", look);
    return () => {
      refresh.close();
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return state;
}
