import type { Mutant } from '../mutant.ts';

/** Bugs in settlements, in messages that change their place, and in what operators do. */
export const SETTLING: readonly Mutant[] = [
  {
    name: 'a message that was put back on its own comes after its successors',
    room: 'storage',
    find: `.flatMap(({ block, free }) =>
      free.map((slot) => ({ block, slot, sequence: block.sequence + BigInt(slot) })))
      .sort((a, b) => (a.sequence < b.sequence ? -1 : 1));`,
    replace: `.flatMap(({ block, free }) =>
      free.map((slot) => ({ block, slot, sequence: block.sequence + BigInt(slot) })));`,
    harm: 'A session hands out a later message before an earlier one.',
    needs:
      'A batch into one session; abandon its first message with changed properties; receive again.',
  },
  {
    name: 'a completion of unknown outcome is told as a lost lock',
    room: 'storage',
    find: "if (before === 'unknown') throw unknownOutcome();",
    replace: '',
    harm: '`MessageLockLost` for a live lock whose message this very call has completed.',
    needs: 'Completions whose answers from the database are lost.',
  },
  {
    name: 'a message that is to move is read eventually consistently',
    room: 'storage',
    find: 'const item = await context.table.get(key, { consistent: true }); if (item === undefined) return [];',
    replace:
      'const item = await context.table.get(key, { consistent: false }); if (item === undefined) return [];',
    harm: '`MessageLockLost` for a live lock.',
    needs: 'A deferral or a dead-lettering right after the peek-lock; stale reads.',
  },
  {
    name: 'a message that moves takes its payload along, and the payload is deleted',
    room: 'storage',
    find: 'if (isWhole && !mayTakePayload)',
    replace: 'if (isWhole)',
    harm: 'A message has no body any more, so it is never handed out again.',
    needs:
      'A message of some kilobytes that do not compress, alone in its block; defer or dead-letter it; receive it there.',
  },
  {
    name: 'a whole block that moves forgets where its first message lies',
    room: 'storage',
    find: 'offset: payload.offset + first,',
    replace: 'offset: payload.offset,',
    harm: 'A dead letter has the body of another message.',
    needs:
      'A batch of two; complete the first message; dead-letter the second; receive the dead letter.',
  },
  {
    name: 'a shared payload goes with the first subscription that is done with it',
    room: 'storage',
    find: "return written.done && written.item?.['c'] === undefined;",
    replace: 'return written.done;',
    harm: 'Other subscriptions never get the message.',
    needs:
      'A topic with two subscriptions, a message of some kilobytes that do not compress; one of them completes it first.',
  },
  {
    name: 'deferred messages are handed out while somebody holds them',
    room: 'storage',
    find: 'if (blocks.length < request.sequences.length || !isFree) throw notLocked();',
    replace: 'if (blocks.length < request.sequences.length) throw notLocked();',
    harm: 'Two receivers hold the same deferred message.',
    needs: 'Two deferred receives of one sequence number.',
  },
  {
    name: 'an operator deletes a message that somebody holds',
    room: 'storage',
    find: 'if (isHeld(slotOf(block, slot), policy.rules, clock.now())) return false;',
    replace: '',
    harm: 'A holder loses a message under a live lock.',
    needs: 'A peek-lock, then a delete by sequence number, then a completion.',
  },
];
