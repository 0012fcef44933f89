import { type Cells, short, table } from '../markdown.ts';
import type { DeclareSection } from './measure.ts';

export const DECLARE_TITLE = '## How fast stacks declare entities';

/** The section on declared entities. */
export function printDeclarations({ rows, costs }: DeclareSection): string {
  const count = costs
    .filter(({ what }) => what.startsWith('create'))
    .reduce((sum, cost) => sum + cost.count, 0);
  const lines = rows.map(
    ({ width, overheadMs, createSeconds, deleteSeconds }): Cells => [
      ...[width, overheadMs / 1000, createSeconds.toFixed(0), deleteSeconds.toFixed(0)],
    ],
  );
  const units = costs.map(
    ({ what, read, write, requests }): Cells => [
      ...[what, short(read), short(write), short(requests)],
    ],
  );
  return `${DECLARE_TITLE}

A stack with ${count} entities is created and deleted as CloudFormation does it, by the function of the constructs in a process that
stands for all its instances. How many resources CloudFormation works on at once, and the time that it takes for each beside the
function, are guesses. Changes that other processes may not know yet wait 2.2 s until all leases have ended: the creation of a
subscription but the first of a topic, that of rules but the first of a subscription, and each deletion.

${table(['at once', 'overhead in s', 's to create all', 's to delete all'], lines)}

Each entity takes, on average, with its declaration:

${table(['event', 'read units', 'write units', 'requests'], units)}
`;
}
