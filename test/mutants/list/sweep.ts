import type { Mutant } from '../mutant.ts';

/** Bugs in the sweep. */
export const SWEEP: readonly Mutant[] = [
  {
    name: 'the sweep deletes payloads of sends that are under way',
    room: 'storage',
    find: 'const MIN_AGE_MS = HOUR_MS;',
    replace: 'const MIN_AGE_MS = 0;',
    also: [
      {
        find: 'const again = before.keys.filter(isUnnamed);',
        replace: 'const again = [...before.keys, ...next.old].filter(isUnnamed);',
      },
    ],
    harm: 'An acknowledged message has no body, so it is never handed out.',
    needs:
      'Sends of some kilobytes that do not compress, beside the first sweep of a namespace; stale reads.',
  },
  {
    name: 'a queue with scheduled messages counts as idle',
    room: 'storage',
    find: 'if (scheduled.blocks.length > 0) return Math.max(nextDueAt, now + CHECKS_APART_MS);',
    replace: '',
    harm: 'A queue is deleted with an acknowledged message in it.',
    needs:
      'A queue with `autoDeleteOnIdle` of five minutes and a message scheduled further ahead, no other use, and sweeps.',
  },
  {
    name: 'the sweep deletes an idle entity that was just updated',
    room: 'storage',
    find: 'AND generations = :generations AND epoch = :epoch AND (',
    replace: 'AND generations = :generations AND epoch >= :epoch AND (',
    harm: 'An entity is deleted although its update, which may have ended the setting, was answered 200.',
    needs:
      'An update of an idle entity between the read and the write of the sweep that deletes it.',
  },
  {
    name: 'the hourly walk visits no entity that forwards',
    room: 'storage',
    find: 'concerns: forwardsAnything,',
    replace: 'concerns: () => false,',
    harm: 'A dead letter never arrives where it is forwarded to.',
    needs:
      'A queue that forwards its dead letters; a process that ends between the settlement and the forward; sweeps for more than an hour.',
  },
  {
    name: 'dead letters of a deleted entity are left over',
    room: 'storage',
    find: 'return SUB_QUEUES.map((name) => ({',
    replace: 'return SUB_QUEUES.slice(0, 1).map((name) => ({',
    harm: 'Items of a deleted entity stay in the table for ever.',
    needs: 'An entity with dead letters is deleted; sweeps for some minutes; a look at the table.',
  },
];
