import type { Mutant } from '../mutant.ts';

/** Bugs in sends and in what becomes of scheduled messages. */
export const SCHEDULING: readonly Mutant[] = [
  {
    name: 'a send does not wait for its payload',
    room: 'storage',
    find: 'takeNumbers(table, log, { count: messages.length, bytes, now }), putPayloads(table, log, pieces, now),',
    replace: `takeNumbers(table, log, { count: messages.length, bytes, now }),
      context.background(() => putPayloads(table, log, pieces, now)),`,
    harm: 'A message that was acknowledged has no body.',
    needs:
      'Messages of some kilobytes that do not compress; a receive right after the send, or a process that ends or is throttled after its answer.',
  },
  {
    name: 'a due time is noted before the messages only',
    room: 'storage',
    find: 'if (dueAt !== undefined) await noteDue(context, log, dueAt);',
    replace: '',
    harm: 'A scheduled message that was acknowledged never comes due.',
    needs:
      'A message scheduled a second ahead by a slow or frozen sender, or a receiver whose clock is ahead: it looks for due messages between the two writes of the send.',
  },
  {
    name: 'the next due time is raised over what was scheduled meanwhile',
    room: 'storage',
    find: "ConditionExpression: 'y = :times AND w = :seen',",
    replace: "ConditionExpression: '(y = :times OR w = :seen) AND w = :seen',",
    harm: 'A scheduled message that was acknowledged never comes due, or comes with a later one.',
    needs:
      'Scheduled messages of several due times; a whole send of a scheduled message between two requests of a slow activation.',
  },
  {
    name: 'an activation leaves the scheduled message where it was',
    room: 'storage',
    find: '...blocks.map((block) => removalOf(log, block, slotsOf(block))),',
    replace: '',
    harm: 'A scheduled message is handed out twice, or still shows as scheduled.',
    needs: 'Scheduled messages that come due while two processes receive; a peek, a cancellation.',
  },
  {
    name: 'due times are removed before their messages are activated',
    room: 'storage',
    find: 'let isDone = true; const most =',
    replace: 'await forgetDues(context, log, together); let isDone = true; const most =',
    harm: 'A scheduled message never comes due.',
    needs: 'Scheduled messages that come due while requests fail or processes end.',
  },
  {
    name: 'a cancellation passes over messages that are not there',
    room: 'storage',
    find: 'if (target === undefined) throw notFound(sequences[i]);',
    replace: 'if (target === undefined) continue;',
    harm: 'A cancellation is told as done, and the message is handed out.',
    needs: 'Cancellations of messages that have come due, or that were cancelled already.',
  },
  {
    name: 'a process never reads the next due time again',
    room: 'storage',
    find: 'if (known === undefined || this.#ages.since(known.readAt) >= this.#maxAgeMs) {',
    replace: 'if (known === undefined) {',
    harm: 'A scheduled message that is due is not handed out.',
    needs:
      'A process that has received before; a message that another process schedules; a receive when it is due.',
  },
  {
    name: 'the sweep is not told when scheduled messages come due',
    room: 'storage',
    find: 'await context.addDueWork(log, isAhead ? nextDueAt : dueAt);',
    replace: '',
    harm: 'A scheduled message never arrives where it is forwarded to.',
    needs:
      'A message scheduled in a queue that forwards, or in a topic whose subscription forwards; receives at the destination only; a sweep every minute.',
  },
  {
    name: 'whoever schedules behind an earlier message does not tell the sweep',
    room: 'storage',
    find: 'await context.addDueWork(log, isAhead ? nextDueAt : dueAt);',
    replace: 'if (!isAhead) await context.addDueWork(log, dueAt);',
    harm: 'A scheduled message is sent on an hour late.',
    needs:
      'A queue that forwards; a process that ends while it schedules; another one schedules behind that message.',
  },
  {
    name: 'the sweep hears of the next due time only after the head was raised',
    room: 'storage',
    find: `    if (next !== undefined) await addDueWork(log, next.dueAt);
    if (await raiseNextDue(table, log, header, next?.dueAt)) {
      dueTimes.note(logKey(log), next?.dueAt, readAt);`,
    replace: `    if (await raiseNextDue(table, log, header, next?.dueAt)) {
      dueTimes.note(logKey(log), next?.dueAt, readAt);
      if (next !== undefined) await addDueWork(log, next.dueAt);`,
    harm: 'What is scheduled in a topic comes up to a day late.',
    needs: 'A process ends between the two writes; nobody receives from the topic.',
  },
  {
    name: 'who waits on a subscription does not know when a scheduled message of its topic comes due',
    room: 'broker',
    find: "if (subQueue === 'main') this.#topicDueAt.set(partition, dueAt);",
    replace: 'if (dueAt < 0) this.#topicDueAt.set(partition, dueAt);',
    harm: 'An idle receiver gets the message up to half a minute late.',
    needs:
      'A receive on a subscription for more than a minute, and a message that is scheduled on its topic.',
  },
];
