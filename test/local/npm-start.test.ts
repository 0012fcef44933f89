import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findLauncher, hasEnded, type ProcessInfo } from '../../local/launcher.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { localServer } from '../runner/built-server.ts';
import { isMore } from '../runner/more.ts';
import { RawSession, sourceOf } from '../support/raw-session.ts';
import {
  curlLines,
  descendants,
  freePort,
  isRunning,
  paste,
  QUEUE_ENTRY,
  startNamespaceCli,
  temporaryDirectory,
  tokenIn,
  until,
  untilEnded,
} from './cli.ts';

/** `npm start & kill $!`: the server that npm has started ends with npm, and other servers do not. */

const { launcherLookMs } = BUDGETS.localServer;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ENGINES = ['dynamodb-local', 'dynoxide'] as const;
/** The signals that end npm. SIGINT does not: npm forwards it to the script's shell, which ignores it. */
const SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGKILL'] as const;
const PLACES = ['in memory', 'with --data'] as const;
/** Every engine with both places, every signal with data; `npm run test:more` takes all of them together. */
const USUAL = [
  'SIGTERM: dynamodb-local, with --data',
  'SIGKILL: dynamodb-local, in memory',
  'SIGHUP: dynoxide, with --data',
  'SIGKILL: dynoxide, with --data',
  'SIGTERM: dynoxide, in memory',
];
/** Two seconds on an idle machine; tests run in parallel with others. */
const END_MS_MAX = 5000;

interface Started {
  readonly child: ChildProcess;
  /** All its descendants. */
  readonly below: readonly number[];
  readonly output: string;
}

/** Runs a command in the repository's directory. Resolves when the server that it starts is ready. */
async function startReady(t: TestContext, command: string, ...args: string[]): Promise<Started> {
  const child = spawn(command, args, {
    cwd: ROOT,
    // Its own session, as in a terminal.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, DYNAMODB_ENDPOINT: undefined, DYNABUS_KEY: undefined },
  });
  let below: readonly number[] = [];
  t.after(() => {
    for (const pid of [...descendants(child.pid), child.pid, ...below]) end(pid);
    child.stdout?.destroy();
    child.stderr?.destroy();
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  await until('the server is ready', () => output.includes('/messages/head'));
  below = descendants(child.pid);
  return { child, below, output };
}

function end(pid: number | undefined): void {
  if (pid !== undefined && isRunning(pid)) process.kill(pid, 'SIGKILL');
}

/** Fails if another process listens on the port. */
async function requireFree(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  await once(server, 'close');
}

for (const engine of ENGINES) {
  for (const signal of SIGNALS) {
    for (const where of PLACES) {
      const how = `${signal}: ${engine}, ${where}`;
      if (!isMore() && !USUAL.includes(how)) continue;
      test(`the server and its engine end when a script ends npm by ${how}`, async (t) => {
        const port = await freePort();
        const data = where === 'with --data' ? ['--data', temporaryDirectory(t)] : [];
        const args = ['--engine', engine, ...data];
        const { child, below, output } = await startReady(
          ...([t, 'npm', 'start', '--', '--port', String(port), ...args] as const),
        );
        assert.ok(below.length >= 3, 'a server, a supervisor and an engine run below npm');
        const [create = '', send = ''] = curlLines(output);
        assert.match(paste(create), /\n201$/);
        assert.match(paste(send), /\n201$/);
        assert.match(paste(create.replace('/hello', '/another')), /\n201$/);

        const client = RawSession.root(port);
        t.after(() => client.raw.destroy());
        client.credit((await client.receiver(sourceOf('another'))).handle, 1);

        const since = Date.now();
        child.kill(signal);
        await untilEnded(below);

        const ms = Date.now() - since;
        t.diagnostic(`${ms} ms`);
        assert.ok(ms < END_MS_MAX, `ended after ${ms} ms`);
        await requireFree(port);
        if (data.length === 0) return;
        const again = await startNamespaceCli(t, { args });
        const [, , receive = ''] = curlLines(again.output());
        assert.equal(paste(receive), 'Hello, bus\n200');
      });
    }
  }
}

/** Begins a request. Resolves when the server waits for its body. */
async function beginUpload(port: number, output: string) {
  const upload = request(`http://localhost:${port}/hello`, {
    method: 'PUT',
    headers: { expect: '100-continue', authorization: tokenIn(output) },
  });
  upload.flushHeaders();
  await once(upload, 'continue');
  return {
    finish: async () => {
      upload.end(QUEUE_ENTRY);
      const [response]: IncomingMessage[] = await once(upload, 'response');
      response?.resume();
      return response?.statusCode;
    },
  };
}

test('after its terminal is closed, the server lets requests finish', async (t) => {
  const cli = await startNamespaceCli(t, { args: ['--engine', 'dynoxide'] });
  const [, port = ''] = /http:\/\/localhost:(\d+)/.exec(cli.output()) ?? [];
  const upload = await beginUpload(Number(port), cli.output());
  cli.child.stdout?.destroy();
  cli.child.stderr?.destroy();
  cli.child.kill('SIGHUP');
  assert.equal(await upload.finish(), 201);
  assert.equal(await cli.ended, 0);
});

test('Ctrl-C, which reaches the server from the terminal and from npm, lets requests finish', async (t) => {
  const port = await freePort();
  const { child, output, below } = await startReady(
    ...([t, 'npm', 'start', '--', '--port', String(port), '--engine', 'dynoxide'] as const),
  );
  const upload = await beginUpload(port, output);
  process.kill(-(child.pid ?? 0), 'SIGINT');
  const stopping = once(child.stdout ?? child, 'data');
  assert.match(String(await stopping), /Stopping/);
  assert.equal(await upload.finish(), 201);
  await untilEnded(below);
});

test('if npm is killed while the server starts, no process stays', async (t) => {
  const child = spawn('npm', ['start', '--', '--port', '0', '--engine', 'dynamodb-local'], {
    cwd: ROOT,
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, DYNAMODB_ENDPOINT: undefined },
  });
  let below: readonly number[] = [];
  t.after(() => {
    for (const pid of [child.pid, ...below]) end(pid);
  });
  await until('the server process runs', () => {
    below = descendants(child.pid);
    return below.length >= 2;
  });
  child.kill('SIGKILL');
  await untilEnded(below);
});

/** The pause between two requests of a server that must run on. */
const POLL_MS = isMore() ? 0 : launcherLookMs / 2;

const LOCAL_SERVER = localServer().join(' ');

/** Command lines that start a server in the background on purpose; the shell then ends. */
const IN_BACKGROUND: Readonly<Record<string, string>> = {
  'node &': `node ${LOCAL_SERVER} "$@" &`,
  'setsid node &': `setsid node ${LOCAL_SERVER} "$@" &`,
  'npm start &': 'npm start -- "$@" &',
  'setsid npm start &': 'setsid npm start -- "$@" &',
};

for (const [name, line] of Object.entries(IN_BACKGROUND)) {
  test(`a server that a shell has started in the background runs on after the shell: ${name}`, async (t) => {
    const port = await freePort();
    // The shell ends when its input ends. Until then the server is its descendant.
    const { child, below } = await startReady(
      ...([t, 'sh', '-c', `${line} read _`, 'sh', '--port', String(port)] as const),
      ...['--engine', 'dynoxide'],
    );
    assert.ok(below.length >= 3);
    child.stdin?.end();
    await until('the shell has ended', () => !isRunning(child.pid));
    const since = Date.now();
    while (Date.now() < since + 4 * launcherLookMs) {
      assert.equal((await fetch(`http://localhost:${port}/health`)).status, 200);
      await delay(POLL_MS);
    }
    for (const pid of below) assert.ok(isRunning(pid), `process ${pid} runs`);
  });
}

/** A terminal (1) with its shell (10), npm (20), the script's shell (30), and the server (40). */
const PROCESSES: Readonly<Record<number, ProcessInfo>> = {
  1: { parent: 0, session: 1, arguments: ['init'] },
  10: { parent: 1, session: 10, arguments: ['bash'] },
  20: { parent: 10, session: 10, arguments: ['npm start --port 0', ''] },
  30: { parent: 20, session: 10, arguments: ['sh', '-c', 'node --import tsx local/main.ts start'] },
  40: { parent: 30, session: 10, arguments: ['node', '--import', 'tsx', 'local/main.ts', 'start'] },
};
const find = (pid: number) => PROCESSES[pid];
const BY_NPM = { npm_lifecycle_event: 'start', npm_package_name: 'dynabus' };

test('the server watches npm through the shell of its script, or directly if the shell has replaced itself by the server', () => {
  const throughShell = findLauncher({ pid: 40, ppid: 30, env: BY_NPM }, find);
  assert.deepEqual(throughShell, { parent: 30, aboveShell: 20 });
  const direct = findLauncher({ pid: 40, ppid: 20, env: BY_NPM }, find);
  assert.deepEqual(direct, { parent: 20 });
  // Some systems do not show other processes.
  const unseen = findLauncher({ pid: 40, ppid: 20, env: BY_NPM }, () => undefined);
  assert.deepEqual(unseen, { parent: 20 });
});

test('npm has ended if the server, or the shell in between, has another parent', () => {
  const launcher = { parent: 30, aboveShell: 20 };
  assert.equal(hasEnded(launcher, 30, find), false);
  assert.equal(hasEnded(launcher, 1, find), true);
  const killed = (pid: number) => (pid === 30 ? { ...PROCESSES[30], parent: 1 } : find(pid));
  assert.equal(hasEnded(launcher, 30, killed as typeof find), true);
  assert.equal(hasEnded({ parent: 20 }, 20, find), false);
  assert.equal(hasEnded({ parent: 20 }, 1, find), true);
});

test('the server notices an npm that ended before the server looked for it', () => {
  assert.equal(findLauncher({ pid: 40, ppid: 1, env: BY_NPM }, find), 'gone');
  const orphans: typeof PROCESSES = {
    ...PROCESSES,
    30: { parent: 1, session: 10, arguments: ['sh', '-c', ''] },
  };
  const findOrphan = (pid: number): ProcessInfo | undefined => orphans[pid];
  assert.equal(findLauncher({ pid: 40, ppid: 30, env: BY_NPM }, findOrphan), 'gone');
});

test('the server watches npx, and npm where it runs a script that calls dynabus', () => {
  for (const line of ["'dynabus'", 'dynabus start --port 0', 'PORT=1 dynabus start & jest']) {
    const env = {
      npm_lifecycle_event: 'npx',
      npm_package_name: 'shop',
      npm_lifecycle_script: line,
    };
    const launcher = findLauncher({ pid: 40, ppid: 30, env }, find);
    assert.deepEqual(launcher, { parent: 30, aboveShell: 20 }, line);
  }
});

test('the server watches only the npm that runs its script', () => {
  const servers = [
    { env: {} },
    { env: { npm_lifecycle_event: 'test', npm_lifecycle_script: 'node ../dynabus/test.js' } },
    { env: { npm_lifecycle_event: 'test', npm_lifecycle_script: 'my-dynabus start' } },
    { env: { ...BY_NPM, npm_lifecycle_event: 'test' } },
    { env: { ...BY_NPM, npm_package_name: 'shop' } },
  ];
  for (const { env } of servers) {
    assert.equal(findLauncher({ pid: 40, ppid: 30, env }, find), undefined);
  }
  const own: typeof PROCESSES = { ...PROCESSES, 40: { parent: 30, session: 40, arguments: [] } };
  const findOwn = (pid: number): ProcessInfo | undefined => own[pid];
  assert.equal(findLauncher({ pid: 40, ppid: 30, env: BY_NPM }, findOwn), undefined, 'setsid');
});
