import type { Mutant } from '../mutant.ts';

/** Bugs in publications, forwarding, and what processes believe of entities. */
export const TOPICS_AND_ENTITIES: readonly Mutant[] = [
  {
    name: 'what is forwarded stays where it was',
    room: 'storage',
    find: 'const removal = source === undefined ? [] : [prepareRemoval(context, source)];',
    replace: 'const removal: PreparedWrite[] = [];',
    harm: 'A message arrives at the destination twice.',
    needs: 'Dead letters that are forwarded; a topic with scheduled messages and two processes.',
  },
  {
    name: 'a step of a large publication does not note that it is done',
    room: 'storage',
    find: 'const outcome = await table.transact([progress, ...newItems(steps[done] ?? [])]);',
    replace: 'const outcome = await table.transact(newItems(steps[done] ?? []));',
    harm: 'Messages that were completed come back.',
    needs:
      'A publication of more than 100 items (a batch to more than 50 sessions of one subscription); the sender ends or is frozen for more than a minute between two steps; receives and a sweep meanwhile.',
  },
  {
    name: 'an update undoes a purge that came between',
    room: 'storage',
    find: "ConditionExpression: '#id = :id AND epoch = :epoch AND generations = :generations',",
    replace: `ConditionExpression:
      '#id = :id AND epoch = :epoch AND (generations = :generations OR attribute_exists(generations))',`,
    harm: 'Purged messages come back, and messages sent after the purge are lost.',
    needs: 'A purge and an update of one queue at the same time.',
  },
  {
    name: 'a purge of a deleted entity is answered as done',
    room: 'broker',
    find: 'if (current === undefined) throw entityNotFound(path.name);',
    replace: 'if (current === undefined) return;',
    harm: 'A client is told that it has emptied an entity that it knows to be deleted.',
    needs:
      'A process remembers an entity that another one has deleted; an update through it, which reads the entity, is refused; then a purge.',
  },
  {
    name: 'a change is answered before other processes can know of it',
    room: 'storage',
    find: 'if (!isRefused) await this.#dependencies.leasesEnded();',
    replace: '',
    harm: 'Messages sent after a purge are lost; a new subscription misses messages.',
    needs:
      'A purge, an update or a new subscription in one process, a send through another one right after.',
  },
  {
    name: 'what is known of a subscription does not rest on the read of its topic',
    room: 'storage',
    find: 'const since = this.#ages.older(this.#ages.now(), basis);',
    replace: 'const since = this.#ages.now();',
    harm: 'The subscription of a deleted topic is served although its deletion was answered.',
    needs:
      'A process reads a topic; just before that is too old it reads a subscription of it; the topic is deleted; a receive from the subscription seconds later.',
  },
];
