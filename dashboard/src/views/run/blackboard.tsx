/** Objects and conditions on the blackboard of a run. */

import type { RunDetailsForm } from "../../api/types";
import { Badge } from "../../components/badge";
import { EmptyState } from "../../components/empty";
import { JsonView } from "../../components/json";
import { shortName } from "../../lib/format";

/** Name of an object that nobody has given a name. */
const USUAL_NAME = "it";

export function Blackboard({ details }: { details: RunDetailsForm }) {
  const { objects } = details;
  const conditions = Object.entries(details.conditions);
  if (objects.length === 0 && conditions.length === 0) return <EmptyState title="This run has no blackboard">Only planned agents have one.</EmptyState>;
  return (
    <div class="stack">
      {conditions.length > 0 && (
        <div class="facts" role="group" aria-label="Conditions">
          {conditions.map(([name, value]) => (
            <Badge key={name} tone={value ? "good" : "quiet"} label={`${name}: ${value ? "true" : "false"}`} />
          ))}
        </div>
      )}
      <ol class="cards">
        {objects.map((object, index) => (
          <li key={index} class={`card${object.is_hidden ? " dim" : ""}`}>
            <header>
              <h2 title={object.type}>{shortName(object.type)}</h2>
              <span class="muted">
                {[object.name === USUAL_NAME ? "" : object.name, object.is_hidden ? "hidden" : ""].filter(Boolean).join(" · ")}
              </span>
            </header>
            <JsonView value={object.value} />
          </li>
        ))}
      </ol>
    </div>
  );
}
