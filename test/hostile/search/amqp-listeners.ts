import { encode } from '../../../amqp/wire/encode.ts';
import { long, str, uint } from '../../../amqp/wire/value.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import {
  asNobody,
  asOwner,
  attach,
  begin,
  compound,
  described,
  flow,
  listOf,
  mapping,
  number,
  open,
  request,
  say,
  started,
  text,
  transfer,
  untilCredit,
} from './amqp-bytes.ts';
import { largeMap } from './amqp-forms.ts';
import { joined, KB, type Kind, MB, repeat, wires } from './draw.ts';
import { tokenOf } from './scene.ts';

/** What a client does over AMQP that may listen or manage, and a token in many spellings. */

const TRUE = Buffer.of(0x41);
/** What a link may send before it hears more. */
const CREDIT = 200;

export const LISTENERS: readonly Kind[] = [
  {
    name: 'receivers by the thousand',
    rows: [],
    draw: (random, scene) => {
      const links = random.between(50, 900);
      const source = random.pick([scene.queue, `${scene.topic}/Subscriptions/one`]);
      const one = (handle: number) =>
        Buffer.concat([attach({ handle, isReceiver: true, source }), flow(handle, 2 ** 32 - 1)]);
      const churn = Buffer.concat([say('detach', [number(0), TRUE]), one(0)]);
      const churns = random.below(300);
      return {
        what: `${links} links, the first ${churns} times again`,
        wires: wires(
          random.between(1, 3),
          started(asOwner(scene, 'listen')),
          joined(links, one),
          repeat(churns, churn),
        ),
      };
    },
  },
  {
    name: 'receivers of sessions',
    rows: [],
    draw: (random, scene) => {
      const links = random.between(20, 400);
      const isAny = random.chance(0.5);
      const one = (handle: number) => {
        const id = isAny
          ? Buffer.of(0x40)
          : text(`session-${handle}`.padEnd(random.pick([1, 120]), 'x'));
        const name = 'com.microsoft:session-filter';
        const filter = mapping(
          Buffer.concat([Buffer.of(0xa3, name.length), Buffer.from(name)]),
          id,
        );
        const nothing = Array<Buffer>(6).fill(Buffer.of(0x40));
        const source = described(0x28, listOf(text(scene.sessions), ...nothing, filter));
        return attach({ handle, isReceiver: true, source });
      };
      return {
        what: `${links} links to ${isAny ? 'any session' : 'one each'}`,
        wires: wires(random.between(1, 3), started(asOwner(scene, 'listen')), joined(links, one)),
      };
    },
  },
  {
    name: 'requests with long lists',
    rows: [4],
    draw: (random, scene) => {
      const count = random.pick([1000, 20_000, 100_000]);
      const [operation, right, body] = random.pick(requests(random, count));
      const times = random.between(1, 10);
      const node = `${operation.endsWith('-rule') ? `${scene.topic}/Subscriptions/two` : scene.queue}/$management`;
      const payload = request(`com.microsoft:${operation}`, body, { replyTo: 'here' });
      return {
        what: `${times} × ${operation} of ${payload.length} bytes`,
        wires: wires(
          random.between(1, 3),
          started(asOwner(scene, right)),
          attach({ handle: 0, isReceiver: false, target: node }),
          attach({ handle: 1, isReceiver: true, source: node, target: 'here' }),
          untilCredit(),
          { times, make: (id) => transfer({ handle: 0, id, isSettled: true }, payload) },
        ),
      };
    },
  },
  {
    name: 'one token in many spellings',
    rows: [9],
    draw: (random, scene) => {
      const times = random.between(200, 2000);
      const links = random.between(10, 200);
      const token = encode(str(tokenOf(scene, 'send', scene.queue)));
      const bring = (id: number) => {
        const name = str(`sb://localhost/${spelled(scene.queue, id)}`);
        const fields = { name, type: str('servicebus.windows.net:sastoken') };
        return transfer(
          { handle: Math.floor(id / CREDIT), id, isSettled: true },
          request('put-token', token, { fields }),
        );
      };
      return {
        what: `${times} spellings, then ${links} links`,
        wires: wires(
          random.between(1, 3),
          Buffer.concat([asNobody('MSSBCBS'), open(), begin()]),
          joined(Math.ceil(times / CREDIT), (handle) =>
            attach({ handle, isReceiver: false, target: '$cbs' }),
          ),
          untilCredit(Math.ceil(times / CREDIT)),
          joined(times, bring),
          { pauseMs: 500 },
          joined(links, (index) =>
            attach({
              handle: 100 + index,
              isReceiver: true,
              source: `${scene.queue}/$DeadLetterQueue`,
            }),
          ),
        ),
      };
    },
  },
];

type Requested = readonly [string, 'send' | 'listen' | 'manage', Buffer];

function requests(random: LoadRandom, count: number): readonly [Requested, ...Requested[]] {
  const longs = (name: string) =>
    mapping(
      text(name),
      compound(0xf0, count, Buffer.concat([Buffer.of(0x81), Buffer.alloc(count * 8, 7)])),
      text('receiver-settle-mode'),
      encode(uint(1)),
    );
  const ids = (name: string) =>
    mapping(
      text(name),
      compound(0xf0, count, Buffer.concat([Buffer.of(0x98), Buffer.alloc(count * 16, 7)])),
      text('disposition-status'),
      text('completed'),
    );
  const message = mapping(
    text('message'),
    encode({ type: 'binary', value: Buffer.alloc(60, 0x40) }),
  );
  const messages = Math.min(count, 20_000);
  const rule = (expression: string) =>
    mapping(
      text('rule-name'),
      text(`r${random.below(1e6)}`),
      text('rule-description'),
      mapping(text('sql-filter'), mapping(text('expression'), text(expression))),
    );
  return [
    ['receive-by-sequence-number', 'listen', longs('sequence-numbers')],
    ['cancel-scheduled-message', 'send', longs('sequence-numbers')],
    ['renew-lock', 'listen', ids('lock-tokens')],
    ['update-disposition', 'listen', ids('lock-tokens')],
    [
      'schedule-message',
      'send',
      mapping(
        text('messages'),
        compound(0xd0, messages, Buffer.alloc(messages * message.length, message)),
      ),
    ],
    [
      'peek-message',
      'listen',
      mapping(
        text('from-sequence-number'),
        encode(long(-(2n ** 63n))),
        text('message-count'),
        encode(uint(2 ** 32 - 1)),
      ),
    ],
    [
      'set-session-state',
      'listen',
      mapping(
        text('session-id'),
        text('a'),
        text('session-state'),
        encode({ type: 'binary', value: Buffer.alloc(MB) }),
      ),
    ],
    ['add-rule', 'manage', rule(`${'('.repeat(Math.min(count, 20_000))}1=1`)],
    ['add-rule', 'manage', rule(`x IN (${'1,'.repeat(Math.min(count, 10_000))}1)`)],
    ['add-rule', 'manage', rule(`x LIKE '${'%a'.repeat(400)}'`)],
    ['add-rule', 'manage', rule(`${'NOT '.repeat(Math.min(count, 10_000))} a = 1`)],
    ['add-rule', 'manage', largeMap(random, 512 * KB)],
  ];
}

/** The same entity, written in one of very many ways. */
function spelled(name: string, place: number): string {
  const letters = [...name].map((letter, index) => {
    if ((place >> index) % 2 === 0) return letter;
    return index % 2 === 0 ? letter.toUpperCase() : `%${letter.charCodeAt(0).toString(16)}`;
  });
  return letters.join('') + '/'.repeat(place % 7);
}
