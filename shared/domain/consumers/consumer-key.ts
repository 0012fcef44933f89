import { SUB_QUEUES, type SubQueue } from '../entities/entity-path.ts';

/** Names a consumer among those of its entity. */
export interface ConsumerName {
  readonly subQueue: SubQueue;
  /** In any case of letters. */
  readonly name: string;
}

/** The key of a consumer among those of its entity, the same whatever the case of its name (semantics J1). */
export function consumerKey({ subQueue, name }: ConsumerName): string {
  return `${subQueue}/${name.toLowerCase()}`;
}

/** The sub-queue and the name, in lower case, in a key; undefined for a text that is no key. */
export function parseConsumerKey(key: string): ConsumerName | undefined {
  const slash = key.indexOf('/');
  const subQueue = SUB_QUEUES.find((one) => one === key.slice(0, Math.max(0, slash)));
  const name = key.slice(slash + 1);
  return subQueue === undefined || name === '' ? undefined : { subQueue, name };
}
