import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { PUBLIC_ROOT_KEY } from '../../../shared/auth/root-rule.ts';
import { localServer } from '../../runner/built-server.ts';
import { ApiClient } from '../../support/api-client.ts';
import type { LoadRandom } from '../../support/load-random.ts';

/** The clock of the local server, moved by odd values while a client sends and receives. */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const ENTRY =
  '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"/></content></entry>';
/** Instants beyond it cannot be written in the formats of the service. */
const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** All of them small, or to be refused: a large move leaves no time for others. */
const MOVES = [
  ...[0.0005, 1e-9, 0.1, 1e-320, -0, -1, 1e300, 2 ** 53 + 2, null, 'x', [1]].map((advanceSeconds) =>
    JSON.stringify({ advanceSeconds }),
  ),
  ...['', '275760-09-13T00:00:00Z', '+275760-09-13T00:00:00.000Z', '10000-01-01', 'x', 0, []].map(
    (now) => JSON.stringify({ now }),
  ),
  ...['', '[', 'null', '[]', '1', '"x"', '{"advanceSeconds":1e999}', '{"__proto__":{"now":"x"}}'],
];

/** A clock that has gone astray stays there. */
const TROUBLES_MAX = 3;

/** What went wrong, one sentence for each. */
export async function moveClockOddly(
  random: LoadRandom,
  count: number,
): Promise<readonly string[]> {
  const child = spawn(process.execPath, [...localServer(), '--quiet', '--port', '0'], {
    cwd: ROOT,
    env: { ...process.env, DYNABUS_KEY: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    const troubles: string[] = [];
    const api = new ApiClient(await urlOf(child), PUBLIC_ROOT_KEY);
    const queue = `clock-${random.below(1e9)}`;
    await api.request('PUT', queue, { body: ENTRY });
    for (let i = 0; i < count && troubles.length < TROUBLES_MAX; i++) {
      const body = MOVES[random.below(MOVES.length)] ?? '';
      const trouble = await troubleWith(api, queue, body);
      if (trouble !== undefined) troubles.push(`${body}: ${trouble}`);
    }
    return troubles;
  } finally {
    child.kill('SIGKILL');
  }
}

async function troubleWith(api: ApiClient, queue: string, body: string) {
  const headers = { 'Content-Type': 'application/json' };
  const { status } = await api.request('POST', '$clock', { headers, body });
  if (status !== 200 && status !== 400) return `was answered with ${status}`;
  const { status: told, text } = await api.request('GET', '$clock');
  if (told !== 200) return `the clock was asked, and answered with ${told}`;
  const now = Date.parse((JSON.parse(text) as { readonly now: string }).now);
  if (!(now <= LAST_INSTANT)) return `the clock says ${text}`;
  const sent = await api.request('POST', `${queue}/messages`, { body: 'x' });
  if (sent.status !== 201) return `a send was answered with ${sent.status} ${sent.text}`;
  const path = `${queue}/messages/head?timeout=0`;
  const locked = await api.request('POST', path);
  if (locked.status !== 201) return `a receive was answered with ${locked.status} ${locked.text}`;
  const { pathname } = new URL(locked.headers.get('location') ?? '');
  const settled = await api.request('DELETE', pathname.slice(1));
  return settled.status === 200 ? undefined : `complete was answered with ${settled.status}`;
}

/** Throws with what the server says where it does not start. */
async function urlOf(child: ChildProcess): Promise<string> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('The server is listened to.');
  let said = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'close').then(() => {
    throw new Error(`The local server did not start: ${said}`);
  });
  const [line] = (await Promise.race([once(stdout.setEncoding('utf8'), 'data'), ended])) as [
    string,
  ];
  // It is killed in the end.
  ended.catch(() => {});
  return line.trim();
}
