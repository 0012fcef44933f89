import { encode } from '../../../amqp/wire/encode.ts';
import { str } from '../../../amqp/wire/value.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import {
  asNobody,
  attach,
  begin,
  described,
  listOf,
  number,
  open,
  request,
  say,
  started,
  text,
  transfer,
  untilCredit,
} from './amqp-bytes.ts';
import { largeForm, largeMap, largeSource } from './amqp-forms.ts';
import { joined, KB, type Kind, MB, repeat, wires } from './draw.ts';
import { tokenOf } from './scene.ts';

/** What somebody without a right asks over AMQP. */

const LINKS_PER_SESSION = 1000;
/** What a link may send before it hears more. */
const CREDIT = 200;
const NODES = ['$cbs', '$cbs', '$management'] as const;

const anonymous = (random: LoadRandom): Buffer =>
  started(asNobody(random.pick([undefined, 'ANONYMOUS', 'MSSBCBS'])));

export const AMQP_STRANGERS: readonly Kind[] = [
  {
    name: 'attaches with large decoded forms',
    rows: [1],
    draw: (random) => {
      const [links, bytes] = [random.between(10, 150), random.between(8, 64) * KB - 300];
      const place = random.pick(['properties', 'source', 'unsettled', 'whole source'] as const);
      const form = random.chance(0.5) ? largeForm(random, bytes) : largeMap(random, bytes);
      const isReceiver = random.chance(0.5);
      const fields = {
        properties: { properties: form },
        unsettled: { unsettled: form },
        source: { source: largeSource(random, '$cbs', bytes) },
        'whole source': { source: form },
      }[place];
      const target = random.pick(NODES);
      return {
        what: `${links} links with ${form.length} bytes of ${place}`,
        wires: wires(random.between(1, 4), anonymous(random), {
          times: links,
          make: (handle) => attach({ handle, isReceiver, target, source: target, ...fields }),
        }),
      };
    },
  },
  {
    name: 'performatives with large decoded forms',
    rows: [1],
    draw: (random) => {
      const form = largeForm(random, random.between(1, 64) * KB - 300);
      const [what, steps] = random.pick(performatives(form));
      const times = random.between(1, 100);
      return {
        what: `${times} × ${what} with ${form.length} bytes`,
        wires: wires(random.between(1, 8), steps[0], repeat(times, steps[1])),
      };
    },
  },
  {
    name: 'reply links by the thousand, and requests without reply-to',
    rows: [3],
    draw: (random) => {
      const [links, requests] = [random.between(1000, 15_000), random.between(10, 199)];
      const sessions = Math.ceil(links / LINKS_PER_SESSION);
      const all = joined(sessions, (channel) => {
        const count = Math.min(LINKS_PER_SESSION, links - channel * LINKS_PER_SESSION);
        const own = (handle: number) =>
          attach({ handle, channel, isReceiver: true, source: '$cbs', target: `reply-${handle}` });
        return Buffer.concat([begin(channel), joined(count, own)]);
      });
      const asking = attach({ handle: 1001, isReceiver: false, target: '$cbs' });
      const requested = joined(requests, (id) =>
        transfer({ handle: 1001, id, isSettled: true }, request('x', Buffer.of(0x40))),
      );
      const opening = Buffer.concat([asNobody(), open()]);
      return {
        what: `${links} links, ${requests} requests`,
        wires: wires(1, Buffer.concat([opening, all, asking]), untilCredit(), requested),
      };
    },
  },
  {
    name: 'requests with large bodies',
    rows: [4],
    draw: (random, { queue }) => {
      const node = random.pick(['$cbs', `${queue}/$management`, '$management']);
      const [bytes, times] = [random.pick([64 * KB, 512 * KB, 2 * MB - KB]), random.between(1, 12)];
      const body = random.chance(0.5) ? largeForm(random, bytes) : largeMap(random, bytes);
      const operation = random.pick(['put-token', 'com.microsoft:peek-message', 'x']);
      const payload = request(operation, body, { replyTo: 'here' });
      return {
        what: `${times} × ${payload.length} bytes to ${node}`,
        wires: wires(
          random.between(1, 4),
          anonymous(random),
          attach({ handle: 0, isReceiver: false, target: node }),
          untilCredit(),
          { times, make: (id) => transfer({ handle: 0, id, isSettled: true }, payload) },
        ),
      };
    },
  },
  {
    name: 'made-up tokens over $cbs',
    rows: [9, 11],
    draw: (random, scene) => {
      const times = random.between(100, 1000);
      const missing = random.chance(0.5);
      const ask = (id: number) => {
        const entity = missing ? `missing-${id}` : scene.queue;
        const fields = {
          name: str(`sb://localhost/${entity}`),
          type: str('servicebus.windows.net:sastoken'),
        };
        const token = encode(str(tokenOf(scene, 'nobody', entity)));
        const payload = request('put-token', token, { replyTo: 'here', fields });
        return transfer({ handle: 1 + Math.floor(id / CREDIT), id, isSettled: true }, payload);
      };
      return {
        what: `${times} tokens for ${missing ? 'entities that are missing' : 'one queue'}`,
        wires: wires(
          random.between(1, 4),
          anonymous(random),
          attach({ handle: 0, isReceiver: true, source: '$cbs', target: 'here' }),
          joined(Math.ceil(times / CREDIT), (place) =>
            attach({ handle: 1 + place, isReceiver: false, target: '$cbs' }),
          ),
          untilCredit(Math.ceil(times / CREDIT)),
          joined(times, ask),
        ),
      };
    },
  },
];

/** The start of a connection, and a frame that may be repeated on it. */
function performatives(form: Buffer): readonly [Performed, ...Performed[]] {
  const bare = asNobody();
  const opened = Buffer.concat([bare, open()]);
  const session = Buffer.concat([opened, begin()]);
  const linked = Buffer.concat([session, attach({ handle: 0, isReceiver: false, target: '$cbs' })]);
  const nothing = Array<undefined>(4).fill(undefined);
  const error = described(0x1d, listOf(text('amqp:x'), text(''), form));
  const modified = described(0x27, listOf(Buffer.of(0x41), Buffer.of(0x41), form));
  const windows = [number(0), number(9), number(0), number(9)];
  return [
    ['open: properties', [bare, open(...nothing, undefined, undefined, undefined, form)]],
    ['open: locales', [bare, open(...nothing, form, form.subarray(0, 0))]],
    ['begin: capabilities', [opened, begin(0, undefined, form)]],
    ['begin: properties', [opened, begin(0, undefined, undefined, undefined, form)]],
    [
      'flow: properties',
      [session, say('flow', [...windows, ...nothing, undefined, undefined, form])],
    ],
    [
      'transfer: state',
      [linked, say('transfer', [number(0), number(0), ...nothing, undefined, form])],
    ],
    [
      'disposition: state',
      [session, say('disposition', [Buffer.of(0x41), number(0), undefined, undefined, form])],
    ],
    [
      'disposition: modified',
      [session, say('disposition', [Buffer.of(0x41), number(0), undefined, undefined, modified])],
    ],
    ['detach: error', [linked, say('detach', [number(0), Buffer.of(0x42), error])]],
    ['end: error', [session, say('end', [error])]],
    ['close: error', [opened, say('close', [error])]],
  ];
}

type Performed = readonly [string, readonly [Buffer, Buffer]];
