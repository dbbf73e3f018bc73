"""LlamaIndex: its vector store in memory and its BM25 retriever, fused by reciprocal ranks."""

import logging
import sys

from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from benchmarks.clients.knowledge_texts import TOP_K, load_model, measure

MODEL = load_model()


class Embedding(BaseEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return MODEL.embed([text], norm=True)[0].tolist()

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return MODEL.embed(texts, norm=True).tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def main() -> None:
    Settings.llm = MockLLM()
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it says something at every search
    made = {}

    def ingest(texts: list[str]) -> bool:
        nodes = [TextNode(text=text) for text in texts]
        index = VectorStoreIndex(nodes, embed_model=Embedding(embed_batch_size=1024))
        retrievers = [
            index.as_retriever(similarity_top_k=50),
            BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=50),
        ]
        made["retriever"] = QueryFusionRetriever(
            retrievers, similarity_top_k=TOP_K, num_queries=1, mode="reciprocal_rerank", use_async=False
        )
        return True

    measure(int(sys.argv[1]), ingest, lambda one: [node.node.get_content() for node in made["retriever"].retrieve(one)])


main()
