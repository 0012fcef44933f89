import { jsonBomb, xmlBomb } from './bombs.ts';
import { joined, KB, type Kind, MB, repeat, wires } from './draw.ts';
import { httpRequest, withLargeBody } from './http-bytes.ts';
import { routes } from './http-strangers.ts';
import { type Right, tokenOf } from './scene.ts';

/** What a client does over HTTP that has one right on one entity. */

const INSTANTS = [
  ...['Fri, 31 Dec 9999 23:59:59 GMT', 'Mon, 01 Jan 10000 00:00:00 GMT', '9007199254740991'],
  ...['275760-09-13T00:00:00Z', '1e400', '-1', 'Thu, 01 Jan 1970 00:00:00 GMT', 'NaN', ''],
] as const;
const RESPONSE_HEADERS = [
  'Refresh',
  'Clear-Site-Data',
  'Link',
  'Status',
  'Set-Cookie',
  '__proto__',
] as const;

export const HTTP_AUTHORIZED: readonly Kind[] = [
  {
    name: 'JSON',
    rows: [2, 7],
    draw: (random, scene) => {
      const right = random.pick<Right>(['nobody', 'send', 'send', 'listen', 'manage']);
      // The only route that learns from its body which rights it takes.
      const transactions = ['POST', '/$transactions'] as const;
      const isLikely = random.chance(right === 'nobody' ? 0.8 : 0.2);
      const [method, path] = isLikely ? transactions : random.pick(routes(scene));
      const megabytes = random.pick([0.05, 0.2, 0.9, 2, 8, 24]);
      const body = jsonBomb(random, megabytes * MB);
      const entity = right === 'nobody' ? '' : entityIn(path) || scene.queue;
      const token = tokenOf(scene, right, entity);
      return {
        what: `${method} ${path} as ${right}, ${body.length} characters: ${body.slice(0, 60)}`,
        wires: wires(random.between(1, 3), httpRequest({ method, path, token, body })),
      };
    },
  },
  {
    name: 'XML with the right to manage',
    rows: [10],
    draw: (random, scene) => {
      const bytes = random.between(8, 127) * KB;
      const path = random.pick([
        `/${scene.queue}`,
        `/${scene.topic}`,
        `/${scene.topic}/Subscriptions/one/Rules/r${random.below(1000)}`,
      ]);
      const token = tokenOf(scene, 'manage', entityIn(path));
      const body = xmlBomb(random, bytes);
      const headers = [['If-Match', '*']] as const;
      const type = 'application/atom+xml';
      const request = { method: 'PUT', path, token, type, headers, body };
      return {
        what: `${path}, ${body.length} characters: ${body.slice(180, 330)}`,
        wires: wires(random.between(1, 4), httpRequest(request)),
      };
    },
  },
  {
    name: 'large sends',
    rows: [7],
    draw: (random, scene) => {
      const megabytes = random.pick([0.3, 1, 8, 90, 100]);
      const path = `/${random.pick([scene.queue, scene.topic])}/messages`;
      const token = tokenOf(scene, 'send', entityIn(path));
      const isChunked = random.chance(0.5);
      return {
        what: `${megabytes} MB to ${path}${isChunked ? ', in chunks' : ''}`,
        wires: wires(
          random.between(1, 6),
          ...withLargeBody(
            { method: 'POST', path, token, type: 'text/plain' },
            megabytes * MB - 64 * KB,
            isChunked,
          ),
        ),
      };
    },
  },
  {
    name: 'batches to a topic',
    rows: [22],
    draw: (random, scene) => {
      const [count, bytes] = random.pick<readonly [number, number]>([
        [1, 250],
        [4, 200],
        [100, 9],
        [900, 1],
      ]);
      const message = {
        Body: JSON.stringify({ n: random.below(1e6) }).repeat(Math.ceil((bytes * KB) / 12)),
      };
      const body = JSON.stringify(Array.from({ length: count }, () => message));
      const token = tokenOf(scene, 'send', scene.topic);
      const times = random.between(1, 10);
      const request = httpRequest({
        method: 'POST',
        path: `/${scene.topic}/messages`,
        token,
        body,
      });
      return {
        what: `${times} × ${count} messages, ${request.length} bytes`,
        wires: wires(random.between(1, 3), repeat(times, request)),
      };
    },
  },
  {
    name: 'odd properties',
    rows: [19],
    draw: (random, scene) => {
      const token = tokenOf(scene, 'send', scene.queue);
      const one = () => {
        const broker: Record<string, unknown> = {
          ScheduledEnqueueTimeUtc: random.pick(INSTANTS),
          TimeToLive: random.pick([-1, 0, 1e300, 2 ** 53, 1e-9, 'x']),
          SessionId: 'x'.repeat(random.pick([0, 128, 2000])),
          MessageId: random.pick(['\ud800', '', 'x'.repeat(2000), '\u0000']),
          PartitionKey: random.pick(['\udfff', 'x']),
        };
        const names = Object.keys(broker).filter(() => random.chance(0.4));
        const chosen = Object.fromEntries(names.map((name) => [name, broker[name]]));
        const headers = [
          ['BrokerProperties', JSON.stringify(chosen)],
          [random.pick(RESPONSE_HEADERS), random.pick(['"x"', '1', '"\\u0000"', '"\\r\\nx: y"'])],
        ] as const;
        return httpRequest({
          method: 'POST',
          path: `/${scene.queue}/messages`,
          token,
          headers,
          type: 'text/plain',
          body: 'x',
        });
      };
      const receive = httpRequest({
        ...{ method: 'DELETE', path: `/${scene.queue}/messages/head?timeout=0&maxMessages=100` },
        token: tokenOf(scene, 'listen', scene.queue),
      });
      return {
        what: '50 sends and receives on each of 4 connections',
        wires: Array.from({ length: 4 }, () => ({ steps: [joined(50, one), repeat(5, receive)] })),
      };
    },
  },
  {
    name: 'waiting receives',
    rows: [12],
    draw: (random, scene) => {
      const times = random.between(1, 100);
      const timeout = random.pick(['60', '55', '0', '-1', '1e9', '99999999999', 'x']);
      const many = random.pick(['', '&maxMessages=1000', '&maxMessages=99999999999']);
      const path = random.pick([
        `/${scene.queue}/messages/head?timeout=${timeout}${many}`,
        `/${scene.topic}/Subscriptions/one/messages/head?timeout=${timeout}${many}`,
        `/${scene.sessions}/sessions/$accept?timeout=${timeout}`,
        `/${scene.sessions}/sessions/$list?top=${timeout}`,
        `/${scene.queue}/messages?from=${timeout}${many}`,
      ]);
      const method = path.includes('/messages?') || path.includes('$list') ? 'GET' : 'POST';
      const request = httpRequest({
        method,
        path,
        token: tokenOf(scene, 'listen', entityIn(path)),
      });
      return {
        what: `${times} × ${method} ${path}`,
        wires: wires(random.between(1, 16), repeat(times, request)),
      };
    },
  },
];

/** The entity that a path begins with; nothing where it belongs to the namespace. */
function entityIn(path: string): string {
  const [, first = ''] = path.split(/[/?]/);
  return first.startsWith('$') ? '' : first;
}
