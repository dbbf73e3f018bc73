"""Built-in tools."""

from tactician.tools.builtin.calculator import calculator
from tactician.tools.builtin.configurable import ConfigurableTool
from tactician.tools.builtin.date_time import Moment, date_time
from tactician.tools.builtin.files import FileReader, FileWriter, read_file, write_file
from tactician.tools.builtin.json_query import query_json
from tactician.tools.builtin.math_tools import MathTools
from tactician.tools.builtin.pipeline import Adapter, Pipeline, adapt, pipeline
from tactician.tools.builtin.process_group import Program, ProgramResult, run_process_group
from tactician.tools.builtin.program import ProgramRunner, run_program
from tactician.tools.builtin.search_providers import SearchHit, SearchProvider, SearxngSearch, TavilySearch
from tactician.tools.builtin.web import HttpAnswer, HttpRequester, PageFetcher, WebTool, fetch_page, http_request
from tactician.tools.builtin.web_search import WebSearcher, web_search
from tactician.tools.builtin.workspace import Workspace

__all__ = [
    "Workspace",
    "Program",
    "run_process_group",
    "MathTools",
    "calculator",
    "date_time",
    "Moment",
    "read_file",
    "FileReader",
    "write_file",
    "FileWriter",
    "query_json",
    "web_search",
    "WebSearcher",
    "SearchProvider",
    "SearchHit",
    "TavilySearch",
    "SearxngSearch",
    "fetch_page",
    "PageFetcher",
    "http_request",
    "HttpRequester",
    "HttpAnswer",
    "WebTool",
    "run_program",
    "ProgramRunner",
    "ProgramResult",
    "pipeline",
    "Pipeline",
    "Adapter",
    "adapt",
    "ConfigurableTool",
]
