import { placeOf } from '../../push/current-consumer.ts';
import type { ConsumerFault, ConsumerReference } from '../../push/ports.ts';

/**
 * Writes to the log, as one line of JSON, that a consumer begins to fail. It is no fault of the service: the level is
 * `warn`, which raises no alarm.
 */
export function reportTargetFault(of: ConsumerReference, { at, error }: ConsumerFault): void {
  const { path: queue, name: consumer } = placeOf(of);
  const entry = { time: new Date(at).toISOString(), level: 'warn', queue, consumer, fault: error };
  process.stderr.write(`${JSON.stringify(entry)}\n`);
}
