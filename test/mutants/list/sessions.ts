import type { Mutant } from '../mutant.ts';

/** Bugs in sessions. */
export const SESSIONS: readonly Mutant[] = [
  {
    name: 'a session is locked although somebody holds it',
    room: 'storage',
    find: "ConditionExpression: 'attribute_not_exists(u) OR u <= :now OR o < :epoch',",
    replace:
      "ConditionExpression: 'attribute_not_exists(u) OR u <= :now OR u > :now OR o < :epoch',",
    harm: 'Two holders of one session.',
    needs: 'Two accepts of one session, or of the next one, at the same time in two processes.',
  },
  {
    name: 'the lock of a session is written again after a lost answer',
    room: 'storage',
    find: 'table.update(sessionKey(session), lock, { once: true })',
    replace: 'table.update(sessionKey(session), lock)',
    harm: 'A session is locked for nobody: `SessionCannotBeLocked`, or no next session.',
    needs:
      'Accepts whose answers from the database are lost, or whose copies are carried out late.',
  },
  {
    name: 'a holder who vanishes leaves a session that nobody finds',
    room: 'storage',
    find: 'await putLockEntry(context, session, entryKey);',
    replace: '',
    harm: 'Accepting the next session is answered empty although one has messages.',
    needs:
      'A session lock that runs out, or a process that ends, with messages left; then accept the next session.',
  },
  {
    name: 'clocks of two processes count as equal',
    room: 'storage',
    find: 'const CLOCK_SKEW_MS = 1000;',
    replace: 'const CLOCK_SKEW_MS = 0;',
    harm: 'A message is sent to a session that accepting the next session never finds.',
    needs:
      'Clocks apart by up to a second; a session with a state whose lock runs out while it is empty; accepting the next session in vain in the process that is ahead, then a send to it through the one behind, within the difference.',
  },
  {
    name: 'a release looks for messages before it lets the session go',
    room: 'storage',
    find: `const { written, lock, isForgotten } =
    (await forgetUnread(context, session, token)) ?? (await unlock(context, session, token));
  context.plainSessions.forget(session);
  requireGone(written, session, token, context);`,
    replace: `const front = { from: FIRST_BLOCK, limit: 1, consistent: true };
      const { blocks: seen } = await readBlocks(context, session, front);
      const { written, lock, isForgotten } =
        (await forgetUnread(context, session, token)) ?? (await unlock(context, session, token));
      requireGone(written, session, token, context);
      if (seen.length === 0) {
        if (lock !== undefined) context.background(() => deleteLockEntry(context, session, lock));
        return;
      }`,
    harm: 'A message is sent to a session that accepting the next session never finds.',
    needs: 'A release of an empty session beside a send to it; then accept the next session.',
  },
  {
    name: 'a release of unknown outcome is told as a lost lock',
    room: 'storage',
    find: 'if (!written.isUncertain) throw sessionLockLost();',
    replace: 'throw sessionLockLost();',
    harm: '`SessionLockLost` for a live lock, and messages that accepting the next session never finds.',
    needs: 'Releases, with messages left, whose answers from the database are lost.',
  },
  {
    name: 'a session is removed from the ready sessions although it has just become ready again',
    room: 'storage',
    find: "ConditionExpression: 'x = :stamp AND c = :count',",
    replace:
      "ConditionExpression: '(x = :stamp OR attribute_exists(x)) AND (c = :count OR attribute_exists(c))',",
    harm: 'Accepting the next session is answered empty although one has messages.',
    needs:
      'Two sends to one session within a second; its messages are gone in between; accepting the next session looks at it just before the second send.',
  },
  {
    name: 'a session that this process has served is passed over when it becomes ready again',
    room: 'storage',
    find: "return [key.pk, key.sk, bytes, stamp?.count].join(' ');",
    replace: 'return [key.pk, key.sk, bytes === key.pk].join();',
    harm: 'Accepting the next session is answered empty although one has messages.',
    needs: 'A session is served through one process, and gets a message within the same second.',
  },
  {
    name: 'a call that left a session to another one does not look again when that one failed',
    room: 'storage',
    find: "if (outcome === 'held') break;",
    replace: 'break;',
    harm: 'Accepting the next session is answered empty although one has messages.',
    needs:
      'Two accepts of the next session through one process; the write of the first one fails while the second looks.',
  },
  {
    name: 'a release forgets the state that was set meanwhile',
    room: 'storage',
    find: `AND attribute_not_exists(w)\`,
    ExpressionAttributeValues: values,`,
    replace: `AND (attribute_not_exists(w) OR attribute_exists(w))\`,
    ExpressionAttributeValues: values,`,
    harm: 'The state of a session is gone.',
    needs:
      'A session is accepted through one process, its state is set through another one, and the first one releases it.',
  },
  {
    name: 'a session state that arrives late replaces a later one',
    room: 'storage',
    find: '(attribute_not_exists(m) OR m < :stamp)',
    replace: '(attribute_not_exists(m) OR m < :stamp OR m >= :stamp)',
    harm: 'The state is an earlier one than the last that was set.',
    needs: 'Session states set one after the other; a copy of the first write is carried out late.',
  },
  {
    name: 'a session that was accepted after an update looks free to those who know the entity from before',
    room: 'storage',
    find: 'return epoch !== undefined && lock.epoch >= epoch ? lock : undefined;',
    replace: 'return lock.epoch === epoch ? lock : undefined;',
    harm: 'A live lock is removed, or a message is dead-lettered while it is locked.',
    needs:
      'A process that reads the entity and freezes; an update and an accept by others meanwhile; then its accept goes on.',
  },
  {
    name: 'the lock of a session may be renewed by those who lost it',
    room: 'storage',
    find: "condition: 'k = :token AND u > :now AND o >= :epoch',",
    replace: "condition: '(k = :token OR u > :now) AND u > :now AND o >= :epoch',",
    harm: 'An old holder is told that it holds a session that another one holds.',
    needs:
      'A session lock runs out, another receiver accepts, the first one renews or sets the state.',
  },
  {
    name: 'what a session held since it was looked at is taken for used up',
    room: 'storage',
    find: 'if (log.sessionId === undefined || isHolder || !isAnyOver) return { policy, leftovers };',
    replace: 'if (log.sessionId !== null) return { policy, leftovers };',
    harm: 'A message on its last delivery is dead-lettered while its session is held.',
    needs: 'Somebody looks for a session while another one accepts it and receives.',
  },
  {
    name: 'whoever looks ahead strikes off the listing of a lock that is just being taken',
    room: 'storage',
    find: 'if (isRemovable(entry, known, now)) await forget(context, session, entry, known);',
    replace: 'await forget(context, session, entry, known);',
    harm: 'A session whose holder vanishes is found by nobody.',
    needs:
      'An update of an entity ends the lock of an empty session; one accepts the next session, another one this session by its id, and sends to it.',
  },
  {
    name: 'who gave a session back is forgotten',
    room: 'storage',
    find: 'await remembered(context, session, [...known.released, lockIdOf(token)]);',
    replace: 'await remembered(context, session, [...known.released]);',
    harm: 'What a receive got beside the release is passed over by the next holder, or counts as a failed delivery.',
    needs: 'A receive and a release of one session at the same time; then accept and receive.',
  },
  {
    name: 'of sessions given back only the latest are remembered, whoever left messages',
    room: 'storage',
    find: 'const kept = [...others, ...earlier.filter(hasLeft), ...lockIds.slice(-LATEST_LOCK_IDS)];',
    replace: 'const kept = [...others, ...lockIds.slice(-LATEST_LOCK_IDS)];',
    harm: 'Messages that were given back unharmed are dead-lettered.',
    needs: 'A holder receives many messages and gives them back; many more take one each.',
  },
  {
    name: 'who gives back an empty session is forgotten, whatever came meanwhile',
    room: 'storage',
    find: 'if (forgotten !== undefined) await rememberAgain(context, session, forgotten);',
    replace: '',
    harm: 'A delivery that ended with a release counts as failed.',
    needs: 'A session without messages is given back while one is sent and received.',
  },
  {
    name: 'a session is forgotten though somebody has given it back since',
    room: 'storage',
    find: "released.length === 0 ? 'attribute_not_exists(r)' : 'r = :released'",
    replace:
      "released.length === 0 ? '(attribute_not_exists(r) OR attribute_exists(r))' : '(r = :released OR r <> :released)'",
    harm: 'A delivery that ended with a release counts as failed.',
    needs:
      'An empty session is forgotten late; meanwhile a send, an accept, a receive and a release.',
  },
];
