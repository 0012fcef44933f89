import { isTransient } from '../domain/broker-error.ts';
import { requiresSession } from '../domain/entities/entity.ts';
import { resultOf } from '../domain/result-of.ts';
import { pause } from '../domain/scheduler.ts';
import { inParallel } from '../domain/turns/in-parallel.ts';
import { type Current, currentOf, isOver } from './current-consumer.ts';
import { ConsumerLease } from './lease.ts';
import type { ConsumerReference, ConsumerState, RateLeft } from './ports.ts';
import { PUSH } from './push-limits.ts';
import { pushMessages } from './push-messages.ts';
import { pushSessions } from './push-sessions.ts';
import { type Ending, Tenure } from './tenure.ts';
import { wakeConsumer } from './wake-consumer.ts';
import type { WorkerDependencies, WorkerTime } from './worker-dependencies.ts';

/**
 * Why a run of a worker ended; `held` = another worker owns the consumer, and looks again before it ends; `failed` =
 * an error of its own, which was reported.
 */
export type RunEnd = Ending | 'held' | 'failed';

/**
 * One run of a worker for a consumer: it takes the lease, pushes messages until none is left or its time is over, and
 * gives the lease back. Every step may be the last one: then locks and the lease end by themselves. A run that finds
 * nothing costs two read units, those of its look, and two write units. Throws ServiceBusy and ServiceTimeout before it
 * owns the consumer.
 */
export async function runWorker(
  dependencies: WorkerDependencies,
  of: ConsumerReference,
  time: WorkerTime,
): Promise<RunEnd> {
  for (let tries = 0; tries < PUSH.wakeTriesMax; tries++) {
    const woken = await wakeConsumer(dependencies.states, dependencies.clock, of);
    if (woken.kind === 'gone') return 'stopped';
    if (woken.kind !== 'start') return woken.kind;
    const { state: seen } = woken;
    // The entity as it is now: another process may have just added the consumer.
    const current = currentOf(await dependencies.entities.read(of.entityKey), of);
    if (current === undefined || !current.consumer.enabled) return 'stopped';
    const owner = ownerName(dependencies);
    const lease = await ConsumerLease.take(dependencies, of, owner, seen, current.consumer);
    if (lease === undefined) continue;
    const now = dependencies.clock.now();
    const rate = rateLeft(seen, current, now);
    const tenure = new Tenure(dependencies, of, lease, { time, rate });
    if (seen.pause !== undefined) tenure.setPause(seen.pause);
    // The worker before has crashed, and may have left messages locked.
    if (seen.lease !== undefined) tenure.expectLockEnds(current, Math.min(seen.lease.until, now));
    return await work(dependencies, tenure, current);
  }
  return 'held';
}

const OWNER_BYTES = 9;

function ownerName({ random }: WorkerDependencies): string {
  return Buffer.from(random.bytes(OWNER_BYTES)).toString('base64url');
}

/** What a worker may push at once: what the one before has left, which has grown since. */
function rateLeft({ rate }: ConsumerState, { consumer }: Current, now: number): RateLeft {
  return rate ?? { messages: consumer.maxPerSecond ?? 0, at: now };
}

async function work(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  current: Current,
): Promise<RunEnd> {
  const { lease } = tenure;
  try {
    for (;;) {
      const ending = await pushUntilEnd(dependencies, tenure, current);
      if (ending === 'stopped' && (await untilEnabled(tenure))) continue;
      // The consumer may have been made anew, so that nobody owns it.
      if (lease.isLost && tenure.tasks > 0) {
        await dependencies.startAnother(tenure.of).catch(dependencies.reportFault);
      }
      // Calls under way go on while another worker takes over; otherwise they may bring new work.
      if (ending !== 'over') await tenure.untilDone();
      if (await handBack(dependencies, tenure, current, ending)) return ending;
    }
  } catch (error) {
    // The lease ends by itself; then another worker may start.
    dependencies.reportFault(error);
    return 'failed';
  } finally {
    if (!lease.isLost) lease.abandon();
    tenure.end();
  }
}

/** Pushes until the worker must end. A busy database delays it; another error ends it with a pause. */
async function pushUntilEnd(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  { entity, consumer }: Current,
): Promise<Ending> {
  // Messages of dead-letter queues are in no session.
  const inSessions = consumer.subQueue === 'main' && requiresSession(entity);
  for (;;) {
    try {
      return await (inSessions ? pushSessions : pushMessages)(dependencies, tenure);
    } catch (error) {
      // Nothing is received before an update of the entity, which wakes its consumers.
      if (isOver(error)) return 'stopped';
      tenure.failed(error instanceof Error ? error.message : String(error));
      if (!isTransient(error)) {
        dependencies.reportFault(error);
        tenure.setPause({ until: dependencies.clock.now() + PUSH.faultMs, tries: 0 });
        return 'paused';
      }
      // Messages may be locked of which no answer told.
      tenure.expectLockEnds({ entity });
      await pause(dependencies.scheduler, PUSH.busyMs);
    }
  }
}

/**
 * Waits until a consumer that is disabled, or whose entity is, may be enabled again: a call under way may take long,
 * and nobody else pushes meanwhile. False = no call is under way, or the worker must end.
 */
async function untilEnabled(tenure: Tenure): Promise<boolean> {
  while (tenure.tasks > 0 && !tenure.lease.isLost && !tenure.signal.aborted) {
    await tenure.changes.next(PUSH.stoppedMs);
    const current = await resultOf(tenure.current());
    if ('value' in current && current.value?.consumer.enabled === true) return true;
  }
  return false;
}

/** Gives the lease back. False = something arrived, and the worker goes on. */
async function handBack(
  dependencies: WorkerDependencies,
  tenure: Tenure,
  { entity }: Current,
  ending: Ending,
): Promise<boolean> {
  const { lease, of, expected, rate } = tenure;
  if (ending === 'lost' || lease.isLost) {
    await tenure.untilDone();
    // Whoever has taken over counts these calls until their time is over.
    if (tenure.tasks === 0) await lease.callsEnded();
    return true;
  }
  const { pause: paused } = lease;
  const instants = expected.all(dependencies.clock.now());
  const reminders = [...instants, ...(paused === undefined ? [] : [paused.until])];
  await inParallel(reminders, PUSH.remindWidth, (at) =>
    dependencies.remind(entity, at + PUSH.remindLateMs),
  );
  const isLast = ending !== 'idle' && ending !== 'stopped';
  let ended = await lease.release(rate.left);
  if (ended === 'woken' && isLast) ended = await lease.release(rate.left);
  if (ended === 'woken') {
    // The consumer may have been enabled again, which this process need not know yet.
    dependencies.entities.forget(of.entityKey);
    return false;
  }
  if (ending === 'over') await dependencies.startAnother(of);
  if (tenure.tasks > 0 && ending === 'over') {
    await tenure.untilDone();
    await lease.callsEnded();
  }
  return true;
}
