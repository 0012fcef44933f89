import { encode } from '../../../amqp/wire/encode.ts';
import { binary } from '../../../amqp/wire/value.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import {
  asOwner,
  attach,
  compound,
  data,
  described,
  flow,
  listOf,
  mapping,
  section,
  started,
  text,
  transfer,
  untilCredit,
} from './amqp-bytes.ts';
import { largeForm, largeMap } from './amqp-forms.ts';
import { joined, KB, type Kind, MB, repeat } from './draw.ts';
import type { Scene } from './scene.ts';
import type { Wire } from './wire.ts';

/** What a client does over AMQP that may send, and nothing else. */

const BATCH_FORMAT = 0x8001_3700;
const NOTHING = Buffer.alloc(0);
const COORDINATOR = described(0x30, listOf());
const EXTREMES = [
  ...[-(2n ** 63n), -1n, 0n, 8_640_000_000_000_001n, 253_402_300_800_000n],
  ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n],
] as const;

export const SENDERS: readonly Kind[] = [
  {
    name: 'large parts beside the body',
    rows: [5],
    draw: (random, scene) => {
      const [times, bytes] = [
        random.between(5, 250),
        random.pick([60 * KB, 250 * KB, MB - 2 * KB]),
      ];
      const part = random.pick([
        'footer',
        'footer',
        'annotations',
        'deliveryAnnotations',
        'applicationProperties',
      ] as const);
      const form = random.chance(0.5)
        ? mapping(text('x'), encode(binary(Buffer.alloc(bytes, 1))))
        : random.chance(0.5)
          ? largeMap(random, bytes)
          : largeForm(random, bytes);
      const payload = Buffer.concat([section(part, form), data(Buffer.from('x'))]);
      const sending = sender(scene, scene.queue, times, (id) =>
        transfer({ handle: 0, id }, payload),
      );
      return {
        what: `${times} messages with ${form.length} bytes of ${part}, and a receiver of all`,
        wires: [sending, receiver(scene, random.chance(0.5))],
      };
    },
  },
  {
    name: 'open transactions with large sends',
    rows: [6],
    draw: (random, scene) => {
      const [times, bytes] = [random.between(20, 400), random.pick([64 * KB, 250 * KB, 900 * KB])];
      const payload = data(Buffer.alloc(bytes, 1));
      return {
        what: `${times} × ${bytes} bytes`,
        wires: Array.from({ length: random.between(1, 3) }, () =>
          inTransaction(scene, times, payload),
        ),
      };
    },
  },
  {
    name: 'pipelined messages',
    rows: [8],
    draw: (random, scene) => {
      const [times, bytes] = [random.between(100, 300), random.pick([10 * KB, 250 * KB])];
      const isSettled = random.chance(0.3);
      const payload = data(Buffer.alloc(bytes, 1));
      const count = random.between(1, 4);
      return {
        what: `${count} × ${times} × ${bytes} bytes`,
        wires: Array.from({ length: count }, () =>
          sender(scene, scene.queue, times, (id) =>
            transfer({ handle: 0, id, isSettled }, payload),
          ),
        ),
      };
    },
  },
  {
    name: 'odd times',
    rows: [19],
    draw: (random, scene) => {
      const payloads = EXTREMES.map((value) => {
        const instant = encode({ type: 'timestamp', value });
        const name = random.pick([
          'x-opt-scheduled-enqueue-time',
          'x-opt-locked-until',
          'x-opt-enqueued-time',
        ]);
        const key = Buffer.concat([Buffer.of(0xa3, name.length), Buffer.from(name)]);
        const nothing = Array<Buffer>(8).fill(Buffer.of(0x40));
        return Buffer.concat([
          ...(random.chance(0.7) ? [section('annotations', mapping(key, instant))] : []),
          section('properties', listOf(...nothing, instant, instant)),
          data(Buffer.from('x')),
        ]);
      });
      return {
        what: `${payloads.length} messages`,
        wires: [
          sender(scene, random.pick([scene.queue, scene.topic]), payloads.length, (id) =>
            transfer({ handle: 0, id }, payloads[id] ?? Buffer.alloc(0)),
          ),
        ],
      };
    },
  },
  {
    name: 'large messages to a topic',
    rows: [22],
    draw: (random, scene) => {
      const [times, count] = [random.between(1, 12), random.pick([1, 4, 10])];
      const bytes = random.pick([100 * KB, 250 * KB, MB - 2 * KB]);
      const filler = random.pick([compressible, incompressible])(
        random,
        Math.floor(bytes / count) - 20,
      );
      const inner = data(filler);
      const payload = count === 1 ? inner : joined(count, () => data(inner));
      return {
        what: `${times} × ${payload.length} bytes in ${count} messages`,
        wires: [
          sender(scene, scene.topic, times, (id) =>
            transfer({ handle: 0, id, format: count === 1 ? 0 : BATCH_FORMAT }, payload),
          ),
        ],
      };
    },
  },
  {
    name: 'odd messages',
    rows: [],
    draw: (random, scene) => {
      const bytes = random.between(1, 200) * KB;
      const [what, payload] = random.pick<readonly [string, Buffer]>([
        ['empty messages in a batch', joined(bytes >> 3, () => data(Buffer.alloc(0)))],
        [
          'application properties',
          Buffer.concat([
            section('applicationProperties', largeMap(random, bytes)),
            data(Buffer.of(1)),
          ]),
        ],
        ['a large value', section('value', largeForm(random, bytes))],
        ['a large sequence', section('sequence', largeForm(random, bytes))],
        ['sequences of nothing', joined(bytes >> 3, () => section('sequence', Buffer.of(0x45)))],
        ['bytes', Buffer.alloc(bytes, random.below(256))],
        ['a claim of more than there is', compound(0xd0, 2 ** 32 - 1, Buffer.alloc(bytes, 0x40))],
      ]);
      const format = random.chance(0.5) ? BATCH_FORMAT : 0;
      const times = random.between(1, 50);
      const send = (id: number) => transfer({ handle: 0, id, format }, payload);
      const target = random.pick([scene.queue, scene.sessions, scene.topic]);
      return {
        what: `${times} × ${payload.length} bytes of ${what}`,
        wires: [sender(scene, target, times, send), receiver(scene, false)],
      };
    },
  },
];

function sender(
  scene: Scene,
  target: string,
  times: number,
  make: (index: number) => Buffer,
): Wire {
  return {
    steps: [
      started(asOwner(scene, 'send')),
      attach({ handle: 0, isReceiver: false, target }),
      untilCredit(),
      { times, make },
    ],
  };
}

/** Declares a transaction, sends within it, and never discharges it. */
function inTransaction(scene: Scene, times: number, payload: Buffer): Wire {
  let state = inside(Buffer.alloc(16));
  return {
    steps: [
      started(asOwner(scene, 'send')),
      attach({ handle: 1, isReceiver: false, target: COORDINATOR }),
      attach({ handle: 0, isReceiver: false, target: scene.queue }),
      untilCredit(2),
      transfer({ handle: 1, id: 0 }, section('value', described(0x31, listOf()))),
      {
        answer: (heard) => {
          const id = transactionIn(heard);
          if (id === undefined) return undefined;
          state = inside(id);
          return NOTHING;
        },
      },
      { times, make: (index) => transfer({ handle: 0, id: index + 1, state }, payload) },
    ],
  };
}

/** Takes all there is. */
function receiver(scene: Scene, isDeaf: boolean): Wire {
  return {
    isDeaf,
    steps: [
      started(asOwner(scene, 'listen')),
      attach({ handle: 0, isReceiver: true, source: scene.queue }),
      // For something to be there.
      { pauseMs: 1500 },
      flow(0, 5000),
      repeat(20, Buffer.concat([flow(0, 5000)])),
    ],
  };
}

/** The id in the outcome of a declaration. */
function transactionIn(heard: Buffer): Buffer | undefined {
  const at = heard.indexOf(Buffer.of(0x00, 0x53, 0x33));
  const id = at < 0 ? -1 : heard.indexOf(Buffer.of(0xa0, 16), at);
  return id < 0 || heard.length < id + 18 ? undefined : heard.subarray(id + 2, id + 18);
}

const inside = (id: Buffer): Buffer => described(0x34, listOf(encode(binary(id))));

const compressible = (random: LoadRandom, bytes: number): Buffer =>
  Buffer.alloc(
    bytes,
    JSON.stringify({ order: random.below(1e9), lines: [1, 2, 3], text: 'lorem ipsum' }),
  );

function incompressible(random: LoadRandom, bytes: number): Buffer {
  const out = Buffer.alloc(bytes);
  for (let at = 0; at + 4 <= bytes; at += 4) out.writeUInt32LE(random.below(2 ** 32), at);
  return out;
}
