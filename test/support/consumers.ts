import type { ConsumerWakes } from '../../shared/broker/ports/consumer-wakes.ts';
import type { PushManagement } from '../../shared/broker/ports/management.ts';
import { type Json, putJson } from './json-management.ts';
import type { TestBroker } from './test-broker.ts';

/** Consumers over HTTP. */

export const LAMBDA = 'arn:aws:lambda:eu-west-1:123456789012:function:worker';

/** A dispatcher that allows every target. */
export const ANY_TARGET: PushManagement = { allowsTarget: () => undefined };

/** Settings of a namespace whose dispatcher allows every target, and keeps the queues that it hears of. */
export function listeningPush() {
  const heard: string[] = [];
  const wakes: ConsumerWakes = {
    available: ({ entityKey, subQueue }) => heard.push(`${entityKey} ${subQueue}`),
    availableAt: () => {},
    wakeAll: async () => {},
  };
  return { heard, settings: { push: ANY_TARGET, consumers: () => wakes } };
}

/** Puts a consumer of a queue. */
export async function putConsumer(
  broker: TestBroker,
  path: string,
  settings: Json = {},
  headers: Readonly<Record<string, string>> = {},
) {
  return await putJson(broker, path, { target: LAMBDA, ...settings }, headers);
}

/** The names of the consumers in a list. */
export function namesIn(list: Json): readonly unknown[] {
  const { consumers } = list as { readonly consumers: readonly Json[] };
  return consumers.map(({ name }) => name);
}
