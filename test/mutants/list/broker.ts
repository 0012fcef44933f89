import type { Mutant } from '../mutant.ts';

/** Bugs in the verbs. */
export const BROKER: readonly Mutant[] = [
  {
    name: 'a receive never asks all partitions',
    room: 'broker',
    find: "const which = !this.#wait.hasPaused || isLast ? 'all' : 'some';",
    replace: "const which = 'some';",
    harm: 'A receive is answered empty while a partition has a message.',
    needs: 'A partitioned queue; one process sends, another one receives without a wait.',
  },
  {
    name: 'a busy database ends a receive that waits',
    room: 'broker',
    find: 'if (!isBusy(error)) throw error;',
    replace: 'throw error;',
    harm: 'A receiver link is detached, and its session is lost.',
    needs: 'A receive that waits in a session, while reads are throttled.',
  },
  {
    name: 'a refused transaction does not ask whether another attempt was carried out',
    room: 'broker',
    find: 'const outcomes = await dependencies.messages.resolveTransaction(known, error);',
    replace:
      'throw error; const outcomes = await dependencies.messages.resolveTransaction(known, error);',
    harm: 'One attempt of a transaction is told as done, another one of the same id as refused.',
    needs: 'Two attempts of one transaction with an id and a settlement, at the same time.',
  },
  {
    name: 'a send whose outcome is unknown is sent to another partition as well',
    room: 'broker',
    find: 'if (isFixed || !(error instanceof NothingStored)) throw error;',
    replace: 'if (isFixed) throw error;',
    harm: 'A message is stored twice.',
    needs: 'A partitioned queue, sends without a key, lost answers.',
  },
  {
    name: 'messages of a session are settled after its lock was lost',
    room: 'broker',
    find: 'if (lockId === undefined || !isOfSessionLock(token.tag, lockId)) throw sessionLockLost();',
    replace: '',
    harm: 'A settlement succeeds under a session lock that ran out or was released.',
    needs: 'Accept, receive, let the lock run out (or release it), then settle.',
  },
];
