import type { Mutant } from '../mutant.ts';

/** Bugs in duplicate detection and in transactions. */
export const ONCE: readonly Mutant[] = [
  {
    name: 'a deduplication record does not stand in the way of a second one',
    room: 'storage',
    find: "const isFree = 'attribute_not_exists(pk) OR x <= :now';",
    replace: "const isFree = 'attribute_not_exists(pk) OR x <= :now OR attribute_exists(pk)';",
    harm: 'Two messages with one MessageId are stored.',
    needs: 'Two sends of one MessageId at the same time.',
  },
  {
    name: 'a batch that was given up is stored after all',
    room: 'storage',
    find: "return { attempt, writes: [{ put, ConditionExpression: 'attribute_not_exists(pk)' }] };",
    replace: 'return { attempt, writes: [{ put }] };',
    harm: 'Two messages with one MessageId are stored.',
    needs:
      'A batch to a queue that detects duplicates, held up for some hundred milliseconds between its records and its blocks; a send of the same MessageIds meanwhile.',
  },
  {
    name: 'two attempts of a transaction with one id are both carried out',
    room: 'storage',
    find: "ConditionExpression: 'attribute_not_exists(pk) OR x <= :now',",
    replace: "ConditionExpression: 'attribute_not_exists(pk) OR x <= :now OR x > :now',",
    harm: 'What the transaction sends is stored twice.',
    needs: 'Two attempts of one transaction with an id that only sends, at the same time.',
  },
  {
    name: 'a lost session lock ends no earlier attempt of a transaction',
    room: 'storage',
    find: 'if (error.retryable) {',
    replace: "if (error.retryable || error.code === 'SessionLockLost') {",
    harm: 'A transaction takes effect although its client was told that nothing has changed.',
    needs:
      'A transaction with an id in a session, whose write gets no answer; the lock of the session ends; the client repeats the transaction; then the write arrives.',
  },
  {
    name: 'a disabled destination ends no earlier attempt of a transaction',
    room: 'storage',
    find: 'if (error.retryable) {',
    replace: "if (error.retryable || error.code === 'MessagingEntityDisabled') {",
    harm: 'A transaction takes effect although its client was told that nothing has changed.',
    needs:
      'A transaction with an id whose write gets no answer; its destination is disabled; the client repeats the transaction; then the write arrives.',
  },
  {
    name: 'a transaction sends without its settlements',
    room: 'storage',
    find: 'const parts = [record, session, ...settlements, ...sends.parts].filter(',
    replace: 'const parts = [record, session, ...sends.parts].filter(',
    harm: 'Half a transaction: what it completed comes again.',
    needs: 'A transaction that sends and completes; a receive after the lock would have ended.',
  },
];
