import { serviceBusy } from '../domain/broker-error.ts';
import type { Clock } from '../domain/clock.ts';
import type { ConsumerReference, ConsumerState, ConsumerStates } from './ports.ts';
import { PUSH } from './push-limits.ts';
import { isOwned, stateAt } from './stored-instants.ts';

/**
 * What a consumer needs for which messages have arrived: a worker must `start`; its owner looks again before it ends
 * (`held`); its target cannot be called now (`paused`); or it does not exist (`gone`).
 */
export type Woken =
  | { readonly kind: 'start'; readonly state: ConsumerState }
  | { readonly kind: 'held' | 'paused' | 'gone' };

/**
 * Wakes a consumer for which messages may have arrived; `known` = its state if it was just read. One read unit and,
 * once for each time that an owner looks, one write unit. Throws ServiceBusy, ServiceTimeout.
 */
export async function wakeConsumer(
  states: Pick<ConsumerStates, 'read' | 'markWoken'>,
  clock: Clock,
  of: ConsumerReference,
  known?: ConsumerState,
): Promise<Woken> {
  for (let tries = 0; tries < PUSH.wakeTriesMax; tries++) {
    const stored = tries === 0 && known !== undefined ? known : await states.read(of);
    if (stored === undefined) return { kind: 'gone' };
    const now = clock.now();
    const state = stateAt(stored, now);
    const { lease, pause } = state;
    if (lease === undefined || !isOwned(state, now)) {
      // The pause of a worker that crashed has no reminder: the next worker goes on with it.
      const isPaused = lease === undefined && pause !== undefined && pause.until > now;
      return isPaused ? { kind: 'paused' } : { kind: 'start', state };
    }
    if (state.isWoken || (await states.markWoken(of, lease.owner))) return { kind: 'held' };
    // The owner has ended meanwhile.
  }
  throw serviceBusy('The owners of the consumer change too fast. Try again.');
}
