/** Keys that mean the same in every form. */

/** Send the form in which somebody presses Ctrl and Enter. */
export function submitByKey(event: KeyboardEvent): void {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  (event.target as Element).closest("form")?.requestSubmit();
}

/** Focus an element when it comes into the page, and not again when it is drawn again. */
export function focusOnce(element: HTMLElement | null): void {
  if (element !== null && element.dataset["focused"] === undefined) {
    element.dataset["focused"] = "";
    element.focus();
  }
}
