/** What each kind of answer gets, and gives. */

import type { Json, RequestForm } from "../api/types";

/** What is sent besides the id of the request. */
export type Reply = { response: Json; arguments?: Json; reason?: string };

export interface PartProps {
  request: RequestForm;
  runId: string;
  isBusy: boolean;
  reply: (reply: Reply) => void;
}
