import { encodeFrame, protocolHeader } from '../../../amqp/wire/frames.ts';
import { binary, described, list, symbol } from '../../../amqp/wire/value.ts';
import { conversation } from '../../interop/amqp/fuzz-conversation.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import {
  asNobody,
  attach,
  begin,
  echo,
  flow,
  inWebSocket,
  number,
  open,
  say,
  started,
  transfer,
  UPGRADE,
  UPGRADED,
  untilCredit,
  webSocketFrame,
} from './amqp-bytes.ts';
import { joined, KB, type Kind, MB, repeat, wires } from './draw.ts';
import { tokenOf } from './scene.ts';

/** What never ends, comes too often, or is no AMQP at all: again without a right. */

const TRUE = Buffer.of(0x41);

export const FLOODS: readonly Kind[] = [
  {
    name: 'sessions that are never ended',
    rows: [],
    draw: (random) => {
      const sessions = random.between(100, 5000);
      const links = random.below(3);
      const one = (channel: number) =>
        Buffer.concat([
          begin(channel),
          joined(links, (handle) => attach({ handle, channel, isReceiver: true, source: '$cbs' })),
        ]);
      return {
        what: `${sessions} sessions with ${links} links`,
        wires: wires(random.between(1, 4), asNobody(), open(), joined(sessions, one)),
      };
    },
  },
  {
    name: 'messages that are never ended',
    rows: [1, 8],
    draw: (random, { queue }) => {
      const links = random.between(10, 1000);
      const bytes = random.pick([100, 4 * KB, 64 * KB]);
      const target = random.pick(['$cbs', `${queue}/$management`, queue]);
      const payload = Buffer.alloc(bytes, 1);
      const attaches = joined(links, (handle) => attach({ handle, isReceiver: false, target }));
      return {
        what: `${links} links to ${target} with ${bytes} bytes each`,
        wires: wires(random.between(1, 12), started(asNobody()), attaches, untilCredit(), {
          times: links,
          make: (id) => transfer({ handle: id, id, isUnfinished: true }, payload),
        }),
      };
    },
  },
  {
    name: 'half frames',
    rows: [],
    draw: (random) => {
      const size = random.pick([9, 512, 65_536, 65_536]);
      const head = Buffer.alloc(8);
      head.writeUInt32BE(size, 0);
      head.writeUInt8(random.pick([2, 2, 2, 0, 255]), 4);
      const isSlow = random.chance(0.5);
      const rest = Buffer.alloc(size - 9);
      return {
        what: `${size - 1} of ${size} bytes${isSlow ? ', byte by byte' : ''}`,
        wires: wires(
          random.between(8, 16),
          random.chance(0.5) ? started(asNobody()) : protocolHeader('sasl'),
          head,
          ...(isSlow
            ? [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap(() => [Buffer.of(0), { pauseMs: 30 }])
            : [rest]),
        ),
      };
    },
  },
  {
    name: 'the same frame again and again',
    rows: [],
    draw: (random) => {
      const link = attach({
        handle: 1,
        isReceiver: random.chance(0.5),
        source: '$cbs',
        target: '$cbs',
      });
      const detach = say('detach', [number(1), TRUE]);
      const all = [number(0), number(2 ** 32 - 1), TRUE];
      const [what, bytes] = random.pick<readonly [string, Buffer]>([
        ['flows with echo', echo()],
        ['empty frames', encodeFrame('amqp', 0)],
        ['attach and detach', Buffer.concat([link, detach])],
        ['begin and end', Buffer.concat([begin(1), say('end', [], 1)])],
        ['dispositions of everything', say('disposition', [TRUE, ...all])],
        ['flows of a link', flow(0, 2 ** 32 - 1)],
      ]);
      const times = random.between(1000, 50_000);
      const batch = Math.ceil((64 * KB) / bytes.length);
      const isDeaf = random.chance(0.3);
      const steps = [
        started(asNobody()),
        attach({ handle: 0, isReceiver: true, source: '$cbs' }),
        repeat(
          Math.ceil(times / batch),
          joined(batch, () => bytes),
        ),
      ];
      return {
        what: `${times} ${what}${isDeaf ? ', never reading' : ''}`,
        wires: Array.from({ length: random.between(1, 4) }, () => ({ steps, isDeaf })),
      };
    },
  },
  {
    name: 'nearly the right thing',
    rows: [],
    draw: (random, scene) => {
      const keys = {
        user: 'send',
        password: scene.keys.send,
        token: tokenOf(scene, 'send', scene.queue),
      };
      const all = Array.from({ length: 12 }, () => {
        const frames = conversation(random, keys);
        for (let i = random.below(4); i > 0; i--) spoil(random, frames);
        return { steps: [Buffer.concat(frames)] };
      });
      return { what: '12 spoilt conversations', wires: all };
    },
  },
  {
    name: 'a security layer that does not end',
    rows: [],
    draw: (random) => {
      const response = Buffer.alloc(random.pick([1, 1000, 60_000]), 'x\0');
      const mechanism = random.pick(['PLAIN', 'EXTERNAL', 'x'.repeat(60_000)]);
      const init = encodeFrame(
        'sasl',
        0,
        described(0x41n, list([symbol(mechanism), binary(response)])),
      );
      const megabytes = random.between(1, 40);
      return {
        what: `${megabytes} MB behind a proof of ${response.length} bytes`,
        wires: wires(
          random.between(1, 3),
          protocolHeader('sasl'),
          init,
          repeat(megabytes * 16, Buffer.alloc(64 * KB)),
        ),
      };
    },
  },
  {
    name: 'odd frames of a WebSocket',
    rows: [],
    draw: (random) => {
      const [what, bytes] = random.pick<readonly [string, Buffer]>([
        ['pings', webSocketFrame(0x89, Buffer.alloc(100))],
        ['empty pieces of one message', webSocketFrame(0x00, Buffer.alloc(0))],
        ['pieces of one message', webSocketFrame(0x00, Buffer.alloc(900))],
        ['empty messages', webSocketFrame(0x82, Buffer.alloc(0))],
        ['texts', webSocketFrame(0x81, Buffer.from('x'))],
        ['messages of a byte', webSocketFrame(0x82, Buffer.of(0x41))],
      ]);
      const times = random.between(1000, 50_000);
      const batch = Math.ceil((64 * KB) / bytes.length);
      const isDeaf = random.chance(0.3);
      const first = webSocketFrame(what.includes('pieces') ? 0x02 : 0x82, protocolHeader('amqp'));
      const steps = [
        UPGRADE,
        { pauseMs: 50 },
        first,
        repeat(
          Math.ceil(times / batch),
          joined(batch, () => bytes),
        ),
      ];
      return {
        what: `${times} ${what}${isDeaf ? ', never reading' : ''}`,
        wires: Array.from({ length: random.between(1, 6) }, () => ({ steps, isDeaf })),
      };
    },
  },
  {
    name: 'frames of the full size inside of a WebSocket',
    rows: [1],
    draw: (random) => {
      const megabytes = random.between(1, 20);
      const filler = Buffer.concat([
        started(asNobody()),
        attach({ handle: 0, isReceiver: false, target: '$cbs' }),
      ]);
      const part = inWebSocket(
        transfer({ handle: 0, id: 0, isUnfinished: true }, Buffer.alloc(MB)),
      );
      return {
        what: `${megabytes} MB of one message`,
        wires: wires(
          random.between(1, 8),
          UPGRADE,
          UPGRADED,
          inWebSocket(filler),
          repeat(megabytes, part),
        ),
      };
    },
  },
];

function spoil(random: LoadRandom, frames: Buffer[]): void {
  const place = random.below(frames.length);
  const frame = frames[place];
  if (frame === undefined || frame.length === 0) return;
  switch (random.below(4)) {
    case 0:
      frame[random.below(frame.length)] = random.below(256);
      return;
    case 1:
      frames.splice(place, 1, frame.subarray(0, random.below(frame.length)));
      return;
    case 2:
      frames.splice(place, 0, ...Array<Buffer>(random.between(1, 50)).fill(frame));
      return;
    default:
      frames.splice(place, 0, Buffer.alloc(random.below(600), random.below(256)));
  }
}
