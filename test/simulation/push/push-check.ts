import type { Broker } from '../../../shared/broker/broker.ts';
import type { EntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { isPoison, type SimulatedTarget } from './push-target.ts';

/** What a run has done. */
interface Seen {
  readonly sessions: number;
  /** Messages whose sends were answered, by their ids, and when they may be pushed. */
  readonly sent: ReadonlyMap<string, number>;
  readonly lateMsMax: number | undefined;
  readonly target: SimulatedTarget;
}

/** Checks at the end of a run that every message was done, in order, or is a dead letter. */
export async function checkPush(
  broker: Broker,
  path: EntityPath,
  seen: Seen,
): Promise<readonly string[]> {
  const { target } = seen;
  const left = await messagesIn(broker, path, seen.sessions);
  const dead = await broker.peek({ ...path, subQueue: 'deadLetter' }, { maxMessages: 250 });
  const deadIds = new Set(dead.map(({ message }) => message.messageId));
  const { sent, lateMsMax = Number.POSITIVE_INFINITY } = seen;
  // One whose send has failed may be there, and only a daily walk would find it.
  const still = left.filter((id) => sent.has(id)).map((id) => `${id} is still there.`);
  const undone = [...sent].flatMap(([id, due]) => {
    if (isPoison(id) && target.done.has(id)) return [`${id} was done.`];
    const doneAt = isPoison(id) ? undefined : target.done.get(id);
    if (doneAt === undefined) return deadIds.has(id) ? [] : [`${id} was never done.`];
    const late = doneAt - due;
    return late > lateMsMax ? [`${id} was done ${late} ms late.`] : [];
  });
  const late = orderFaults(target, (id) => sent.has(id) && !deadIds.has(id));
  return [...still, ...undone, ...target.violations, ...late];
}

async function messagesIn(
  broker: Broker,
  path: EntityPath,
  sessions: number,
): Promise<readonly string[]> {
  const options = { maxMessages: 250 };
  const ids = Array.from({ length: sessions }, (_, i) => `s${i}`);
  const pages =
    sessions === 0
      ? [await broker.peek(path, options)]
      : await Promise.all(ids.map((sessionId) => broker.peek(path, { ...options, sessionId })));
  return pages.flat().map(({ message }) => message.messageId);
}

/**
 * Messages of a session that were first done before an earlier one of it. A send without an answer may store its
 * message later, at an earlier place, so only those that `counts` are compared.
 */
function orderFaults(
  { calls, done }: SimulatedTarget,
  counts: (id: string) => boolean,
): readonly string[] {
  const sessions = new Map<string, Set<string>>();
  for (const { sessionId, ids } of calls) {
    if (sessionId === undefined) continue;
    const known = sessions.get(sessionId) ?? new Set();
    sessions.set(sessionId, known);
    for (const id of ids) known.add(id);
  }
  const number = (id: string) => Number(id.replace(/\D+/, ''));
  const doneAt = (id: string) => done.get(id) ?? 0;
  return [...sessions.values()].flatMap((ids) => {
    const inTime = [...ids]
      .filter((id) => done.has(id) && counts(id))
      .sort((a, b) => doneAt(a) - doneAt(b) || number(a) - number(b));
    return inTime.flatMap((id, i) => {
      const before = inTime[i - 1];
      const isLate = before !== undefined && number(before) > number(id);
      return isLate ? [`${id} was done after ${before}.`] : [];
    });
  });
}
