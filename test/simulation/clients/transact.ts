import { createHash } from 'node:crypto';
import type { TransactionOperation } from '../../../shared/broker/broker.ts';
import type { Actor } from './actor.ts';
import type { Held } from './client-state.ts';
import { type ActionOf, broker, type Operations, type Prepared, pathOf } from './operations.ts';
import { actionOf, chooseHeld, recordSettled } from './settle.ts';
import { toMessage } from './wire.ts';

/** Transactions. */
export const transactOperations: Operations<'transact'> = { transact };

function transact(client: Actor, action: ActionOf<'transact'>): Prepared | undefined {
  const { from, how, sends, identity } = action;
  const chosen =
    from === undefined ? [] : ofOnePartition(chooseHeld(client, from, 'oldest', action.count));
  if (chosen.length === 0 && sends.length === 0) return undefined;
  const { deferred } = client.context.registry.of(from ?? '');
  return {
    run: async (composition) => {
      const now = composition.dependencies.clock.now();
      const settlements = chosen.map(
        ({ delivery, session }): TransactionOperation => ({
          kind: 'settle',
          path: pathOf(from ?? ''),
          settlement: {
            lockToken: delivery.lockToken ?? '',
            action: actionOf(how, undefined, false),
          },
          ...(session === undefined ? {} : { sessionId: session.sessionId }),
        }),
      );
      const sendings = sends.map(
        ({ to, messages }): TransactionOperation => ({
          kind: 'send',
          path: pathOf(to),
          messages: messages.map((message) => toMessage(message, now)),
        }),
      );
      const outcomes = await broker(composition).transact({
        operations: [...settlements, ...sendings],
        ...(identity === undefined
          ? {}
          : { identity: { id: identity, fingerprint: fingerprintOf(action, chosen) } }),
      });
      const numbers = new Map<string, bigint>();
      for (const [i, { messages }] of sends.entries()) {
        const outcome = outcomes[settlements.length + i];
        if (outcome?.kind !== 'sent') continue;
        for (const [place, { tag }] of messages.entries()) {
          const number = outcome.sequenceNumbers[place];
          if (number !== undefined) numbers.set(tag, number);
        }
      }
      return {
        numbers,
        settled: chosen.map(({ delivery }) => ({ delivery, how, outcome: 'done' as const })),
      };
    },
    record: (result) =>
      recordSettled(client, { from: from ?? '', deferred }, chosen, result, { how }),
  };
}

/** The messages of one partition, because a transaction stays within one. */
function ofOnePartition(held: readonly Held[]): readonly Held[] {
  const partition = (held[0]?.delivery.sequenceNumber ?? 0n) >> 48n;
  return held.filter(({ delivery }) => delivery.sequenceNumber >> 48n === partition);
}

function fingerprintOf(action: ActionOf<'transact'>, chosen: readonly Held[]): string {
  const tokens = chosen.map(({ delivery }) => delivery.lockToken);
  return createHash('sha256')
    .update(JSON.stringify([action, tokens]))
    .digest('hex');
}
