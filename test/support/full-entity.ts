import { SMALL_ENTITIES } from './small-limits.ts';
import { expectStatus, type TestBroker } from './test-broker.ts';
import { createTopic, putSubscription } from './topic-entities.ts';

/** Settings of an entity that accepts the large messages that fill it. */
export const LARGE = { MaxMessageSizeInKilobytes: '102400' };
/** The smallest size limit of an entity, which is 1 GB in the service. */
export const ENTITY_BYTES = 1024 * SMALL_ENTITIES.bytesPerMegabyte;
/** A well compressible body fills an entity fast, because its size counts messages uncompressed. */
export const BODY = Buffer.alloc(99 * SMALL_ENTITIES.bytesPerMegabyte, 'x');
/** The number of these messages that fill the smallest entity. */
export const FILL = 10;

/** Fills an entity by one send to a topic whose `FILL` subscriptions forward to it. */
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
