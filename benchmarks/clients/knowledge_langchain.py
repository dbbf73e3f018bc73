"""LangChain: its vector store in memory and its BM25 retriever, fused by reciprocal ranks."""

import sys

from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from benchmarks.clients.knowledge_texts import load_model, measure

MODEL = load_model()


class Embedding(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return MODEL.embed(list(texts), norm=True).tolist()

    def embed_query(self, text: str) -> list[float]:
        return MODEL.embed([text], norm=True)[0].tolist()


def main() -> None:
    made = {}

    def ingest(texts: list[str]) -> bool:
        vectors = InMemoryVectorStore.from_texts(texts, Embedding())
        words = BM25Retriever.from_texts(texts, k=50)
        made["retriever"] = EnsembleRetriever(
            retrievers=[vectors.as_retriever(search_kwargs={"k": 50}), words], weights=[0.5, 0.5]
        )
        return True

    measure(int(sys.argv[1]), ingest, lambda one: [hit.page_content for hit in made["retriever"].invoke(one)])


main()
