/** Frame of a view: heading, what stands beside it, and content. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { pageTitle } from "../state/title";

interface PageProps {
  title: string;
  /** Link or text in front of the title. */
  before?: ComponentChildren;
  /** Badges and facts under the title. */
  facts?: ComponentChildren;
  /** Buttons and inputs beside the title. */
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Page({ title, before, facts, actions, children }: PageProps) {
  useEffect(() => {
    pageTitle.value = title;
  }, [title]);
  return (
    <div class="page">
      <header class="page-head">
        <div class="page-title">
          {before}
          <h1>{title}</h1>
          {facts && <div class="facts">{facts}</div>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** Part of a page with a heading. */
export function Panel({ title, aside, children }: { title: string; aside?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="panel" aria-label={title}>
      <header class="panel-head">
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <span class="fact">
      <span class="fact-label">{label}</span> {children}
    </span>
  );
}
