import type { TestContext } from 'node:test';
import { SECTION, writeSections } from '../../amqp/messages/sections.ts';
import type { AmqpServer } from '../../amqp/service/amqp-server.ts';
import { type AmqpValue, described, list, mapOf, NULL, str } from '../../amqp/wire/value.ts';
import { FakePeer } from './fake-peer.ts';

/** The maximum part of a request in one frame. */
const PART_BYTES = 60_000;

/** A request to `$management`, with the link to `answers` for the response. */
export const request = (operation: string, body: AmqpValue) =>
  writeSections({
    properties: list([str('r'), NULL, NULL, NULL, str('answers')]),
    applicationProperties: mapOf({ operation: str(`com.microsoft:${operation}`) }),
    body: [described(SECTION.value, body)],
  });

/** A peer that sends requests to the management node of a queue, and ignores the responses. */
export async function asking(t: TestContext, { gateway }: { readonly gateway: AmqpServer }) {
  const peer = await FakePeer.root(gateway);
  t.after(() => peer.lost());
  peer.attach('sender', 'q/$management', 0);
  await peer.settled();
  let deliveryId = 0;
  const ask = (payload: Uint8Array) => {
    const first = { kind: 'transfer', handle: 0, deliveryId, settled: true } as const;
    for (let at = 0; at < payload.length; at += PART_BYTES) {
      const transfer = {
        ...first,
        deliveryTag: Buffer.of(1),
        more: at + PART_BYTES < payload.length,
      };
      peer.say(transfer, payload.subarray(at, at + PART_BYTES));
    }
    deliveryId++;
  };
  return { peer, ask };
}
