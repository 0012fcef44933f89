import { type Cells, rounded, short, table } from '../markdown.ts';
import type { PartitionRow } from './measure.ts';

const TITLES = [
  ...['queue', 'batch', 'write units', 'read units'],
  ...['busiest collection, write units per million', 'messages a second', 'times a plain queue'],
];

/** The section on partitions, as Markdown. */
export function printPartitions(rows: readonly PartitionRow[]): string {
  return `## What partitions add

A simulation: DynamoDB gives each item collection 1,000 write units and 3,000 read units a second, whatever the
table may do in all. Small messages without keys are sent, received and completed, with units counted by item
collection; the busiest one says how many messages a second pass. Time is computed, not spent: neither this
machine nor the engine is in it. Units are for each message.

${table(
  TITLES,
  rows.map((row) => line(row, rows)),
)}
`;
}

function line(row: PartitionRow, rows: readonly PartitionRow[]): Cells {
  const plain = rows.find(({ batch }) => batch === row.batch);
  return [
    ...[row.queue, row.batch, short(row.write), short(row.read), rounded(row.busiest)],
    ...[rounded(row.perSecond), (row.perSecond / (plain?.perSecond ?? 1)).toFixed(1)],
  ];
}
