import type { Caller } from './call.ts';
import { fieldOf, TooManySessionsError } from './client-errors.ts';
import type { ClientPath } from './entity-path.ts';
import { elementsOf, membersOf } from './json-text.ts';
import { type ClientMessage, readMessage } from './message.ts';

/** The calls on messages. All throw RefusalError and UnreachableError. */

const BATCH = { 'Content-Type': 'application/vnd.microsoft.servicebus.json' } as const;
const JSON_BODY = { 'Content-Type': 'application/json' } as const;

/** The most messages of one answer of a peek. */
export const PEEK_MAX = 250;
/** The most messages of one receive, and settlements of one call. */
export const RECEIVE_MAX = 1000;
/** The most ids of sessions in one answer. */
const SESSIONS_MAX = 1000;
/** The most ids of sessions that a listing keeps in memory, so that none comes twice. */
const SESSIONS_KNOWN_MAX = 200_000;
/** How often sessions are listed at most, where each time some have begun. */
const LISTINGS_MAX = 5;

/** Sends messages, each given as JSON text, in one batch: all are stored or none. */
export async function sendBatch(
  client: Caller,
  { entity }: ClientPath,
  messages: readonly string[],
  idempotencyKey?: string,
): Promise<void> {
  const path = `${entity}/messages`;
  const headers =
    idempotencyKey === undefined ? BATCH : { ...BATCH, 'Idempotency-Key': idempotencyKey };
  await client.call({ method: 'POST', path, headers, body: `[${messages.join(',')}]` });
}

/** Where and how far a peek looks. */
export interface PeekRequest {
  readonly from?: bigint | undefined;
  readonly maxMessages?: number;
  readonly sessionId?: string | undefined;
}

/** Shows the next messages, up to PEEK_MAX; none at the end. */
export async function peek(
  client: Caller,
  { text }: ClientPath,
  { from, maxMessages = PEEK_MAX, sessionId }: PeekRequest,
): Promise<readonly ClientMessage[]> {
  const query = { fromSequenceNumber: from, maxMessages, sessionId };
  const answer = await client.call({ method: 'GET', path: `${text}/messages`, query });
  return elementsOf(answer.text).map(readMessage);
}

/** Whether the messages of an entity are in sessions; those of its dead-letter queues never are. */
export async function hasSessions(
  client: Caller,
  { text, subQueue }: ClientPath,
): Promise<boolean> {
  if (subQueue !== 'main') return false;
  const answer = await client.call({ method: 'GET', path: `${text}/messages/$receiver` });
  return fieldOf(JSON.parse(answer.text), 'requiresSession') === true;
}

/** A session that this client holds. */
export interface HeldSession {
  readonly sessionId: string;
  readonly sessionLock: string;
}

/** How to receive. */
export interface ReceiveRequest {
  readonly maxMessages: number;
  /** The service waits whole seconds, so this is rounded. */
  readonly waitMs: number;
  /** Whether the service removes the messages as it hands them out. */
  readonly isDeleting: boolean;
  readonly session?: HeldSession | undefined;
}

/** Receives messages that are there, up to `maxMessages`, or waits for a first one. None: no message came. */
export async function receive(
  client: Caller,
  { text }: ClientPath,
  { maxMessages, waitMs, isDeleting, session }: ReceiveRequest,
): Promise<readonly ClientMessage[]> {
  const answer = await client.call({
    method: isDeleting ? 'DELETE' : 'POST',
    path: `${text}/messages/head`,
    query: { timeout: Math.round(waitMs / 1000), maxMessages, ...session },
    waitMs,
  });
  return answer.text === '' ? [] : elementsOf(answer.text).map(readMessage);
}

/** What becomes of a locked message. */
export interface Settlement {
  readonly outcome: 'complete' | 'abandon' | 'deadLetter' | 'defer';
  readonly deadLetterReason?: string;
  readonly deadLetterErrorDescription?: string;
}

/** Settles locked messages alike. Returns the sentence of each refusal, by lock token. */
export async function settle(
  client: Caller,
  { text }: ClientPath,
  lockTokens: readonly string[],
  settlement: Settlement,
  sessionId?: string,
): Promise<ReadonlyMap<string, string>> {
  const settlements = lockTokens.map((lockToken) => ({ lockToken, ...settlement }));
  const answer = await client.call({
    method: 'POST',
    path: `${text}/messages/$settle`,
    query: { sessionId },
    headers: JSON_BODY,
    body: JSON.stringify({ settlements }),
  });
  const outcomes = fieldOf(JSON.parse(answer.text), 'settlements');
  return new Map(
    (Array.isArray(outcomes) ? outcomes : []).flatMap((one: unknown) =>
      fieldOf(one, 'settled') === true
        ? []
        : [[String(fieldOf(one, 'lockToken')), String(fieldOf(fieldOf(one, 'error'), 'message'))]],
    ),
  );
}

/** Locks a session: the named one, or the next that has messages. Undefined: none came in time. */
export async function acceptSession(
  client: Caller,
  { text }: ClientPath,
  request: {
    readonly sessionId?: string | undefined;
    readonly waitMs: number;
  },
): Promise<HeldSession | undefined> {
  const { sessionId, waitMs } = request;
  const answer = await client.call({
    method: 'POST',
    path: `${text}/sessions/$accept`,
    query: { sessionId, timeout: Math.round(waitMs / 1000) },
    waitMs,
  });
  if (answer.text === '') return undefined;
  const json: unknown = JSON.parse(answer.text);
  return {
    sessionId: String(fieldOf(json, 'sessionId')),
    sessionLock: String(fieldOf(json, 'sessionLock')),
  };
}

/** Gives a session back. */
export async function releaseSession(
  client: Caller,
  { text }: ClientPath,
  { sessionId, sessionLock }: HeldSession,
): Promise<void> {
  const path = `${text}/sessions/$release`;
  await client.call({ method: 'POST', path, query: { sessionId, sessionLock } });
}

/**
 * The ids of the sessions that have active messages, each once; reads one page of 1,000 after the other. If a session
 * ends between two pages, those after it move forward and one of them may be on no page, so that sessions of several
 * pages are listed again, until nothing new comes. Throws TooManySessionsError, too.
 */
export async function* listSessions(client: Caller, path: ClientPath): AsyncGenerator<string> {
  const known = new Set<string>();
  for (let listing = 0; listing < LISTINGS_MAX; listing++) {
    const before = known.size;
    for (let skip = 0; ; skip += SESSIONS_MAX) {
      const ids = await sessionsPage(client, path, skip);
      for (const id of ids) {
        if (known.has(id)) continue;
        if (known.size >= SESSIONS_KNOWN_MAX) throw new TooManySessionsError(SESSIONS_KNOWN_MAX);
        known.add(id);
        yield id;
      }
      if (ids.length >= SESSIONS_MAX) continue;
      // One page is one answer, which misses none.
      if (skip === 0) return;
      break;
    }
    if (known.size === before) return;
  }
}

async function sessionsPage(
  client: Caller,
  { text }: ClientPath,
  skip: number,
): Promise<readonly string[]> {
  const query = { skip, top: SESSIONS_MAX };
  const answer = await client.call({ method: 'GET', path: `${text}/sessions/$list`, query });
  const ids = fieldOf(JSON.parse(answer.text), 'sessionIds');
  return Array.isArray(ids) ? ids.map(String) : [];
}

/** The most sequence numbers of one call. */
export const NUMBERS_MAX = 100;

/** Which dead letters to send again: the oldest, up to 1,000, or up to NUMBERS_MAX by their numbers. */
export type ResubmitRequest = {
  /** Another queue or topic than the one in which they were dead-lettered. */
  readonly to?: string | undefined;
} & ({ readonly maxMessages: number } | { readonly sequenceNumbers: readonly bigint[] });

/** Sends dead letters to their main queue again, or to another entity. Returns how many. */
export async function resubmit(
  client: Caller,
  { text }: ClientPath,
  request: ResubmitRequest,
): Promise<number> {
  const body =
    'maxMessages' in request
      ? JSON.stringify(request)
      : withNumbers({ to: request.to }, request.sequenceNumbers);
  const answer = await client.call({
    method: 'POST',
    path: `${text}/messages/$resubmit`,
    headers: JSON_BODY,
    body,
  });
  return Number(fieldOf(JSON.parse(answer.text), 'resubmitted'));
}

/** Removes all messages of a queue, also locked, deferred and scheduled ones. */
export async function purge(client: Caller, { text }: ClientPath): Promise<void> {
  await client.call({ method: 'POST', path: `${text}/messages/$purge` });
}

/** What an operator does with messages by their numbers. */
export type NumberedOperation = 'breakLock' | 'reactivate' | 'deadLetter' | 'delete';

/** Operates on up to NUMBERS_MAX messages. Returns the numbers of those that were changed. */
export async function operate(
  client: Caller,
  { text }: ClientPath,
  operation: NumberedOperation,
  request: {
    readonly sequenceNumbers: readonly bigint[];
    readonly sessionId?: string | undefined;
    /** Of `deadLetter`. */
    readonly deadLetterReason?: string;
    readonly deadLetterErrorDescription?: string;
  },
): Promise<ReadonlySet<bigint>> {
  const { sequenceNumbers, sessionId, ...options } = request;
  const answer = await client.call({
    method: 'POST',
    path: `${text}/messages/$${operation}`,
    query: { sessionId },
    headers: JSON_BODY,
    body: withNumbers(options, sequenceNumbers),
  });
  const outcomes = elementsOf(membersOf(answer.text).get('outcomes') ?? '[]').map(membersOf);
  return new Set(
    outcomes
      .filter((one) => one.get('done') === 'true')
      .map((one) => BigInt(one.get('sequenceNumber') ?? 0)),
  );
}

/** Cancels up to NUMBERS_MAX scheduled messages: all of them, or none. */
export async function cancelScheduled(
  client: Caller,
  { entity }: ClientPath,
  sequenceNumbers: readonly bigint[],
): Promise<void> {
  await client.call({
    method: 'POST',
    path: `${entity}/messages/$cancelScheduled`,
    headers: JSON_BODY,
    body: withNumbers({}, sequenceNumbers),
  });
}

/** JSON with sequence numbers, which JSON.stringify does not know. */
function withNumbers(request: object, numbers: readonly bigint[]): string {
  const rest = JSON.stringify(request).slice(1, -1);
  return `{${rest}${rest === '' ? '' : ','}"sequenceNumbers":[${numbers.join(',')}]}`;
}
