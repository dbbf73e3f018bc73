/** What is read again and again while a view is open and the page is shown. */

import { useEffect, useState } from "preact/hooks";

export interface Polled<T> {
  value: T | null;
  problem: string;
}

export function usePolled<T>(read: () => Promise<T>, seconds: number): Polled<T> {
  const [state, setState] = useState<Polled<T>>({ value: null, problem: "" });
  useEffect(() => {
    let isOpen = true;
    const look = async (): Promise<void> => {
      if (document.hidden) return;
      try {
        const value = await read();
        if (isOpen) setState({ value, problem: "" });
      } catch (error) {
        if (isOpen) setState((old) => ({ ...old, problem: (error as Error).message }));
      }
    };
    void look();
    const timer = setInterval(() => void look(), seconds * 1000);
    document.addEventListener("visibilitychange", look);
    return () => {
      isOpen = false;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return state;
}
