/** Places without content: nothing there yet, a problem, or content on its way. */

import type { ComponentChildren } from "preact";

export function EmptyState({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function ProblemNote({ message }: { message: string }) {
  return message === "" ? null : (
    <p class="problem" role="alert">
      {message}
    </p>
  );
}

export function Loading({ label = "Loading…" }: { label?: string }) {
  return (
    <p class="loading" role="status">
      {label}
    </p>
  );
}
