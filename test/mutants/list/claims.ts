import type { Mutant } from '../mutant.ts';

/** Bugs in the conditions on slots, and in how a receive takes messages. */
export const CLAIMS: readonly Mutant[] = [
  {
    name: 'a claim does not ask whether the message is as it was read',
    room: 'storage',
    find: `return \`\${path} = \${values.of(slotValue(when.slot))}\`;`,
    replace: `return \`attribute_exists(\${path})\`;`,
    harm: 'Two receivers hold the same message.',
    needs: 'Two receives at the same time in two processes.',
  },
  {
    name: 'any lock token settles a message that is locked',
    room: 'storage',
    find: `const sameHolder = \`\${path}.\${names.of('t')} = \${values.of({ B: when.tag })}\`;`,
    replace: `const sameHolder = \`attribute_exists(\${path}.\${names.of('t')})\`;`,
    harm: 'An old token completes a message that another receiver holds now.',
    needs: 'A lock runs out, another receiver gets the message, the first one settles.',
  },
  {
    name: 'a lock that ran out still settles',
    room: 'storage',
    find: `if (effect?.kind !== 'extend') return \`\${sameHolder} AND \${end} > \${values.number(when.now)}\`;`,
    replace: `if (effect?.kind !== 'extend') return \`\${sameHolder} AND \${end} > \${values.number(0)}\`;`,
    harm: 'A settlement after `lockedUntil` is answered as done.',
    needs: 'A settlement after the lock ran out, before another receiver has the message.',
  },
  {
    name: 'a renewal that arrives late shortens the lock',
    room: 'storage',
    find: '[values.number(when.now + 1), values.number(effect.until - 1)]',
    replace: '[values.number(when.now + 1), values.number(effect.until + 300_000)]',
    harm: 'A message is handed out again before the `lockedUntil` that its holder was told.',
    needs:
      'Two renewals of one lock: the first copy of the earlier one is carried out late, or two processes whose clocks differ renew at the same time. Then a receive near the earlier end.',
  },
  {
    name: 'a claim whose answer was lost does not know its own lock',
    room: 'storage',
    find: "const ours = how.kind === 'remove' ? [] : slotsWithTags(block, how.tagOf);",
    replace: 'const ours: number[] = [];',
    harm: 'A message is locked for nobody: empty answers, a wrong delivery count, a session out of order.',
    needs: 'Peek-locks whose answers from the database are lost.',
  },
  {
    name: 'a receive-and-delete whose answer was lost believes that another receiver was faster',
    room: 'storage',
    find: "if (how.kind === 'remove' && isUncertain && isNoneLeft(current, slots)) throw unknownOutcome();",
    replace: '',
    harm: 'A message is removed, and the receive is answered empty or with other messages.',
    needs: 'Receive-and-delete whose answers from the database are lost.',
  },
  {
    name: 'a claim of unknown outcome is not written again for the same messages',
    room: 'storage',
    find: 'if (isUncertain && slots.every((slot) => free.includes(slot))) continue;',
    replace: '',
    harm: 'A late copy removes, or locks, a message that nobody is told of.',
    needs:
      'One block with more messages than asked for; all tries of the claim unheard and late, the look at the block heard.',
  },
  {
    name: 'a receive that lost its race is answered empty',
    room: 'storage',
    find: "if (found.targets.length > 0) return 'lost';",
    replace: 'if (found.targets.length > 0) return [];',
    harm: 'A receive is answered empty while other messages are free.',
    needs: 'Several processes receive from one queue at the same time.',
  },
  {
    name: 'a receive that lost a race once is refused',
    room: 'storage',
    find: 'const SCANS_MAX = 6;',
    replace: 'const SCANS_MAX = 1;',
    harm: 'A receive is answered `ServiceBusy` although nothing was throttled.',
    needs: 'Several processes receive from one queue at the same time, without faults.',
  },
  {
    name: 'a claim does not try again in a block in which others were faster',
    room: 'storage',
    find: 'const TRIES_MAX = 3;',
    replace: 'const TRIES_MAX = 1;',
    harm: 'A receive that lost a race reads the log again although its block has free messages.',
    needs:
      'Two processes receive at the same time from one block with enough messages for both; count the queries.',
  },
  {
    name: 'a claim that tries again takes what others hold',
    room: 'storage',
    find: 'const free = surveyBlock(block, request.rules, now).free;',
    replace: 'const free = [...block.slots.keys()];',
    harm: 'Two receivers hold the same message.',
    needs: 'Two processes receive at the same time from one block.',
  },
  {
    name: 'a claim of unknown outcome does not end the lock of its session',
    room: 'storage',
    find: 'if (holder === undefined || !isUnknownOutcome(error)) return error;',
    replace: 'return error;',
    harm: 'The next receive of the session passes over messages that were claimed unheard.',
    needs:
      'A receive in a session of which every try and the look afterwards fail; then another receive.',
  },
  {
    name: 'a receive takes what it has read to be in front of all that it has not',
    room: 'storage',
    find: 'if (this.#inFront() < maxMessages) return true;',
    replace: 'if (this.#free < maxMessages) return true;',
    harm: 'Messages of a session come out of order.',
    needs:
      'A batch of which several messages are put back with other properties, and small receives.',
  },
];
