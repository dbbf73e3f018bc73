from __future__ import annotations
from dataclasses import dataclass
from pydantic_core import to_json, from_json
from tactician.llm import messages_to_json, messages_from_json, AssistantMessage, ToolResult
class Conversation:
    def __init__(self, messages=(), id=None):
        self._m=list(messages); self.id=id or "c"; self.revision=0
    @property
    def messages(self): return self._m
    def append(self,m): self._m.append(m)
    def extend(self,ms): self._m.extend(ms)
    def rewind(self,n): del self._m[n:]; self.revision+=1
    @property
    def open_calls(self):
        done=set()
        for m in reversed(self._m):
            if isinstance(m, ToolResult): done.add(m.call_id)
            elif isinstance(m, AssistantMessage): return tuple(c for c in m.tool_calls if c.id not in done)
            else: return ()
        return ()
    def to_json(self): return messages_to_json(self._m)
    @classmethod
    def from_json(cls,t): return cls(messages_from_json(t))
class ContextStrategy: pass
class Window: pass
@dataclass(frozen=True)
class CompactToolResults:
    after:int=1; keep_last:int=1
@dataclass(frozen=True)
class SlidingWindow:
    max_tokens:int=1
def chain(*s): return s[0] if s else None
def counter_for(n): return None
def mended(ms): return tuple(ms)
# TEMPORARY stand-in by the lead until the helper's package is here: overwrite it.
class ConversationStore: pass
class MemoryConversations: pass
class SqliteConversations: pass
