/** Picture of a run or of a conversation, which the page gets from the server with the token of the person. */

import { useEffect, useRef, useState } from "preact/hooks";

import { loadPicture } from "../api/client";
import type { Json } from "../api/types";
import { field } from "../state/span-events";

/** How far below the window a picture is when the page asks for it. */
const MARGIN = "400px";

/** Return the address of a picture in data; nothing for what is none, or has no address. */
export function addressOf(value: Json): string {
  const url = field(value, "url");
  return field(value, "kind") === "image" && typeof url === "string" ? url : "";
}

export function Picture({ address }: { address: string }) {
  const place = useRef<HTMLSpanElement>(null);
  const [source, setSource] = useState("");
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let made = "";
    let isGone = false;
    const load = async (): Promise<void> => {
      try {
        const picture = await loadPicture(address);
        if (isGone) return;
        made = URL.createObjectURL(picture);
        setSource(made);
      } catch (error) {
        setProblem((error as Error).message);
      }
    };
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        void load();
      },
      { rootMargin: MARGIN },
    );
    observer.observe(place.current!);
    return () => {
      isGone = true;
      observer.disconnect();
      if (made !== "") URL.revokeObjectURL(made);
    };
  }, [address]);
  return (
    <span class="picture" ref={place}>
      {source === "" ? <span class="muted">{`[image] ${problem}`}</span> : <img src={source} alt="Picture" />}
    </span>
  );
}
