/** Dialog that asks for a token, over everything else. */

import { useEffect, useRef, useState } from "preact/hooks";

import { isSignedIn, signIn } from "../api/client";
import { ProblemNote } from "./empty";

export function SignIn() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [token, setToken] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    signIn(token.trim());
  };
  return (
    <dialog class="dialog" ref={dialog} aria-labelledby="sign-in-title" onCancel={(event) => event.preventDefault()}>
      <form class="form" onSubmit={submit}>
        <h2 id="sign-in-title">Sign in</h2>
        <p>This server needs a token. The page keeps it until you close the tab.</p>
        {isSignedIn() && <ProblemNote message="The server does not accept this token. Check it, or ask for a new token." />}
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            autocomplete="current-password"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button class="button primary" type="submit">
          Sign in
        </button>
      </form>
    </dialog>
  );
}
