import { type Cells, table } from '../markdown.ts';
import type { ManagementRow } from './measure.ts';

export const MANAGEMENT_TITLE = '## What management costs';

/** The section on management. */
export function printManagement(rows: readonly ManagementRow[]): string {
  const lines = rows.map(
    ({ what, among, read, write, requests, ms, blockedMs, says = '' }): Cells => [
      ...[what, among, says, read, write, requests],
      ...[Math.round(ms), Math.round(blockedMs)],
    ],
  );
  const titles = [
    ...['call', 'among', 'counts', 'read units', 'write units', 'requests', 'ms'],
    'blocked ms',
  ];
  return `${MANAGEMENT_TITLE}

One call of a process that does nothing else. "Blocked" is the longest time in which the process could not have
answered another request, such as \`/$health\`. Each tenth creation of a process writes one unit more.

${table(titles, lines)}
`;
}
