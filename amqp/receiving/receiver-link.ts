import type { SessionLock } from '../../shared/broker/broker.ts';
import {
  requireNotForwarding,
  requireQueueOrSubscription,
  requireReceivable,
} from '../../shared/broker/entity-lookup.ts';
import {
  sessionLockLost,
  sessionRequired,
  sessionsNotSupported,
} from '../../shared/domain/blocks/session.ts';
import {
  argumentError,
  BrokerError,
  entityNotFound,
  invalidOperation,
} from '../../shared/domain/broker-error.ts';
import { requiresSession } from '../../shared/domain/entities/entity.ts';
import type { Timer } from '../../shared/domain/scheduler.ts';
import type { OnAuthorized } from '../authorization/authorization.ts';
import type { Acceptance } from '../endpoint/link.ts';
import type { OutgoingLink } from '../endpoint/outgoing-link.ts';
import type { EntityNode } from '../service/address.ts';
import type { ClientContext } from '../service/context.ts';
import { lockEndShown } from '../service/dependencies.ts';
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
const NON_EXCLUSIVE_FILTER = 'com.microsoft:non-exclusive-session-filter';
const TIMEOUT = 'com.microsoft:timeout';
/** The position of filters in a source (part 3.5.3 of the standard). */
const FILTERS = 7;
/** The longest, and default, wait for the next available session (semantics W14, #89). */
const ACCEPT_MS_MAX = 60_000;
/** The Unix epoch in .NET ticks: steps of 100 ns since the year 1. */
const TICKS_AT_EPOCH = 621_355_968_000_000_000n;

/**
 * Opens a link on which a client receives from an entity, and accepts its session if it asks for one; that may wait
 * up to a minute. Throws Unauthenticated, MessagingEntityNotFound, MessagingEntityDisabled, InvalidOperation for a
 * topic, an entity that forwards or a wrong use of sessions, ArgumentError for a filter that is no session id,
 * ServiceTimeout if no session becomes available, and what `acceptSession` of the broker throws.
 */
export async function openReceiver(
  context: ClientContext,
  link: OutgoingLink,
  node: EntityNode,
  onAuthorized: OnAuthorized,
): Promise<void> {
  await context.authorization.require(node.pathname, node.path, ['Listen'], onAuthorized);
  // Only now, since the right may have bound the connection to a namespace.
  const { dependencies } = context;
  const entity = await dependencies.entities.find(node.path.key);
  if (entity === undefined) throw entityNotFound(node.path.name);
  requireQueueOrSubscription(entity);
  requireReceivable(entity);
  requireNotForwarding(entity, node.path.subQueue);
  // If the client has detached meanwhile, the link has called its end listener already.
  if (!link.isAttaching) return;
  const filter = sessionFilter(link);
  const needsSession = node.path.subQueue === 'main' && requiresSession(entity);
  if (needsSession && filter === undefined) throw sessionRequired();
  if (!needsSession && filter !== undefined) throw sessionsNotSupported();
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

/**
 * Returns the session filter of a link: a session id, or null for the next available session. Throws
 * InvalidOperation, in the vendor's words, for the filter of a session that may be shared: by them the .NET client
 * knows that it is not offered (semantics W13).
 */
function sessionFilter({ attach: { source }, name }: OutgoingLink): AmqpValue | undefined {
  const filters = fieldsOf(
    source?.type === 'described' ? listOf(source.value)[FILTERS] : undefined,
  );
  if (filters.has(NON_EXCLUSIVE_FILTER)) {
    throw invalidOperation(
      `The link '${name}' contains invalid filter type. System only support Jms or Apache selector filter type.`,
    );
  }
  return filters.get(SESSION_FILTER);
}

/** Returns the session id of a filter; undefined for null, the next available session. Throws ArgumentError. */
function sessionNamedBy(filter: AmqpValue): string | undefined {
  const value = filter.type === 'described' ? filter.value : filter;
  const sessionId = textOf(value);
  if (sessionId === undefined && value.type !== 'null')
    throw argumentError(`The filter '${SESSION_FILTER}' must be a string or null.`);
  return sessionId;
}

/** Returns the filter with a session id. A standard filter has a descriptor; some clients send none. */
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
  const sessionId = sessionNamedBy(filter);
  const wait = new AbortController();
  const endWait = () => wait.abort(WAIT_ENDED);
  link.onEnd(() => void endTurns.next().then(endWait));
  const stopListening = shutdown.onBegin(endWait);
  const timeoutMs = numberOf(fieldsOf(link.attach.properties).get(TIMEOUT));
  // Some clients leave a session and accept it again without waiting for the answer to the first (semantics W14).
  const release = sessionId === undefined ? undefined : sessions.releaseOf(node.path, sessionId);
  if (release !== undefined) await Promise.race([release, aborted(wait.signal)]);
  const slot = workSlots.slot();
  const accepting = dependencies.broker.acceptSession(node.path, {
    sessionId,
    waitMs: Math.min(timeoutMs ?? ACCEPT_MS_MAX, ACCEPT_MS_MAX),
    signal: wait.signal,
    beforeAttempt: () => slot.take(),
    onWait: () => slot.release(),
  });
  const lock = await accepting.finally(() => {
    slot.release();
    stopListening();
  });
  // No refusal during a shutdown: the close of the connection makes the client try another process.
  if (lock === undefined && shutdown.hasBegun) return;
  if (lock === undefined) {
    throw new BrokerError('ServiceTimeout', 'No session became available within the timeout.');
  }
  // The right may have been revoked during the wait.
  await authorization
    .require(node.pathname, node.path, ['Listen'])
    .catch(async (error: unknown) => {
      await dependencies.broker.releaseSession(node.path, lock);
      throw error;
    });
  // The client detached while the session was accepted, so no end listener will release it.
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
    const release = releaseSession(context, node, held.lock);
    sessions.leave(node.path, lock.sessionId, release);
    return release;
  });
  link.accept(sessionAcceptance(context, link, filter, lock));
  deliverer.start();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * Releases the session lock of an ended link, after its settlements, which still need the lock. A peer that
 * detaches gets its answer after that, so that it can accept the session again at once.
 */
function releaseSession(
  { dependencies, background, settlements, workSlots }: ClientContext,
  node: EntityNode,
  lock: SessionLock,
): Promise<void> {
  return new Promise((resolve) => {
    background(async () => {
      try {
        await settlements.whenIdle(node.path);
        await workSlots.run(() => dependencies.broker.releaseSession(node.path, lock));
      } catch (error) {
        // A lost lock needs no release.
        if (!(error instanceof BrokerError)) throw error;
      } finally {
        resolve();
      }
    });
  });
}

/** Detaches the link soon after its session lock expires (semantics #93, W14). Returns a function to stop. */
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

/** Returns the fields of our attach: the session id, and the end of its lock (semantics W13). */
function sessionAcceptance(
  { dependencies }: ClientContext,
  link: OutgoingLink,
  filter: AmqpValue,
  lock: SessionLock,
): Acceptance {
  const filters = mapOf({ [SESSION_FILTER]: withSession(filter, lock.sessionId) }, symbol);
  const lockedUntil =
    BigInt(lockEndShown(dependencies, lock.lockedUntil)) * 10_000n + TICKS_AT_EPOCH;
  return {
    ...withFilters(link, filters),
    properties: mapOf({ 'com.microsoft:locked-until-utc': long(lockedUntil) }, symbol),
  };
}

/** Returns the source of the client's attach with the filters in force (semantics W13; part 3.5.8 of the standard). */
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
