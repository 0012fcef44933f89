import { SMALL_ENTITIES } from './small-limits.ts';
import { expectStatus, type TestBroker } from './test-broker.ts';
import { createTopic, putSubscription } from './topic-entities.ts';

/** Settings of an entity that takes what fills it. */
export const LARGE = { MaxMessageSizeInKilobytes: '102400' };
/** The size of the smallest entity there is, which is 1 GB. */
export const ENTITY_BYTES = 1024 * SMALL_ENTITIES.bytesPerMegabyte;
/** What compresses to nothing fills an entity fast: its size counts messages as they were sent. */
export const BODY = Buffer.alloc(99 * SMALL_ENTITIES.bytesPerMegabyte, 'x');
/** So many fill the smallest entity. */
export const FILL = 10;

/** Fills an entity by one send, of which it gets so many copies. */
export async function fill(broker: TestBroker, name: string): Promise<void> {
  const filler = `filler-of-${name}`;
  await createTopic(broker, filler, LARGE);
  for (let i = 0; i < FILL; i++) {
    const path = `${filler}/Subscriptions/s${i}`;
    expectStatus(await putSubscription(broker, path, { ForwardTo: name }), 201);
  }
  expectStatus(await broker.send(filler, BODY), 201);
  expectStatus(await broker.request('DELETE', filler), 200);
}
