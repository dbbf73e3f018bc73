// Runs an agent with the reference client of AG-UI, which checks the order of all events.
// Reads from standard input what to send; writes what the client made of the answer.
import { HttpAgent } from "@ag-ui/client";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { url, headers, threadId, messages, state, resume, tools } = JSON.parse(Buffer.concat(chunks));

const agent = new HttpAgent({ url, headers, threadId, initialMessages: messages, initialState: state });
const events = [];
const states = [];
let failure = null;
const subscriber = {
  onEvent: ({ event }) => void events.push(event),
  onStateChanged: ({ state }) => void states.push(structuredClone(state)),
  onRunErrorEvent: ({ event }) => void (failure = event.message),
};
try {
  await agent.runAgent({ ...(resume && { resume }), ...(tools && { tools }) }, subscriber);
} catch (error) {
  failure = String(error);
}
console.log(JSON.stringify({ events, states, failure, messages: agent.messages, state: agent.state }));
