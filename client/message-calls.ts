import { fieldOf } from './client-errors.ts';
import type { ClientPath } from './entity-path.ts';
import { elementsOf } from './json-text.ts';
import { type ClientMessage, readMessage } from './message.ts';
import type { NamespaceClient } from './namespace-client.ts';

/** The calls on messages. All throw RefusalError and UnreachableError. */

const BATCH = { 'Content-Type': 'application/vnd.microsoft.servicebus.json' } as const;
const JSON_BODY = { 'Content-Type': 'application/json' } as const;

/** The most messages of one answer of a peek. */
export const PEEK_MAX = 250;
/** The most messages of one receive, and settlements of one call. */
export const RECEIVE_MAX = 1000;
/** The most ids of sessions in one answer. */
const SESSIONS_MAX = 1000;

/** Sends messages, each given as JSON text, in one batch: all are stored or none. */
export async function sendBatch(
  client: NamespaceClient,
  { entity }: ClientPath,
  messages: readonly string[],
): Promise<void> {
  const path = `${entity}/messages`;
  await client.call({ method: 'POST', path, headers: BATCH, body: `[${messages.join(',')}]` });
}

/** Where and how far a peek looks. */
export interface PeekRequest {
  readonly from?: bigint | undefined;
  readonly maxMessages?: number;
  readonly sessionId?: string | undefined;
}

/** Shows the next messages, up to PEEK_MAX; none at the end. */
export async function peek(
  client: NamespaceClient,
  { text }: ClientPath,
  { from, maxMessages = PEEK_MAX, sessionId }: PeekRequest,
): Promise<readonly ClientMessage[]> {
  const query = { fromSequenceNumber: from, maxMessages, sessionId };
  const answer = await client.call({ method: 'GET', path: `${text}/messages`, query });
  return elementsOf(answer.text).map(readMessage);
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
  client: NamespaceClient,
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
  readonly outcome: 'complete' | 'abandon' | 'deadLetter';
  readonly deadLetterReason?: string;
}

/** Settles locked messages alike. Returns the sentence of each refusal, by lock token. */
export async function settle(
  client: NamespaceClient,
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
  client: NamespaceClient,
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
  client: NamespaceClient,
  { text }: ClientPath,
  { sessionId, sessionLock }: HeldSession,
): Promise<void> {
  const path = `${text}/sessions/$release`;
  await client.call({ method: 'POST', path, query: { sessionId, sessionLock } });
}

/** The ids of the sessions that have active messages. Reads one page of 1,000 after the other. */
export async function* listSessions(
  client: NamespaceClient,
  { text }: ClientPath,
): AsyncGenerator<string> {
  for (let skip = 0; ; skip += SESSIONS_MAX) {
    const query = { skip, top: SESSIONS_MAX };
    const answer = await client.call({ method: 'GET', path: `${text}/sessions/$list`, query });
    const ids = fieldOf(JSON.parse(answer.text), 'sessionIds');
    if (!Array.isArray(ids) || ids.length === 0) return;
    yield* ids.map(String);
    if (ids.length < SESSIONS_MAX) return;
  }
}

/** The most sequence numbers of one call. */
export const NUMBERS_MAX = 100;

/** Which dead letters to send again: the oldest, up to 1,000, or up to NUMBERS_MAX by their numbers. */
export type ResubmitRequest =
  | { readonly maxMessages: number }
  | { readonly sequenceNumbers: readonly bigint[] };

/** Sends dead letters to their main queue again. Returns how many. */
export async function resubmit(
  client: NamespaceClient,
  { text }: ClientPath,
  request: ResubmitRequest,
): Promise<number> {
  // JSON.stringify knows no bigint.
  const body =
    'maxMessages' in request
      ? JSON.stringify(request)
      : `{"sequenceNumbers":[${request.sequenceNumbers.join(',')}]}`;
  const answer = await client.call({
    method: 'POST',
    path: `${text}/messages/$resubmit`,
    headers: JSON_BODY,
    body,
  });
  return Number(fieldOf(JSON.parse(answer.text), 'resubmitted'));
}

/** Removes all messages of a queue, also locked, deferred and scheduled ones. */
export async function purge(client: NamespaceClient, { text }: ClientPath): Promise<void> {
  await client.call({ method: 'POST', path: `${text}/messages/$purge` });
}
