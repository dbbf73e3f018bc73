"""Built-in tools."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.tools.builtin.calculator import calculator as calculator
    from tactician.tools.builtin.configurable import ConfigurableTool as ConfigurableTool
    from tactician.tools.builtin.date_time import Moment as Moment
    from tactician.tools.builtin.date_time import date_time as date_time
    from tactician.tools.builtin.files import FileReader as FileReader
    from tactician.tools.builtin.files import FileWriter as FileWriter
    from tactician.tools.builtin.files import read_file as read_file
    from tactician.tools.builtin.files import write_file as write_file
    from tactician.tools.builtin.json_query import query_json as query_json
    from tactician.tools.builtin.math_tools import MathTools as MathTools
    from tactician.tools.builtin.page_encoding import decode_text as decode_text
    from tactician.tools.builtin.pipeline import Adapter as Adapter
    from tactician.tools.builtin.pipeline import Pipeline as Pipeline
    from tactician.tools.builtin.pipeline import adapt as adapt
    from tactician.tools.builtin.pipeline import pipeline as pipeline
    from tactician.tools.builtin.process_group import Program as Program
    from tactician.tools.builtin.process_group import ProgramResult as ProgramResult
    from tactician.tools.builtin.process_group import run_process_group as run_process_group
    from tactician.tools.builtin.program import ProgramRunner as ProgramRunner
    from tactician.tools.builtin.program import run_program as run_program
    from tactician.tools.builtin.program_limits import ProgramLimits as ProgramLimits
    from tactician.tools.builtin.program_limits import build_program_environment as build_program_environment
    from tactician.tools.builtin.program_limits import limit_command as limit_command
    from tactician.tools.builtin.search_providers import SearchHit as SearchHit
    from tactician.tools.builtin.search_providers import SearchProvider as SearchProvider
    from tactician.tools.builtin.search_providers import SearxngSearch as SearxngSearch
    from tactician.tools.builtin.search_providers import TavilySearch as TavilySearch
    from tactician.tools.builtin.web import HttpAnswer as HttpAnswer
    from tactician.tools.builtin.web import HttpRequester as HttpRequester
    from tactician.tools.builtin.web import PageFetcher as PageFetcher
    from tactician.tools.builtin.web import WebTool as WebTool
    from tactician.tools.builtin.web import fetch_page as fetch_page
    from tactician.tools.builtin.web import http_request as http_request
    from tactician.tools.builtin.web_client import WebLimits as WebLimits
    from tactician.tools.builtin.web_client import WebRequest as WebRequest
    from tactician.tools.builtin.web_client import send_request as send_request
    from tactician.tools.builtin.web_search import WebSearcher as WebSearcher
    from tactician.tools.builtin.web_search import web_search as web_search
    from tactician.tools.builtin.workspace import Workspace as Workspace
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.tools.builtin.calculator": "calculator",
            "tactician.tools.builtin.configurable": "ConfigurableTool",
            "tactician.tools.builtin.date_time": "Moment date_time",
            "tactician.tools.builtin.files": "FileReader FileWriter read_file write_file",
            "tactician.tools.builtin.json_query": "query_json",
            "tactician.tools.builtin.math_tools": "MathTools",
            "tactician.tools.builtin.page_encoding": "decode_text",
            "tactician.tools.builtin.pipeline": "Adapter Pipeline adapt pipeline",
            "tactician.tools.builtin.process_group": "Program ProgramResult run_process_group",
            "tactician.tools.builtin.program": "ProgramRunner run_program",
            "tactician.tools.builtin.program_limits": "ProgramLimits build_program_environment limit_command",
            "tactician.tools.builtin.search_providers": "SearchHit SearchProvider SearxngSearch TavilySearch",
            "tactician.tools.builtin.web": "HttpAnswer HttpRequester PageFetcher WebTool fetch_page http_request",
            "tactician.tools.builtin.web_client": "WebLimits WebRequest send_request",
            "tactician.tools.builtin.web_search": "WebSearcher web_search",
            "tactician.tools.builtin.workspace": "Workspace",
        },
    )
    # Modules have the same names, and must not take their places.
    from tactician.tools.builtin.calculator import calculator as calculator
    from tactician.tools.builtin.date_time import date_time as date_time
    from tactician.tools.builtin.pipeline import pipeline as pipeline
    from tactician.tools.builtin.web_search import web_search as web_search
