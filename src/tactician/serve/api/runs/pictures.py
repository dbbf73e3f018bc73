"""Pictures of runs, by the hashes of their contents: for all whom the server shows the run."""

from __future__ import annotations

from collections.abc import Iterable

from tactician.events import event_to_json
from tactician.events.encoding import encode
from tactician.llm import Image
from tactician.llm.messages import messages_to_data
from tactician.platform import RunTree
from tactician.runs.progress.store import RunStore
from tactician.serve.api.forms.pictures import find_picture
from tactician.serve.api.forms.viewer import Viewer
from tactician.serve.api.runs.history import list_events
from tactician.serve.api.runs.lookup import find_result, find_tree
from tactician.serve.api.serving.operations import Call


async def find_run_picture(call: Call, run_id: str, name: str) -> Image | None:
    """Return a picture of a run, or `None`: of what is shown of it, of its earlier steps, or of an event.

    Raises:
        RunNotFoundError: when there is no such run.
    """
    tree = await find_tree(call, run_id)
    shown = _find_shown(tree, call.viewer, await find_result(call, tree.run), name)
    if shown is not None or not call.viewer.look_at(tree.run).sees_content:
        return shown
    root = call.server.feed.find_root(run_id)
    stored = await _find_stored(RunStore(call.server.platform.store), (root, *(run.id for run in tree.walk())), name)
    if stored is not None:
        return stored
    events = await list_events(call.server, run_id)
    return next(filter(None, (find_picture(event_to_json(event), name) for event in events)), None)


def _find_shown(tree: RunTree, viewer: Viewer, result: object, name: str) -> Image | None:
    """Return a picture of what `show_tree` shows of a run and of those inside it."""
    run, viewer = tree.run, viewer.look_at(tree.run)
    shown = [encode(result)]
    if viewer.sees_content:
        shown += [*(entry.value for entry in run.objects), *map(encode, messages_to_data(run.messages))]
    if (picture := find_picture(shown, name)) is not None:
        return picture
    return next(filter(None, (_find_shown(child, viewer, None, name) for child in tree.children)), None)


async def _find_stored(runs: RunStore, run_ids: Iterable[str], name: str) -> Image | None:
    """Return a picture that some step of the runs has, as far as they are in the store."""
    for run_id in dict.fromkeys(run_ids):
        if (content := await runs.load_attachment(run_id, name)) is not None:
            try:
                return Image.from_bytes(content)
            except ValueError:  # another kind of file
                return None
    return None
