/** Tabs by the pattern of ARIA: arrow keys move between them. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export interface Tab {
  key: string;
  label: string;
  count?: number;
  tone?: string;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  chosen: string;
  onChoose: (key: string) => void;
  children: ComponentChildren;
}

export function Tabs({ label, tabs, chosen, onChoose, children }: TabsProps) {
  const id = useId();
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const index = tabs.findIndex((tab) => tab.key === chosen);
    const next = tabs[(index + step + tabs.length) % tabs.length]!;
    onChoose(next.key);
    document.getElementById(`${id}-${next.key}`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.key}
            id={`${id}-${tab.key}`}
            type="button"
            role="tab"
            aria-selected={tab.key === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={tab.key === chosen ? 0 : -1}
            onClick={() => onChoose(tab.key)}
          >
            {tab.label}
            {tab.count !== undefined && tab.count > 0 && (
              <span class="tab-count" data-tone={tab.tone}>
                {tab.count}
              </span>
            )}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${chosen}`} class="tab-panel">
        {children}
      </div>
    </div>
  );
}
