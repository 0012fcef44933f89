import type { SessionLock } from '../../shared/broker/broker.ts';
import {
  noSessionsHere,
  sessionLockLost,
  sessionRequired,
} from '../../shared/domain/blocks/session.ts';
import { BrokerError, entityNotFound } from '../../shared/domain/broker-error.ts';
import { requiresSession } from '../../shared/domain/entities/entity.ts';
import type { Timer } from '../../shared/domain/scheduler.ts';
import type { RuleProved } from '../authorization/authorization.ts';
import type { Acceptance } from '../endpoint/link.ts';
import type { OutgoingLink } from '../endpoint/outgoing-link.ts';
import type { Node } from '../service/address.ts';
import type { ClientContext } from '../service/context.ts';
import { mapError } from '../service/error-mapping.ts';
import {
  type AmqpValue,
  fieldsOf,
  long,
  mapOf,
  NULL,
  numberOf,
  str,
  symbol,
  textOf,
} from '../wire/value.ts';
import { Deliverer, LOST_LOCK_DETACH_MS, WAIT_ENDED } from './deliverer.ts';
import type { HeldSession } from './held-sessions.ts';
import { Settler } from './settler.ts';

const SESSION_FILTER = 'com.microsoft:session-filter';
const TIMEOUT = 'com.microsoft:timeout';
/** Their place in a source (part 3.5.3 of the standard). */
const FILTERS = 7;
/** How long the next session is waited for at most, and unless the client says. */
const ACCEPT_MS_MAX = 60_000;
/** .NET counts from the year 1, in steps of 100 ns. */
const TICKS_AT_EPOCH = 621_355_968_000_000_000n;

type EntityNode = Extract<Node, { readonly kind: 'entity' }>;

/** Answers a client that wants to receive from an entity. Throws what it is refused for. */
export async function openReceiver(
  context: ClientContext,
  link: OutgoingLink,
  node: EntityNode,
  proved: RuleProved,
): Promise<void> {
  const { dependencies, authorization } = context;
  await authorization.require(node.pathname, node.path, ['Listen'], proved);
  const entity = await dependencies.entities.find(node.path.key);
  if (entity === undefined) throw entityNotFound(node.path.name);
  if (entity.description.kind === 'topic') {
    throw new BrokerError(
      'InvalidOperation',
      `Messages of the topic '${node.path.name}' are received from its subscriptions.`,
    );
  }
  // The client went away meanwhile: the end of the link has been told, and is not told again.
  if (!link.isAttaching) return;
  const filter = sessionFilter(link);
  const needsSession = node.path.subQueue === 'main' && requiresSession(entity);
  if (needsSession && filter === undefined) throw sessionRequired();
  if (!needsSession && filter !== undefined) throw noSessionsHere();
  if (filter !== undefined) await openSession(context, link, node, filter);
  else openWithoutSession(context, link, node);
}

function openWithoutSession(context: ClientContext, link: OutgoingLink, node: EntityNode): void {
  if (!link.isAttaching) return;
  const deliverer = new Deliverer(context, { link, node });
  const settler = new Settler(context, link, node);
  link.onDisposition((delivery, state) => settler.add(delivery, state));
  link.onEnd(() => deliverer.stop());
  link.accept(withFilters(link, undefined));
  deliverer.start();
}

/** What a client asks for: an id, or null for whichever session comes next. */
function sessionFilter({ attach: { source } }: OutgoingLink): AmqpValue | undefined {
  const filters = fieldsOf(
    source?.type === 'described' ? listOf(source.value)[FILTERS] : undefined,
  );
  return filters.get(SESSION_FILTER);
}

/** The same with an id in it. The standard's form of a filter has a descriptor; some clients' has none. */
function withSession(filter: AmqpValue, sessionId: string): AmqpValue {
  return filter.type === 'described' ? { ...filter, value: str(sessionId) } : str(sessionId);
}

function listOf(value: AmqpValue): readonly AmqpValue[] {
  return value.type === 'list' ? value.value : [];
}

async function openSession(
  context: ClientContext,
  link: OutgoingLink,
  node: EntityNode,
  filter: AmqpValue,
): Promise<void> {
  const { authorization, endTurns, dependencies, sessions, shutdown, workSlots } = context;
  const sessionId = textOf(filter.type === 'described' ? filter.value : filter);
  const wait = new AbortController();
  const endWait = () => wait.abort(WAIT_ENDED);
  link.onEnd(() => void endTurns.next().then(endWait));
  const stopListening = shutdown.onBegin(endWait);
  const timeoutMs = numberOf(fieldsOf(link.attach.properties).get(TIMEOUT));
  const slot = workSlots.slot();
  const accepting = dependencies.broker.acceptSession(node.path, {
    ...(sessionId === undefined ? {} : { sessionId }),
    waitMs: Math.min(timeoutMs ?? ACCEPT_MS_MAX, ACCEPT_MS_MAX),
    signal: wait.signal,
    admit: () => slot.take(),
    onWait: () => slot.release(),
  });
  const lock = await accepting.finally(() => {
    slot.release();
    stopListening();
  });
  // Nobody is told that there is none: the end of the connection has the client ask elsewhere.
  if (lock === undefined && shutdown.hasBegun) return;
  if (lock === undefined) {
    throw new BrokerError(
      'ServiceTimeout',
      'The wait for the next session is over: there is none.',
    );
  }
  // The right may have ended during the wait.
  await authorization
    .require(node.pathname, node.path, ['Listen'])
    .catch(async (error: unknown) => {
      await dependencies.broker.releaseSession(node.path, lock);
      throw error;
    });
  // The client went away while its session was found: nobody will ever give it back.
  if (!link.isAttaching) {
    await dependencies.broker.releaseSession(node.path, lock);
    return;
  }
  const held: HeldSession = { linkName: link.name, lock, renewed: () => {} };
  const stopWatch = watchLock(context, link, node, held);
  const deliverer = new Deliverer(context, { link, node, session: lock });
  const settler = new Settler(context, link, node, lock.sessionId);
  link.onDisposition((delivery, state) => settler.add(delivery, state));
  sessions.add(node.path, held);
  link.onEnd(() => {
    stopWatch();
    deliverer.stop();
    sessions.remove(node.path, held);
    return releaseSession(context, node, held.lock);
  });
  link.accept(sessionAcceptance(link, filter, lock));
  deliverer.start();
}

/**
 * Who ended the link hears back once the session is free: the next one may be accepted at once. What
 * was settled before needs the session's lock still.
 */
function releaseSession(
  { dependencies, background, settlements, workSlots }: ClientContext,
  node: EntityNode,
  lock: SessionLock,
): Promise<void> {
  return new Promise((resolve) => {
    background(async () => {
      try {
        await settlements.settled(node.path);
        await workSlots.run(() => dependencies.broker.releaseSession(node.path, lock));
      } catch (error) {
        // A lock that was lost is nothing to give back.
        if (!(error instanceof BrokerError)) throw error;
      } finally {
        resolve();
      }
    });
  });
}

/** Ends the link soon after the lock on its session has run out (semantics #93). Returns how to stop. */
function watchLock(
  { dependencies }: ClientContext,
  link: OutgoingLink,
  node: EntityNode,
  held: HeldSession,
): () => void {
  let timer: Timer | undefined;
  const check = () => {
    const leftMs = held.lock.lockedUntil + LOST_LOCK_DETACH_MS - dependencies.clock.now();
    if (leftMs > 0) timer = dependencies.scheduler.after(leftMs, check);
    else link.detach(mapError(dependencies, sessionLockLost(), node.path.name));
  };
  check();
  held.renewed = (lock) => {
    held.lock = lock;
  };
  return () => timer?.cancel();
}

/** Our attach names the session, and until when it is held. */
function sessionAcceptance(link: OutgoingLink, filter: AmqpValue, lock: SessionLock): Acceptance {
  const filters = mapOf({ [SESSION_FILTER]: withSession(filter, lock.sessionId) }, symbol);
  const lockedUntil = BigInt(lock.lockedUntil) * 10_000n + TICKS_AT_EPOCH;
  return {
    ...withFilters(link, filters),
    properties: mapOf({ 'com.microsoft:locked-until-utc': long(lockedUntil) }, symbol),
  };
}

/** The source as it was asked for, but with the filters that are in force (part 3.5.8 of the standard). */
function withFilters(
  { attach: { source } }: OutgoingLink,
  filters: AmqpValue | undefined,
): Acceptance {
  if (source?.type !== 'described') return {};
  const fields = [...listOf(source.value)];
  if (filters === undefined && fields.length <= FILTERS) return {};
  fields[FILTERS] = filters ?? NULL;
  return { source: { ...source, value: { type: 'list', value: fields } } };
}
