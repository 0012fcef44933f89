import { type Cells, table } from '../markdown.ts';
import type { ExplorerResult } from './measure.ts';

export const EXPLORER_TITLE = '## How fast the explorer is';

/** The section on the page: what somebody waits for, and what the page holds. */
export function printExplorer(result: ExplorerResult): string {
  const { entities, messages, heapBytes } = result;
  const lines: Cells[] = [
    ['the first entities', seconds(result.firstRowsMs)],
    ['all entities with their counts', seconds(result.allEntitiesMs)],
    ['the same once more', seconds(result.againMs)],
    ['the first messages of the large queue', seconds(result.firstMessagesMs)],
    ['messages from the middle of it', seconds(result.middleMessagesMs)],
    ['the next page of messages, when one scrolls', seconds(result.nextMessagesMs)],
    ['as many messages as the page keeps', seconds(result.mostMessagesMs)],
  ];
  return `${EXPLORER_TITLE}

A local namespace with ${entities.toLocaleString('en-US')} entities, one of them a queue with ${messages.toLocaleString('en-US')} messages of 200 bytes, in Chromium on the same
machine. The script of the page holds ${megabytes(heapBytes.overview)} MB with the overview, and ${megabytes(heapBytes.messages)} MB with as many messages as it keeps.
The page sent ${result.requests} requests until it had all entities.

${table(['until one sees', 'seconds'], lines)}
`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0);
}
