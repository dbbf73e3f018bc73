/** Table of which only the rows in sight are in the page. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { useWindow } from "./virtual";

export interface Column<Row> {
  /** Heading, which is also the name of the cell for styles. */
  title: string;
  render: (row: Row) => ComponentChildren;
  /** Class of the cells: `number`, `wide`, or `minor` for a column that narrow screens leave out. */
  kind?: string;
}

interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Height of a row in pixels. */
  rowHeight?: number;
  /** Called when the last rows come in sight, so that others can be read. */
  onEnd?: () => void;
}

export function Table<Row>({ label, columns, rows, keyOf, rowHeight = 48, onEnd }: TableProps<Row>) {
  const { ref, window } = useWindow<HTMLTableSectionElement>(rows.length, rowHeight);
  const isAtEnd = window.last >= rows.length;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, rows.length, onEnd]);
  return (
    <table class="table" aria-label={label} aria-rowcount={rows.length + 1}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col" class={column.kind}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={ref}>
        <Spacer height={window.before} span={columns.length} />
        {rows.slice(window.first, window.last).map((row, index) => (
          <tr key={keyOf(row)} aria-rowindex={window.first + index + 2} style={{ height: `${rowHeight}px` }}>
            {columns.map((column) => (
              <td key={column.title} class={column.kind}>
                {column.render(row)}
              </td>
            ))}
          </tr>
        ))}
        <Spacer height={window.after} span={columns.length} />
      </tbody>
    </table>
  );
}

function Spacer({ height, span }: { height: number; span: number }) {
  return height === 0 ? null : (
    <tr aria-hidden="true" class="spacer">
      <td colSpan={span} style={{ height: `${height}px` }} />
    </tr>
  );
}
