import type { Mutant } from '../mutant.ts';

/** Bugs in the rules of locks, deliveries and ages. */
export const DOMAIN: readonly Mutant[] = [
  {
    name: 'a lock still holds at the instant at which it ends',
    room: 'domain',
    find: 'slot.heldUntil <= now) return false;',
    replace: 'slot.heldUntil < now) return false;',
    harm: 'A receive at `lockedUntil` is answered empty, or the lock can still be used.',
    needs: 'A receive or a settlement at exactly `lockedUntil`.',
  },
  {
    name: 'a message is delivered once more than its maximum delivery count',
    room: 'domain',
    find: "if (deliveriesOf(slot, rules) >= rules.maxDeliveryCount) return { kind: 'exhausted' };",
    replace:
      "if (deliveriesOf(slot, rules) > rules.maxDeliveryCount) return { kind: 'exhausted' };",
    harm: 'A message is handed out `maxDeliveryCount + 1` times.',
    needs: 'Locks that run out, up to the maximum delivery count.',
  },
  {
    name: 'a delivery that ended with the release of its session counts as failed',
    room: 'domain',
    find: 'wasReleased(tag, session) ? deliveries - 1 : deliveries;',
    replace: 'wasReleased(tag, session) ? deliveries : deliveries;',
    harm: 'The delivery count is too high, and messages are dead-lettered too early.',
    needs: 'A holder receives, settles nothing and releases; the next holder receives.',
  },
  {
    name: 'messages of a session are free again once its lock was renewed',
    room: 'domain',
    find: 'if (isOfSessionLock(tag, holder.lockId)) return true;',
    replace: '',
    harm: 'The holder receives the same message twice under one session lock.',
    needs: 'Accept, receive, renew the session, receive again without a settlement in between.',
  },
  {
    name: 'an update of an entity does not end its locks',
    room: 'domain',
    find: 'return (((tag[0] ?? 0) - epoch) & 0xff) <= UNKNOWN_CHANGES_MAX;',
    replace: 'return tag.length > 0 && epoch > 0;',
    harm: 'Old lock tokens settle, and locked messages stay away after the update.',
    needs:
      'A peek-lock, an update of the queue, then a receive and a settlement with the old token.',
  },
  {
    name: 'a lock that was taken after an update does not count for those who know the entity from before',
    room: 'domain',
    find: 'return (((tag[0] ?? 0) - epoch) & 0xff) <= UNKNOWN_CHANGES_MAX;',
    replace: 'return tag[0] === (epoch & 0xff);',
    harm: 'A locked message is delivered to somebody else as well.',
    needs:
      'A process that reads the entity and freezes; an update and a lock by others meanwhile; then its receive goes on.',
  },
  {
    name: 'ages follow the monotonic clock only',
    room: 'domain',
    find: 'return Math.max(wall, this.#monotonicNow() - monotonicMs);',
    replace: 'return this.#monotonicNow() - monotonicMs;',
    harm: 'A frozen process acts on what it read before a purge, an update or a new subscription.',
    needs:
      'A process whose monotonic clock stands still while it is frozen; a purge, update or new subscription by another one meanwhile; then a send or a receive through the first.',
  },
];
