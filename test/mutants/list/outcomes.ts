import type { Mutant } from '../mutant.ts';

/** Bugs in what becomes of writes that fail, conflict or are not heard of. */
export const OUTCOMES: readonly Mutant[] = [
  {
    name: 'the put of a new block is repeated after a lost answer',
    room: 'storage',
    find: "await table.put(item, { ConditionExpression: 'attribute_not_exists(pk)' }, { once: true });",
    replace: "await table.put(item, { ConditionExpression: 'attribute_not_exists(pk)' });",
    harm: 'A message that was completed comes back.',
    needs:
      'A send whose answer is lost while another process waits for messages, and completes this one before the SDK tries again; or a copy that is carried out late.',
  },
  {
    name: 'a send of which nothing was heard is told as stored',
    room: 'storage',
    find: 'if (isUnknownOutcome(error) && (await isAnyThere(table, newBlocks(writes)))) {',
    replace: 'if (isUnknownOutcome(error)) {',
    harm: 'An acknowledged message is lost.',
    needs: 'Sends whose requests are lost.',
  },
  {
    name: 'an unknown outcome is told as a failed condition',
    room: 'storage',
    find: 'if (!outcome.done && outcome.isUncertain === true) throw unknownOutcome();',
    replace: '',
    harm: 'An act of an operator that was carried out is told as "there is none to be had".',
    needs: 'Deletes and broken locks by sequence number whose answers are lost.',
  },
  {
    name: 'an unknown outcome is told as busy',
    room: 'storage',
    find: 'return isUncertain ? unknownOutcome(error) : error;',
    replace: 'return error;',
    harm: '`ServiceBusy` for a write that was carried out.',
    needs:
      'A lost answer, and throttling of the tries that follow: sends to topics, settlements, claims.',
  },
  {
    name: 'an internal error of the database counts as a refusal',
    room: 'storage',
    find: '(status >= 400 && status < 500)',
    replace: 'status >= 400',
    harm: 'A refusal for a write that was carried out: `MessageLockLost`, or a message sent twice.',
    needs: 'Answers with status 500 to writes that were carried out.',
  },
  {
    name: 'a transaction is repeated with a new token although its outcome is unknown',
    room: 'storage',
    find: `if (refused.size > 0) return { done: false, refused, isUncertain };
      if (isUncertain) throw unknownOutcome(error);`,
    replace: 'if (refused.size > 0) return { done: false, refused, isUncertain };',
    harm: 'Messages are stored twice, or their locks and removals are undone.',
    needs:
      'A transaction whose first try is late or unheard and whose second try meets another transaction: publications to one session of a subscription, batches of several blocks.',
  },
  {
    name: 'a write that meets a transaction is not tried again',
    room: 'storage',
    find: "return error instanceof Error && error.name === 'TransactionConflictException';",
    replace: 'return false;',
    harm: 'An operation fails with an internal fault.',
    needs: 'Completions beside deferrals and dead-letterings in one block.',
  },
  {
    name: 'a batch of reads that is answered in part counts as complete',
    room: 'storage',
    find: 'pending = answer.UnprocessedKeys?.[this.name]?.Keys ?? [];',
    replace: 'pending = [];',
    harm: 'Messages are locked and not handed out; scheduled ones never come due.',
    needs:
      'Batches of reads that leave keys unprocessed: receives of several messages of some kilobytes that do not compress, several due blocks.',
  },
  {
    name: 'a removal of a dead letter of which nothing was heard is not told as unknown',
    room: 'storage',
    find: "if (isUncertain && how.kind === 'remove' && log.subQueue !== 'main') throw unknownOutcome();",
    replace: '',
    harm: 'A dead letter is gone, though its receiver was told that there is none.',
    needs:
      'A receive-and-delete of a dead letter arrives late, after another receiver has given the message back.',
  },
  {
    name: 'a removal in a session of which nothing was heard is told as a lost lock',
    room: 'storage',
    find: 'throw isUncertain ? unknownOutcome() : sessionLockLost();',
    replace: 'throw sessionLockLost();',
    harm: 'A message is gone, though its receiver was told that nothing was done.',
    needs:
      'A receive-and-delete in a session arrives late; the lock of the session runs out before the next try.',
  },
];
