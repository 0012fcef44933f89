import { SECTION, writeSections } from '../../../amqp/messages/sections.ts';
import type { DeliveryState } from '../../../amqp/wire/states.ts';
import {
  type AmqpValue,
  array,
  binary,
  bool,
  described,
  int,
  list,
  long,
  mapOf,
  NULL,
  str,
  symbol,
  timestamp,
  uint,
  uuid,
} from '../../../amqp/wire/value.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import { anyValue, orAny } from './fuzz-values.ts';

/** A message, sometimes with an unusual section. */
export function anyMessage(random: LoadRandom): Buffer {
  const body = random.pick([
    [described(SECTION.data, binary(Buffer.alloc(random.below(300), 0x61)))],
    [described(SECTION.value, anyValue(random))],
    [described(SECTION.sequence, list([anyValue(random), anyValue(random)]))],
    [],
  ]);
  const properties = Array.from({ length: 13 }, () => orAny(random, NULL));
  properties[0] = orAny(random, str(`m${random.below(1000)}`));
  properties[10] = random.chance(0.5) ? str(random.pick(['a', 'b', 'c'])) : NULL;
  return writeSections({
    header: orAny(random, list([bool(true), NULL, uint(random.pick([0, 1, 60_000]))])),
    annotations: orAny(
      random,
      mapOf(
        { 'x-opt-partition-key': NULL, 'x-opt-scheduled-enqueue-time': orAny(random, NULL) },
        symbol,
      ),
    ),
    properties: orAny(random, list(properties)),
    applicationProperties: orAny(random, mapOf({ k: anyValue(random), n: int(1) })),
    body,
    ...(random.chance(0.1) ? { footer: anyValue(random) } : {}),
  });
}

/** Fields of all operations of `$management`; each operation reads its own. */
export function anyRequest(random: LoadRandom): AmqpValue {
  const ids = array('uuid', [uuid(Buffer.alloc(16, random.below(4)))]);
  const message = mapOf({
    message: binary(anyMessage(random)),
    'message-id': str('m'),
    'session-id': str('a'),
  });
  return mapOf(
    Object.fromEntries(
      Object.entries({
        'lock-tokens': ids,
        'disposition-status': str(random.pick(['completed', 'abandoned', 'suspended', 'defered'])),
        'sequence-numbers': array('long', [long(1n), long(BigInt(random.below(99)))]),
        'receiver-settle-mode': uint(random.below(2)),
        'from-sequence-number': long(0n),
        'message-count': int(random.pick([1, 10, -1, 2_147_483_647])),
        'enqueued-time-utc': timestamp(Date.now()),
        messages: list([message]),
        'session-id': str(random.pick(['a', 'b'])),
        'session-state': binary(Buffer.alloc(9)),
        'last-updated-time': timestamp(Date.now()),
        'rule-name': str('r'),
        'rule-description': mapOf({
          'sql-filter': mapOf({ expression: str("a = 'b' OR 1 = 1") }),
          'sql-rule-action': mapOf({ expression: str('SET a = 1') }),
        }),
        skip: int(0),
        top: int(random.pick([0, 1, 100, 2_147_483_647])),
      }).map(([name, value]) => [name, orAny(random, value, 0.05)]),
    ),
  );
}

/** Any state of a delivery. */
export function anyState(random: LoadRandom): DeliveryState {
  return random.pick<DeliveryState>([
    { kind: 'accepted' },
    { kind: 'released' },
    { kind: 'modified', undeliverableHere: random.chance(0.5), annotations: anyValue(random) },
    { kind: 'rejected', error: { condition: 'x', description: 'y', info: anyValue(random) } },
    { kind: 'transactional', transaction: Buffer.alloc(16), outcome: { kind: 'accepted' } },
  ]);
}
