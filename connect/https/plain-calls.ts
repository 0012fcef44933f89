import type { AmqpBroker } from '../../amqp/service/dependencies.ts';
import { fieldOf } from '../../client/client-errors.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import { type Calls, JSON_BODY } from './calls/caller.ts';
import { SUCCESS } from './calls/success.ts';
import { EXACT_ACCEPT, readExact } from './format/exact-batch.ts';
import { pathText } from './format/paths.ts';

/** The operations that share no request with others, over HTTP. See `Broker` for each. */
export function plainCalls(
  caller: Calls,
): Pick<AmqpBroker, 'cancelScheduled' | 'peek' | 'receiveDeferred' | 'deleteMessages'> {
  return {
    cancelScheduled: async (path, sequenceNumbers) => {
      requirePositive(sequenceNumbers);
      const body = printNumbers(sequenceNumbers);
      const target = `${pathText(path)}/messages/$cancelScheduled`;
      const call = { method: 'POST', path: target, headers: JSON_BODY, body } as const;
      await caller.call({ ...call, isRepeatable: false, success: SUCCESS.done });
    },
    peek: async (path, { sessionId, fromSequenceNumber, maxMessages }) => {
      const { bytes } = await caller.call({
        method: 'GET',
        path: `${pathText(path)}/messages`,
        query: { sessionId, fromSequenceNumber: atLeastZero(fromSequenceNumber), maxMessages },
        headers: { Accept: EXACT_ACCEPT },
        success: SUCCESS.exact,
        isRepeatable: true,
      });
      return readExact(bytes).messages;
    },
    receiveDeferred: async (path, { mode, sequenceNumbers, session }) => {
      requirePositive(sequenceNumbers);
      const { bytes } = await caller.call({
        method: 'POST',
        path: `${pathText(path)}/messages/$deferred`,
        query: { sessionId: session?.sessionId, sessionLock: session?.lockToken },
        headers: { ...JSON_BODY, Accept: EXACT_ACCEPT },
        body: printNumbers(sequenceNumbers, `,"mode":"${mode}"`),
        success: SUCCESS.exact,
        isRepeatable: false,
      });
      return readExact(bytes).messages;
    },
    deleteMessages: async (path, { maxMessages, before, sessionId }) => {
      const instant = Math.max(YEAR_0, Math.min(before, LIMITS.instantMax));
      const enqueuedBefore = new Date(instant).toISOString();
      const { text } = await caller.call({
        method: 'POST',
        path: `${pathText(path)}/messages/$delete`,
        query: { sessionId },
        headers: JSON_BODY,
        body: JSON.stringify({ maxMessages, enqueuedBefore }),
        success: SUCCESS.json,
        isRepeatable: false,
      });
      return Number(fieldOf(JSON.parse(text), 'deleted'));
    },
  };
}

/** The first instant that the HTTP interface takes. */
const YEAR_0 = Date.parse('0000-01-01T00:00:00Z');

/** Each number once, as the HTTP interface wants them; JSON.stringify knows no bigint. */
function printNumbers(sequenceNumbers: readonly bigint[], more = ''): string {
  return `{"sequenceNumbers":[${[...new Set(sequenceNumbers)].join(',')}]${more}}`;
}

/** Throws MessageNotFound for a number that no message has, and that the HTTP interface takes for a wrong request. */
function requirePositive(sequenceNumbers: readonly bigint[]): void {
  const [negative] = sequenceNumbers.filter((number) => number < 0n);
  if (negative === undefined) return;
  throw new BrokerError('MessageNotFound', `No message has the sequence number ${negative}.`);
}

const atLeastZero = (number: bigint | undefined) =>
  number !== undefined && number < 0n ? 0n : number;
