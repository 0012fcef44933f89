import type { Settlement, SettlementAction } from '../../../shared/broker/broker.ts';
import { text } from '../../../shared/domain/messages/property-value.ts';
import type { Result } from '../machines/process.ts';
import {
  entityOf,
  isDeadLetterPath,
  type SettlementKind,
  type Which,
} from '../scenario/scenario.ts';
import type { Actor } from './actor.ts';
import { type Held, keep, type Numbered } from './client-state.ts';
import {
  type ActionOf,
  type Answer,
  answerOr,
  broker,
  type Operations,
  type Prepared,
  pathOf,
} from './operations.ts';
import type { ItemOutcome, SettledItem } from './record.ts';

/** Operations on the messages that a client holds. */
export const settleOperations: Operations<'settle' | 'renew'> = { settle, renew };

function settle(client: Actor, action: ActionOf<'settle'>): Prepared | undefined {
  const { from, count, delayMs } = action;
  const how = isDeadLetterPath(from) && action.how === 'deadLetter' ? 'complete' : action.how;
  const chosen = chooseHeld(client, from, action.which, count);
  const [first] = chosen;
  if (first === undefined) return undefined;
  const { session } = first;
  const delay = session === undefined && how === 'abandon' ? delayMs : undefined;
  const settlements = chosen.map(
    ({ delivery }): Settlement => ({
      lockToken: delivery.lockToken ?? '',
      action: actionOf(how, delay, action.changesProperties),
    }),
  );
  const kept = { how, ...(delay === undefined ? {} : { delayMs: delay }) };
  const { deferred } = client.context.registry.of(from);
  return {
    run: async (composition) => {
      const outcomes = await broker(composition).settle(
        pathOf(from),
        settlements,
        session?.sessionId,
      );
      return {
        settled: chosen.map(({ delivery }, i) => ({
          delivery,
          ...kept,
          ...outcomeOf(outcomes[i]?.refusal),
        })),
      };
    },
    record: (result) => recordSettled(client, { from, deferred }, chosen, result, kept),
  };
}

function renew(client: Actor, { from, which, count }: ActionOf<'renew'>): Prepared | undefined {
  const chosen = chooseHeld(client, from, which, count);
  const [first] = chosen;
  if (first === undefined || first.session !== undefined) return undefined;
  return {
    run: async (composition) => {
      const tokens = chosen.map(({ delivery }) => delivery.lockToken ?? '');
      const outcomes = await broker(composition).renewLocks(pathOf(from), tokens);
      return {
        settled: chosen.map(({ delivery }, i) => {
          const { refusal, lockedUntil } = outcomes[i] ?? {};
          const until = lockedUntil === undefined ? {} : { lockedUntil };
          return { delivery, how: 'renew' as const, ...until, ...outcomeOf(refusal) };
        }),
      };
    },
    record: (result) => answerOr(result, { settled: allOf(chosen, result, { how: 'renew' }) }),
  };
}

/** Some of the messages that a client holds, all of one session. */
export function chooseHeld(
  client: Actor,
  path: string,
  which: Which,
  count: number,
): readonly Held[] {
  const held = client.locks.held(path, which === 'spent');
  const ordered = which === 'oldest' ? held : [...held].reverse();
  const [first] = ordered;
  return ordered
    .filter(({ session }) => session?.lockToken === first?.session?.lockToken)
    .slice(0, count);
}

export function actionOf(
  how: SettlementKind,
  delayMs: number | undefined,
  changesProperties: boolean,
): SettlementAction {
  const properties = changesProperties ? { properties: { note: text('changed') } } : {};
  switch (how) {
    case 'complete':
      return { kind: how };
    case 'abandon':
      return { kind: how, ...properties, ...(delayMs === undefined ? {} : { delayMs }) };
    case 'defer':
      return { kind: how, ...properties };
    case 'deadLetter':
      return { kind: how, reason: 'asked for', ...properties };
  }
}

/** Records the outcome of each settlement, and updates the client's locks. */
export function recordSettled(
  client: Actor,
  { from, deferred }: { readonly from: string; readonly deferred: Numbered[] },
  chosen: readonly Held[],
  result: Result<Answer>,
  kept: Pick<SettledItem, 'how' | 'delayMs'>,
): Answer {
  const details = answerOr(result, { settled: allOf(chosen, result, kept) });
  for (const [i, one] of chosen.entries()) {
    const item = details.settled?.[i];
    if (item?.outcome !== 'done') {
      if (item?.code === 'MessageLockLost' || item?.code === 'SessionLockLost') one.isSpent = true;
      continue;
    }
    one.isSpent = true;
    if (item.how !== 'defer') continue;
    const { tag, sequenceNumber, session } = one.delivery;
    keep(deferred, { tag, sequenceNumber, sessionId: session?.sessionId });
  }
  const session = chosen[0]?.session;
  if (session !== undefined && details.settled?.some(({ code }) => code === 'SessionLockLost')) {
    if (client.locks.session(entityOf(from))?.lockToken === session.lockToken)
      client.locks.setSession(entityOf(from), undefined);
  }
  return session === undefined ? details : { ...details, session };
}

/** The same outcome for all settlements, if the whole call was refused or is unknown. */
function allOf(
  chosen: readonly Held[],
  result: Result<Answer>,
  kept: Pick<SettledItem, 'how' | 'delayMs'>,
): readonly SettledItem[] {
  const outcome: ItemOutcome = result.kind === 'refused' ? 'refused' : 'unknown';
  const code = result.kind === 'refused' ? { code: result.error.code } : {};
  return chosen.map(({ delivery }) => ({ delivery, ...kept, outcome, ...code }));
}

function outcomeOf(
  refusal: { readonly code: string } | undefined,
): Pick<SettledItem, 'outcome' | 'code'> {
  if (refusal === undefined) return { outcome: 'done' };
  const { code } = refusal;
  return { outcome: code === 'ServiceTimeout' ? 'unknown' : 'refused', code };
}
