import type { LoadRandom } from '../../support/load-random.ts';
import { xmlBomb } from './bombs.ts';
import { joined, KB, type Kind, MB, repeat, wires } from './draw.ts';
import { chunkOf, headOf, httpRequest, withLargeBody } from './http-bytes.ts';
import { type Scene, tokenOf } from './scene.ts';

/** What somebody without a right asks over HTTP; tokens are missing, wrong or made up. */

const ODD_PATHS = [
  ...['/..', '/../../etc/passwd', '/%2e%2e/x', '/%2e/messages', '//', '///messages', '/%00', '/%'],
  ...['/%ED%A0%80/messages', '/%ff%fe', '/%C0%AF', '/\\', '/a/./b', '/a/../messages', '/$'],
  ...['http://elsewhere/q', '/q/messages/head?timeout=1e9', '/?', '/#', '/$health/', '/%24health'],
  ...['/__proto__', '/constructor/messages', '/q/messages/1/2/3/4', '/$Resources/Queues?$skip=1e9'],
] as const;
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
const ODD_METHODS = [
  ...['PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'CONNECT', 'PROPFIND', 'LOCK', 'PURGE', 'M-SEARCH'],
  ...['XYZ', 'get', 'PRI'],
] as const;

export const HTTP_STRANGERS: readonly Kind[] = [
  {
    name: 'large bodies with a made-up token',
    rows: [2, 7],
    draw: (random, scene) => {
      const [method, path] = random.pick(routes(scene));
      const token = tokenOf(scene, 'nobody');
      const megabytes = random.pick([1, 2, 8, 24, 60, 100]);
      const isChunked = random.chance(0.5);
      return {
        what: `${megabytes} MB to ${method} ${path}${isChunked ? ', in chunks' : ''}`,
        wires: wires(
          random.between(1, 4),
          ...withLargeBody({ method, path, token }, megabytes * MB - MB / 2, isChunked),
        ),
      };
    },
  },
  {
    name: 'XML with a made-up token',
    rows: [10],
    draw: (random, scene) => {
      const bytes = random.between(8, 125) * KB;
      const token = random.chance(0.7) ? { token: tokenOf(scene, 'nobody') } : {};
      const request = {
        ...{ method: 'PUT', path: `/${scene.queue}`, type: 'application/atom+xml' },
        ...{ ...token, body: xmlBomb(random, bytes) },
      };
      return {
        what: `${request.body.length} characters: ${request.body.slice(0, 250)}`,
        wires: wires(random.between(1, 8), httpRequest(request)),
      };
    },
  },
  {
    name: 'slow requests',
    rows: [],
    draw: (random, scene) => {
      const [method, path] = random.pick(routes(scene));
      const request = { method, path, token: tokenOf(scene, 'nobody') };
      const isHead = random.chance(0.4);
      const start = isHead
        ? headOf(request).subarray(0, -4)
        : headOf(request, [['Content-Length', '9000000']]);
      const piece = isHead ? Buffer.from('\r\nX: 1') : Buffer.alloc(random.pick([1, 60 * KB]), 'x');
      const trickle = Array.from({ length: 15 }, () => [piece, { pauseMs: 40 }]).flat();
      return {
        what: `${isHead ? 'a head' : 'a body'} in pieces of ${piece.length} bytes`,
        wires: wires(random.between(8, 16), start, ...trickle),
      };
    },
  },
  {
    name: 'odd paths',
    rows: [20],
    draw: (random, scene) => {
      const long = `/${random.pick(['x', '/', '%41', '../', 'a/'])}`.padEnd(
        random.pick([500, 14_000]),
        'x/',
      );
      const token = tokenOf(scene, random.pick(['nobody', 'send', 'manage']));
      const one = () => {
        const path = random.pick([long, ...ODD_PATHS]);
        return httpRequest({ method: random.pick(METHODS), path, token });
      };
      return {
        what: '20 requests on each of 14 connections',
        wires: Array.from({ length: 14 }, () => ({ steps: [joined(20, one)] })),
      };
    },
  },
  {
    name: 'floods of headers',
    rows: [],
    draw: (random, scene) => {
      const [what, headers] = random.pick<
        readonly [string, readonly (readonly [string, string])[]]
      >([
        ['many', Array.from({ length: 1900 }, (_, i) => [`x${i}`, ''] as const)],
        ['one that is long', [['x', 'x'.repeat(15_000)]]],
        ['the same', Array.from({ length: 1500 }, () => ['Cookie', 'a'] as const)],
        ['properties', Array.from({ length: 800 }, (_, i) => [`p${i}`, '"x"'] as const)],
        ['broker properties', [['BrokerProperties', '['.repeat(15_000)]]],
        [
          'a length twice',
          [
            ['Content-Length', '1'],
            ['Content-Length', '2'],
          ],
        ],
        ['an expectation', [['Expect', '100-continue']]],
        [
          'an upgrade',
          [
            ['Connection', 'Upgrade, HTTP2-Settings'],
            ['Upgrade', 'h2c'],
            ['HTTP2-Settings', 'AAMAAABkAARAAAAAAAIAAAAA'],
          ],
        ],
      ]);
      const [method, path] = random.pick(routes(scene));
      const request = httpRequest({ method, path, token: tokenOf(scene, 'nobody'), headers });
      const times = random.between(1, 60);
      return {
        what: `${what}, ${times} times`,
        wires: wires(random.between(1, 12), repeat(times, request)),
      };
    },
  },
  {
    name: 'pipelined requests',
    rows: [11],
    draw: (random, scene) => {
      const times = random.between(50, 1500);
      const isMissing = random.chance(0.4);
      const token = tokenOf(scene, 'nobody');
      const [method, path] = random.pick([
        ...routes(scene),
        ['GET', '/$openapi.json'],
        [random.pick(ODD_METHODS), '/'],
        ['POST', `/${'a/'.repeat(7000)}messages/head`],
      ] as const);
      const one = (index: number) =>
        httpRequest({ method, path: isMissing ? `/missing-${index}/messages` : path, token });
      const isDeaf = random.chance(0.4);
      const steps = [joined(times, one)];
      return {
        what: `${times} × ${isMissing ? 'something that is missing' : `${method} ${path}`}${isDeaf ? ', never reading' : ''}`,
        wires: Array.from({ length: random.between(1, 6) }, () => ({ steps, isDeaf })),
      };
    },
  },
  {
    name: 'odd tokens',
    rows: [9, 11],
    draw: (random, scene) => {
      const [what, token] = random.pick(tokens(random, scene));
      const times = random.between(20, 300);
      const request = httpRequest({
        method: 'POST',
        path: `/${scene.queue}/messages/head?timeout=0`,
        token,
      });
      return {
        what: `${times} × ${what}`,
        wires: wires(random.between(1, 8), repeat(times, request)),
      };
    },
  },
  {
    name: 'odd chunks',
    rows: [7],
    draw: (random, scene) => {
      const [what, chunk] = random.pick<readonly [string, Buffer]>([
        ['chunks of a byte', chunkOf(Buffer.from('x'))],
        ['chunks with extensions', chunkOf(Buffer.from('x'), `;${'x'.repeat(1000)}`)],
        ['chunks of nearly nothing', chunkOf(Buffer.from('{}'), ';a=b')],
      ]);
      const batch = Math.ceil((32 * KB) / chunk.length);
      const times = random.between(1, 100);
      const right = random.pick(['nobody', 'send'] as const);
      const head = headOf(
        {
          method: 'POST',
          path: `/${scene.queue}/messages`,
          token: tokenOf(scene, right, scene.queue),
        },
        [['Transfer-Encoding', 'chunked']],
      );
      return {
        what: `${times * batch} ${what}, as ${right}`,
        wires: wires(
          random.between(1, 6),
          head,
          repeat(
            times,
            joined(batch, () => chunk),
          ),
        ),
      };
    },
  },
];

type Addressed = readonly [string, string];

/** Every route that takes a body, and some that do not. */
export function routes({ queue, sessions, topic }: Scene): readonly [Addressed, ...Addressed[]] {
  const lock = '00000000-0000-0000-0000-000000000000';
  const verbs = ['$settle', '$renew', '$schedule', '$cancelScheduled', '$deferred', '$breakLock'];
  const operator = ['$reactivate', '$deadLetter', '$delete', '$resubmit', '$purge'];
  return [
    ['POST', `/${queue}/messages`],
    ['POST', '/$transactions'],
    ['POST', `/${topic}/messages`],
    ...[...verbs, ...operator].map((verb): Addressed => ['POST', `/${queue}/messages/${verb}`]),
    ['POST', `/${queue}/messages/head?timeout=0`],
    ['DELETE', `/${queue}/messages/head?timeout=0`],
    ['PUT', `/${queue}/messages/1/${lock}`],
    ['POST', `/${queue}/messages/1/${lock}`],
    ['POST', `/${sessions}/sessions/$accept`],
    ['PUT', `/${sessions}/sessions/$state?sessionId=a&sessionLock=${lock}`],
    ['PUT', `/${queue}`],
    ['PUT', `/${topic}/Subscriptions/one`],
    ['PUT', `/${topic}/Subscriptions/one/Rules/r`],
    ['GET', `/${queue}`],
    ['GET', '/$Resources/Queues'],
  ];
}

function tokens(random: LoadRandom, scene: Scene): readonly [Addressed, ...Addressed[]] {
  const scheme = 'SharedAccessSignature ';
  const good = tokenOf(scene, 'listen', scene.queue);
  return [
    ['many fields', scheme + 'sr=a&'.repeat(2500)],
    ['many percent signs', `${scheme}sr=${'%41'.repeat(4000)}&sig=x&se=9999999999&skn=x`],
    [
      'many slashes',
      `${scheme}sr=${encodeURIComponent(`sb://localhost/${'/'.repeat(4000)}`)}&sig=x&se=9999999999&skn=x`,
    ],
    ['spaces', scheme + ' '.repeat(14_000)],
    ['a long signature', `${scheme}sr=a&sig=${'A'.repeat(14_000)}&se=9999999999&skn=x`],
    [
      'odd times',
      `${scheme}sr=a&sig=x&se=${random.pick(['999999999999999', '-1', '1e9', '0x1'])}&skn=x`,
    ],
    [
      'a good one spelled in another way',
      tokenOf(
        scene,
        'listen',
        scene.queue,
        (address) => `${address}${'/'.repeat(random.below(200))}`,
      ),
    ],
    ['a good one with more', `${good}&x=${'y'.repeat(10_000)}`],
    ['a good one for another right', tokenOf(scene, 'send', scene.queue)],
  ];
}
