"""The example of built-in tools and TOON, on its script."""

from __future__ import annotations

from examples.stock_check import Shortage, agent, script
from tactician import RunContext
from tactician.llm import ToolResult


async def test_the_order_is_written_from_what_the_tools_gave() -> None:
    result = await agent.run("tea", context=RunContext.over(script()))
    assert result.output == "We order 6 green tea and 4 white tea for 70.00 euros."
    assert [output.tool_calls for output in result.task_outputs] == [1, 1, 2]
    assert result.task_outputs[0].parsed == [
        Shortage(sku="T1", amount=6, price=3.5),
        Shortage(sku="T3", amount=4, price=12.25),
    ]


async def test_the_agents_read_tables_as_toon_and_write_json() -> None:
    model = script()
    result = await agent.run("tea", context=RunContext.over(model))
    shortages = "[2]{sku,amount,price}:\n  T1,6,3.5\n  T3,4,12.25"
    assert shortages in model.calls[2].prompt
    assert shortages in model.calls[4].prompt
    assert '"properties"' in model.calls[0].prompt  # of the schema
    read = {
        message.name: message.content
        for call in model.calls
        for message in call.messages
        if isinstance(message, ToolResult)
    }
    assert read["list_stock"].startswith("[3]{sku,name,left,price}:\n  T1,green tea,2,3.5")
    assert read["look_up_stock"] == "[3]: green tea,black tea,white tea"
    assert read["calculator"] == "70.0"
    assert "time: " in read["date_time"]
    assert result.task_outputs[0].raw.startswith('[{"sku":"T1"')
