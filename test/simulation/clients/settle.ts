import type { Settlement, SettlementAction } from '../../../shared/broker/broker.ts';
import { text } from '../../../shared/domain/messages/property-value.ts';
import type { Heard } from '../engine/process.ts';
import {
  entityOf,
  isDeadLetterPath,
  type SettlementKind,
  type Which,
} from '../scenario/scenario.ts';
import type { Actor } from './actor.ts';
import {
  type ActionOf,
  type Answer,
  answerOr,
  broker,
  type Operations,
  type Prepared,
  pathOf,
} from './operations.ts';
import { type Held, keep, type Numbered } from './pool.ts';
import type { ItemOutcome, SettledItem } from './record.ts';

/** What is done to messages that a client holds. */
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
  const { deferred } = client.parts.board.of(from);
  return {
    ask: async (composition) => {
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
    note: (heard) => noteSettled(client, { from, deferred }, chosen, heard, kept),
  };
}

function renew(client: Actor, { from, which, count }: ActionOf<'renew'>): Prepared | undefined {
  const chosen = chooseHeld(client, from, which, count);
  const [first] = chosen;
  if (first === undefined || first.session !== undefined) return undefined;
  return {
    ask: async (composition) => {
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
    note: (heard) => answerOr(heard, { settled: allOf(chosen, heard, { how: 'renew' }) }),
  };
}

/** Some of what a client holds, all of one session. */
export function chooseHeld(
  client: Actor,
  path: string,
  which: Which,
  count: number,
): readonly Held[] {
  const held = client.hands.held(path, which === 'spent');
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

/** Keeps what settlements came to; each of them becomes part of the record. */
export function noteSettled(
  client: Actor,
  { from, deferred }: { readonly from: string; readonly deferred: Numbered[] },
  chosen: readonly Held[],
  heard: Heard<Answer>,
  kept: Pick<SettledItem, 'how' | 'delayMs'>,
): Answer {
  const details = answerOr(heard, { settled: allOf(chosen, heard, kept) });
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
    if (client.hands.session(entityOf(from))?.lockToken === session.lockToken)
      client.hands.setSession(entityOf(from), undefined);
  }
  return session === undefined ? details : { ...details, session };
}

/** The same outcome for all of them, where the call as a whole was refused or is unknown. */
function allOf(
  chosen: readonly Held[],
  heard: Heard<Answer>,
  kept: Pick<SettledItem, 'how' | 'delayMs'>,
): readonly SettledItem[] {
  const outcome: ItemOutcome = heard.kind === 'refused' ? 'refused' : 'unknown';
  const code = heard.kind === 'refused' ? { code: heard.error.code } : {};
  return chosen.map(({ delivery }) => ({ delivery, ...kept, outcome, ...code }));
}

function outcomeOf(
  refusal: { readonly code: string } | undefined,
): Pick<SettledItem, 'outcome' | 'code'> {
  if (refusal === undefined) return { outcome: 'done' };
  const { code } = refusal;
  return { outcome: code === 'ServiceTimeout' ? 'unknown' : 'refused', code };
}
