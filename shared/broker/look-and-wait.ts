import { BrokerError } from '../domain/broker-error.ts';
import { partitionNumbers } from '../domain/entity.ts';
import type { EntityPath } from '../domain/entity-path.ts';
import { logOf } from '../domain/log.ts';
import type { Receivable } from '../domain/log-policy.ts';
import { findReceivable, requireReceivable } from './addressed.ts';
import type { ReceiveOptions } from './broker.ts';
import type { BrokerParts } from './broker-parts.ts';
import { arrivalOr } from './give-up.ts';
import type { Arrival, Turn } from './ports.ts';

export interface LookOptions extends Pick<ReceiveOptions, 'waitMs' | 'signal'> {
  /** Where each look asks all that there is, those who wait may take turns. */
  readonly turn: (entity: Receivable) => Turn;
  /** Which look it is: whoever looks last goes away with nothing. */
  readonly look: (entity: Receivable, isFirst: boolean, isLast: boolean) => Promise<boolean>;
}

/**
 * Looks at an entity until something is found, or the time is over, or whoever waits gives up. Where
 * many wait in turn, who is done sends the next: it may have left something, or be refused for what
 * all will be.
 */
export async function lookAndWait(
  parts: BrokerParts,
  path: EntityPath,
  { waitMs, signal, turn, look }: LookOptions,
): Promise<void> {
  const deadline = parts.monotonicNow() + waitMs;
  let latest: Arrival | undefined;
  for (let looks = 0; ; looks++) {
    if (signal?.aborted) {
      latest?.cancel();
      return;
    }
    try {
      // Asked again after each wait: the entity may have been changed, disabled or deleted meanwhile.
      const entity = await findReceivable(parts, path);
      requireReceivable(entity);
      const logs = partitionNumbers(entity).map((number) => logOf(entity, path.subQueue, number));
      const left = parts.arrivals.isClosing ? 0 : deadline - parts.monotonicNow();
      const arrival = left > 0 ? parts.arrivals.wait(logs, left, turn(entity)) : undefined;
      latest = arrival ?? latest;
      const isFound = await look(entity, looks === 0, arrival === undefined);
      if (isFound) latest?.passOn();
      if (isFound || arrival === undefined) return;
      await arrivalOr(signal, arrival);
    } catch (error) {
      if (error instanceof BrokerError) latest?.passOn();
      else latest?.cancel();
      throw error;
    }
  }
}
