import type { Mutant } from '../mutant.ts';

/** Bugs in what several callers of one process share. */
export const GROUP_COMMIT: readonly Mutant[] = [
  {
    name: 'one message of a shared claim is dealt to two callers',
    room: 'broker',
    find: 'seat.hand.push(...messages.slice(from, from + count));',
    replace: 'seat.hand.push(...messages.slice(Math.max(0, from - 1), from + count));',
    harm: 'Two receivers hold the same message.',
    needs: 'Two receives of one process at the same time.',
  },
  {
    name: 'a message of a shared claim is dealt to nobody',
    room: 'broker',
    find: 'from += count;',
    replace: 'from += count === 0 ? 0 : count + 1;',
    harm: 'A message is locked for nobody, or lost by a receive-and-delete.',
    needs: 'Two receives of one process at the same time.',
  },
  {
    name: 'a caller without a message is answered empty, though others got some',
    room: 'broker',
    find: 'else if (isServed) call.resolve([]);',
    replace: 'else if (hand.length === 0) call.resolve([]);',
    harm: 'A receive is answered empty while the queue has a message.',
    needs:
      'Receives of one process at the same time, while another process takes some of the messages.',
  },
  {
    name: 'a caller of a group is answered before all blocks with its messages are claimed',
    room: 'broker',
    find: 'this.#close(({ blocksLeft }) => blocksLeft === 0);',
    replace: 'this.#close(() => true);',
    harm: 'A message is locked for nobody, or lost by a receive-and-delete.',
    needs: 'Two receives of one process at the same time, whose messages are in two blocks.',
  },
  {
    name: 'a message whose caller gave up stays locked',
    room: 'broker',
    find: 'if (settlements.length === 0) return;',
    replace: 'return;',
    harm: 'A message is locked though nobody has it.',
    needs: 'Two receives of one process at the same time, of which one is aborted.',
  },
  {
    name: 'a caller of a group hears the outcome of the settlement of another one',
    room: 'broker',
    find: '(index, outcome) => items[index]?.answer.add(items[index].place, outcome),',
    replace:
      '(index, outcome) => items.at(-1 - index)?.answer.add(items.at(-1 - index)?.place ?? 0, outcome),',
    harm: 'A settlement is answered as done though its lock was lost, or the other way round.',
    needs: 'Settlements of one process at the same time, of which one has lost its lock.',
  },
  {
    name: 'sends with different partitions share a write',
    room: 'broker',
    find: "placementKey === undefined ? '' : partitionOfKey(placementKey, partitionsOf(entity));",
    replace: "'';",
    harm: 'Messages with one key are in several partitions.',
    needs: 'Sends of one process with different keys at the same time, to a partitioned queue.',
  },
  {
    name: 'sends of one link are not held back while an earlier one is under way',
    room: 'broker',
    find: 'const isHeld = call.orderedBy !== undefined && held.has(call.orderedBy);',
    replace: 'const isHeld = false;',
    harm: 'Messages are stored in another order than one link sent them.',
    needs: 'Two sends over one link, the first of which takes more than 100 ms.',
  },
  {
    name: 'a send that goes alone does not wait for those before it',
    room: 'broker',
    find: 'await Promise.allSettled(others);',
    replace: '',
    harm: 'Messages are stored in another order than one link sent them.',
    needs: 'Two sends over one link at the same time, the second of which shares no write.',
  },
  {
    name: 'a message is removed for a caller of a group that had given up before',
    room: 'broker',
    find: 'return request.isWanted?.() !== false;',
    replace: "return request.mode === 'receiveAndDelete' || request.isWanted?.() !== false;",
    harm: 'A message is lost, although nobody waited for it when it was removed.',
    needs: 'Two receives and deletes of one process at the same time, of which one is aborted.',
  },
];
