import type { UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import type {
  ConsumerFault,
  ConsumerReference,
  ConsumerState,
  ConsumerStates,
  Pause,
  Released,
  Trouble,
} from '../../push/ports.ts';
import type { Document, DocumentTable, DocumentWrite } from '../dynamodb/document-table.ts';
import type { ItemKey } from '../dynamodb/table.ts';
import { consumerStatesOf } from '../schema/entity-keys.ts';

type Lease = NonNullable<ConsumerState['lease']>;
type Update = Omit<UpdateCommandInput, 'TableName' | 'Key'>;

/** A consumer with its state. */
export interface StatedConsumer {
  readonly of: ConsumerReference;
  readonly state: ConsumerState;
}

/** The states of consumers in DynamoDB: one document each, in a collection of the entity's. */
export class DynamoConsumerStates implements ConsumerStates {
  readonly #table: DocumentTable;
  readonly #namespace: string;

  constructor(table: DocumentTable, namespace: string) {
    this.#table = table;
    this.#namespace = namespace;
  }

  /** The write that creates the state of a consumer, or ends the pause of one that was changed. Two write units. */
  putOf(of: ConsumerReference): DocumentWrite {
    return {
      Update: {
        TableName: this.#table.name,
        Key: this.#keyOf(of),
        UpdateExpression: 'SET entityKey = :entityKey REMOVE pause',
        ExpressionAttributeValues: { ':entityKey': of.entityKey },
      },
    };
  }

  /** The write that removes the state of a consumer. Two write units. */
  removalOf(of: ConsumerReference): DocumentWrite {
    return { Delete: { TableName: this.#table.name, Key: this.#keyOf(of) } };
  }

  /** The consumers of an entity, with their states. A read unit for each 4 KB, at least one. */
  async consumersOf(entityId: string): Promise<readonly StatedConsumer[]> {
    const found: StatedConsumer[] = [];
    for await (const document of this.#table.all(consumerStatesOf(this.#namespace, entityId))) {
      const { sk, entityKey } = document;
      const of = { entityId, entityKey: String(entityKey), consumer: String(sk) };
      found.push({ of, state: stateOf(document) });
    }
    return found;
  }

  async read(of: ConsumerReference): Promise<ConsumerState | undefined> {
    const document = await this.#table.get(this.#keyOf(of));
    return document && stateOf(document);
  }

  async take(
    of: ConsumerReference,
    lease: Lease,
    seen: ConsumerState,
    formerCalls: ConsumerState['formerCalls'],
  ): Promise<boolean> {
    // A copy of this write that arrives after the lease was released finds another turn.
    const isSameTurn = seen.turn === 0 ? 'attribute_not_exists(turn)' : 'turn = :turn';
    const isFree = `(attribute_not_exists(heldBy) AND ${isSameTurn})`;
    const isAsSeen = '(heldBy = :seenBy AND heldUntil = :seenUntil)';
    // A lease of our own was taken by an earlier try of this write, whose answer got lost.
    const condition = `(${seen.lease === undefined ? isFree : isAsSeen} OR heldBy = :owner)`;
    const taken = await this.#update(of, {
      UpdateExpression:
        'SET heldBy = :owner, heldUntil = :until, calls = :calls, callMs = :callMs, formerCalls = :formerCalls, turn = :next REMOVE woken, pause',
      ConditionExpression: `attribute_exists(pk) AND ${condition}`,
      ExpressionAttributeValues: {
        ':owner': lease.owner,
        ':until': lease.until,
        ':calls': lease.calls,
        ':callMs': lease.timeoutMs,
        ':formerCalls': formerCalls,
        ':next': seen.turn + 1,
        ...(seen.lease && { ':seenBy': seen.lease.owner, ':seenUntil': seen.lease.until }),
        ...(seen.lease === undefined && seen.turn > 0 && { ':turn': seen.turn }),
      },
    });
    return taken.done;
  }

  async renew(
    of: ConsumerReference,
    lease: Lease,
    { fault, pause }: Trouble,
  ): Promise<ConsumerState | undefined> {
    const sets = ['heldUntil = :until', 'calls = :calls', 'callMs = :callMs'];
    if (fault !== undefined) sets.push('fault = :fault');
    if (pause !== undefined) sets.push('pause = :pause');
    const removed = [...(fault ? [] : ['fault']), ...(pause ? [] : ['pause'])];
    const renewed = await this.#update(of, {
      UpdateExpression: `SET ${sets.join(', ')}${removed.length === 0 ? '' : ` REMOVE ${removed.join(', ')}`}`,
      // A late copy of an earlier renewal has an earlier end.
      ConditionExpression: 'heldBy = :owner AND heldUntil <= :until',
      ExpressionAttributeValues: {
        ':owner': lease.owner,
        ':until': lease.until,
        ':calls': lease.calls,
        ':callMs': lease.timeoutMs,
        ...(fault && { ':fault': fault }),
        ...(pause && { ':pause': pause }),
      },
      ReturnValues: 'ALL_NEW',
    });
    return renewed.document && stateOf(renewed.document);
  }

  async release(
    of: ConsumerReference,
    { owner, until }: Pick<Lease, 'owner' | 'until'>,
    { formerCalls, ...kept }: Released,
  ): Promise<'released' | 'woken' | 'lost'> {
    const set = Object.entries(kept).flatMap(([name, value]) => (value ? [[name, value]] : []));
    const sets = [
      ...set.map(([name]) => `${name} = :${name}`),
      ...(formerCalls === undefined ? [] : ['formerCalls.#owner = :formerCalls']),
    ];
    const removed = ['heldBy', 'heldUntil', 'calls', 'callMs'];
    if (kept.fault === undefined) removed.push('fault');
    if (kept.pause === undefined) removed.push('pause');
    const released = await this.#update(of, {
      UpdateExpression: `${sets.length === 0 ? '' : `SET ${sets.join(', ')} `}REMOVE ${removed.join(', ')}`,
      ConditionExpression: 'heldBy = :owner AND heldUntil = :until AND attribute_not_exists(woken)',
      ...(formerCalls && { ExpressionAttributeNames: { '#owner': owner } }),
      ExpressionAttributeValues: {
        ':owner': owner,
        ':until': until,
        ...Object.fromEntries(set.map(([name, value]) => [`:${name}`, value])),
        ...(formerCalls && { ':formerCalls': formerCalls }),
      },
    });
    if (released.done) return 'released';
    const goesOn = await this.#update(of, {
      // With another end, so that no late copy of these two writes has an effect.
      UpdateExpression: 'SET heldUntil = :later REMOVE woken',
      ConditionExpression: 'heldBy = :owner AND heldUntil = :until',
      ExpressionAttributeValues: { ':owner': owner, ':until': until, ':later': until + 1 },
    });
    return goesOn.done ? 'woken' : 'lost';
  }

  async endFormerCalls(of: ConsumerReference, owner: string): Promise<void> {
    await this.#update(of, {
      UpdateExpression: 'REMOVE formerCalls.#owner',
      ConditionExpression: 'attribute_exists(formerCalls.#owner)',
      ExpressionAttributeNames: { '#owner': owner },
    });
  }

  async markWoken(of: ConsumerReference, owner: string): Promise<boolean> {
    const marked = await this.#update(of, {
      UpdateExpression: 'SET woken = :true',
      ConditionExpression: 'heldBy = :owner',
      ExpressionAttributeValues: { ':owner': owner, ':true': true },
    });
    return marked.done;
  }

  #update(of: ConsumerReference, update: Update) {
    return this.#table.update(this.#keyOf(of), update);
  }

  #keyOf({ entityId, consumer }: ConsumerReference): ItemKey {
    return { pk: consumerStatesOf(this.#namespace, entityId), sk: consumer };
  }
}

function stateOf(document: Document): ConsumerState {
  const { heldBy, heldUntil, calls, callMs, turn, formerCalls, woken, pause, rate, fault } =
    document;
  return {
    ...(heldBy === undefined
      ? {}
      : {
          lease: {
            owner: String(heldBy),
            until: Number(heldUntil ?? 0),
            calls: Number(calls ?? 0),
            timeoutMs: Number(callMs ?? 0),
          },
        }),
    turn: Number(turn ?? 0),
    formerCalls: (formerCalls ?? {}) as ConsumerState['formerCalls'],
    isWoken: woken === true,
    ...(pause === undefined ? {} : { pause: pause as Pause }),
    ...(rate === undefined ? {} : { rate: rate as NonNullable<ConsumerState['rate']> }),
    ...(fault === undefined ? {} : { fault: fault as ConsumerFault }),
  };
}
