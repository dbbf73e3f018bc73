/** Page of an agent: its drawing, its runs, and a form or a chat to try it. */

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import type { AgentForm, DiagramForm } from "../api/types";
import { EmptyState, Loading, ProblemNote } from "../components/empty";
import { GraphView } from "../components/graph";
import { Page, Panel } from "../components/page";
import { type Tab, Tabs } from "../components/tabs";
import { replaceAddress } from "../address";
import { kindOf, linkTo, type ViewProps } from "../links";
import { agents, agentsProblem, readAgents, readDiagram } from "../state/agents";
import { runs } from "../state/runs";
import { ChatTab } from "./agent/chat";
import { StartForm } from "./agent/start";
import { RunTable } from "./runs";

export default function AgentView({ params, query }: ViewProps) {
  useEffect(readAgents, []);
  const id = params["id"]!;
  if (agents.value === null) {
    return <Page title="Agent">{agentsProblem.value === "" ? <Loading /> : <ProblemNote message={agentsProblem.value} />}</Page>;
  }
  const agent = agents.value.find((entry) => entry.id === id);
  if (agent === undefined) {
    return (
      <Page title="Agent">
        <EmptyState title="This server has no such agent">
          <a href={linkTo("agents")}>Show all agents</a>
        </EmptyState>
      </Page>
    );
  }
  return <LoadedAgent agent={agent} chosen={query.get("try") ?? ""} chat={query.get("chat")} />;
}

interface AgentProps {
  agent: AgentForm;
  /** Way to try it that is shown. */
  chosen: string;
  /** Id of the conversation in the chat. */
  chat: string | null;
}

function LoadedAgent({ agent, chosen, chat }: AgentProps) {
  const own = useComputed(() => runs.value.filter((run) => run.agent === agent.name).slice(0, 50));
  return (
    <Page
      title={agent.name}
      before={
        <nav class="trail" aria-label="Path">
          <a href={linkTo("agents")}>Agents</a>
        </nav>
      }
      facts={<span class="muted">{kindOf(agent)}</span>}
    >
      {agent.description !== "" && <p class="lead">{agent.description}</p>}
      <TryPanel agent={agent} chosen={chosen} chat={chat} />
      <Drawing id={agent.id} name={agent.name} />
      <section class="stack" aria-label="Runs of this agent">
        <h2>Latest runs</h2>
        <RunTable rows={own.value} empty={<EmptyState title="No runs yet">Runs of this agent appear here.</EmptyState>} />
      </section>
    </Page>
  );
}

function TryPanel({ agent, chosen, chat }: AgentProps) {
  const tabs: Tab[] = [];
  if (agent.takes_text || agent.inputs.length > 0) tabs.push({ key: "run", label: "Start a run" });
  if (agent.chats) tabs.push({ key: "chat", label: "Chat" });
  const current = tabs.find((tab) => tab.key === chosen)?.key ?? tabs[0]?.key ?? "run";
  const choose = (key: string): void =>
    replaceAddress(linkTo(`agents/${encodeURIComponent(agent.id)}`, { try: key === "run" ? "" : key }));
  return (
    <section class="panel try-panel" aria-label="Try it">
      <Tabs label="Ways to try it" tabs={tabs} chosen={current} onChoose={choose}>
        {current === "run" ? <StartForm agent={agent} /> : <ChatTab agent={agent} id={chat} />}
      </Tabs>
    </section>
  );
}

function Drawing({ id, name }: { id: string; name: string }) {
  const diagram = useSignal<DiagramForm | null>(null);
  useEffect(() => void readDiagram(id).then((found) => (diagram.value = found)), [id]);
  const drawn = diagram.value;
  if (drawn === null || drawn.nodes.length === 0) return null;
  const direction = innerWidth < 760 ? "TD" : drawn.direction;
  return (
    <Panel title="How it works">
      <GraphView label={`Drawing of ${name}`} nodes={drawn.nodes} edges={drawn.edges} direction={direction} />
    </Panel>
  );
}
