import { render } from "preact";

import { App } from "./app";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/components.css";
import "./styles/run.css";
import "./styles/agents.css";
import "./styles/waiting.css";
import "./styles/schema-form.css";
import "./styles/overview.css";
import "./styles/evaluations.css";

render(<App />, document.getElementById("app")!);
