import { fieldOf } from '../../client/client-errors.ts';
import { BoundedMap } from '../../shared/domain/bounded-map.ts';
import { BrokerError, type BrokerErrorCode } from '../../shared/domain/broker-error.ts';
import {
  type AccessRight,
  type EntityDescription,
  QUEUE_DEFAULTS,
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../shared/domain/entities/descriptions.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { type EntityPath, parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { present } from '../../shared/domain/present.ts';
import type { Scheduler } from '../../shared/domain/scheduler.ts';
import type { Calls } from './calls/caller.ts';
import { SUCCESS } from './calls/success.ts';
import { pathText, queueKey } from './format/paths.ts';

/** How long an entity, and a right to it, is known. Every operation is checked by the service itself. */
const KNOWN_MS = 60_000;
/** The same when a link is attached: its entity may have been made anew with other settings. */
const KNOWN_TO_LINKS_MS = 5_000;
const KNOWN_MAX = 1000;

/** The addresses that describe an entity, by the right that each requires. */
const ADDRESSES = { Send: 'messages/$sender', Listen: 'messages/$receiver' } as const;
type LinkRight = keyof typeof ADDRESSES;

/** Why one of the addresses may refuse where the other one answers. */
const ELSEWHERE: ReadonlySet<BrokerErrorCode> = new Set([
  'Unauthenticated',
  'Forbidden',
  'InvalidOperation',
]);

/** The statuses in which a receiver gets nothing. */
const DISABLED: ReadonlySet<unknown> = new Set(['Disabled', 'ReceiveDisabled']);

interface Known {
  readonly entity: Promise<Entity>;
  /** When it was asked for, monotonic ms. */
  readonly at: number;
  /** Whether it gave receivers nothing. */
  hinders?: boolean;
}

/** What this process knows of the entities of a namespace, and of its own rights to them. */
export class RemoteEntities {
  readonly #caller: Calls;
  readonly #scheduler: Scheduler;
  /** By queue and right. */
  readonly #known = new BoundedMap<string, Known>(KNOWN_MAX);

  constructor(caller: Calls, scheduler: Scheduler) {
    this.#caller = caller;
    this.#scheduler = scheduler;
  }

  /**
   * The entity of a key, at most a minute old, with what clients need of it. What was told to a receiver goes first: it
   * has what hinders receivers, too. Throws Unauthenticated.
   */
  async find(key: string): Promise<Entity | undefined> {
    const path = parseEntityPath(key);
    const rights = (['Listen', 'Send'] as const).toSorted(
      (a, b) => Number(this.#isKnown(path, b)) - Number(this.#isKnown(path, a)),
    );
    let refused: unknown;
    for (const right of rights) {
      try {
        return await this.#look(path, right);
      } catch (error) {
        if (!(error instanceof BrokerError)) throw error;
        if (error.code === 'MessagingEntityNotFound') return undefined;
        if (!ELSEWHERE.has(error.code)) throw error;
        refused ??= error;
      }
    }
    throw refused;
  }

  /** A queue or topic to send to, as `find`. Throws MessagingEntityNotFound, InvalidOperation, Unauthenticated. */
  destination(path: EntityPath): Promise<Entity> {
    return this.#look(path, 'Send');
  }

  /** Requires the right to send or to listen. Throws Unauthenticated, MessagingEntityNotFound, InvalidOperation. */
  async require(path: EntityPath, rights: readonly AccessRight[]): Promise<void> {
    if (rights.includes('Send')) await this.#look(path, 'Send', KNOWN_TO_LINKS_MS);
    // The dead-letter queue has the right and the hindrances of its entity, by whose key `find` looks.
    const entity = parseEntityPath(path.key);
    if (!rights.includes('Listen')) return;
    // A receiver that was refused attaches again when nothing hinders it any more.
    if (this.#known.get(knownKey(entity, 'Listen'))?.hinders) this.forget(entity);
    await this.#look(entity, 'Listen', KNOWN_TO_LINKS_MS);
  }

  /** The service refused what this process took for right: the entity may have been made anew. */
  forget(path: EntityPath): void {
    this.#known.delete(knownKey(path, 'Send'));
    this.#known.delete(knownKey(path, 'Listen'));
  }

  #isKnown(path: EntityPath, right: LinkRight): boolean {
    const { at } = this.#known.get(knownKey(path, right)) ?? {};
    return at !== undefined && this.#scheduler.now() < at + KNOWN_MS;
  }

  async #look(path: EntityPath, right: LinkRight, knownMs = KNOWN_MS): Promise<Entity> {
    const key = knownKey(path, right);
    const known = this.#known.get(key);
    const now = this.#scheduler.now();
    if (known !== undefined && now < known.at + knownMs) return await known.entity;
    const asked: Known = { entity: this.#read(path, right), at: now };
    this.#known.set(key, asked);
    try {
      const entity = await asked.entity;
      asked.hinders = hinders(entity);
      return entity;
    } catch (error) {
      this.#known.delete(key);
      throw error;
    }
  }

  async #read(path: EntityPath, right: LinkRight): Promise<Entity> {
    const address = `${pathText(path)}/${ADDRESSES[right]}`;
    try {
      const call = {
        method: 'GET',
        path: address,
        isRepeatable: true,
        success: SUCCESS.json,
      } as const;
      return entityOf(path, JSON.parse((await this.#caller.call(call)).text));
    } catch (error) {
      if (!(error instanceof BrokerError)) throw error;
      const said = withoutAddress(error.message);
      // A deployment that does not know the address takes it for the name of an entity.
      if (error.code === 'ArgumentError' && said !== error.message) throw olderDeployment(error);
      throw error.withMessage(said);
    }
  }
}

/** A sentence about an entity, not about the address that describes it. */
function withoutAddress(message: string): string {
  return message.replace(/\/messages\/\$(?:sender|receiver)/i, '');
}

function olderDeployment(cause: BrokerError): BrokerError {
  return new BrokerError(
    'NotSupported',
    'The deployment cannot tell what a client must know of an entity: deploy at least this version of dynabus.',
    { cause },
  );
}

function knownKey(path: EntityPath, right: LinkRight): string {
  return `${queueKey(path)} ${right}`;
}

/** An entity with the settings that an answer names, and defaults for the others. */
function entityOf({ key, name }: EntityPath, json: unknown): Entity {
  const kind = fieldOf(json, 'kind');
  const partitions = fieldOf(json, 'partitions');
  return {
    id: key,
    key,
    name,
    epoch: 0,
    generations: { main: 0, deadLetter: 0, transferDeadLetter: 0 },
    createdAt: 0,
    updatedAt: 0,
    ...(typeof partitions === 'number' && { partitions }),
    description: described(kind, json),
  };
}

function described(kind: unknown, json: unknown): EntityDescription {
  const requiresSession = fieldOf(json, 'requiresSession') === true;
  const delivery = { requiresSession, ...hindrances(json) };
  if (kind === 'subscription') return { ...SUBSCRIPTION_DEFAULTS, ...delivery };
  const ingress = {
    maxMessageSizeInKilobytes: Number(fieldOf(json, 'maxMessageSizeInKilobytes')),
    requiresDuplicateDetection: fieldOf(json, 'requiresDuplicateDetection') === true,
  };
  if (kind === 'queue') return { ...QUEUE_DEFAULTS, ...ingress, ...delivery };
  if (kind !== 'topic') throw new Error(`An answer has the unknown kind of entity '${kind}'.`);
  const filteringMessagesBeforePublishing =
    fieldOf(json, 'filteringMessagesBeforePublishing') === true;
  return { ...TOPIC_DEFAULTS, ...ingress, filteringMessagesBeforePublishing };
}

/** Whether receivers of an entity, or of its dead letters, get nothing. */
function hinders({ description }: Entity): boolean {
  if (description.kind === 'topic') return false;
  const { status, forwardTo, forwardDeadLetteredMessagesTo } = description;
  return status !== 'Active' || (forwardTo ?? forwardDeadLetteredMessagesTo) !== undefined;
}

/** What keeps a receiver from getting messages. An older deployment does not tell it. */
function hindrances(json: unknown) {
  const isDisabled = DISABLED.has(fieldOf(json, 'status'));
  const disabled = isDisabled ? ({ status: 'ReceiveDisabled' } as const) : {};
  const forwardTo = textOf(json, 'forwardTo');
  const forwardDeadLetteredMessagesTo = textOf(json, 'forwardDeadLetteredMessagesTo');
  return { ...disabled, ...present({ forwardTo, forwardDeadLetteredMessagesTo }) };
}

function textOf(json: unknown, name: string): string | undefined {
  const value = fieldOf(json, name);
  return typeof value === 'string' ? value : undefined;
}
