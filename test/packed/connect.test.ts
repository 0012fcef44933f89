import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isMore } from '../runner/more.ts';
import { Project } from './project.ts';

/** dynabus/connect from the package, with the program of docs/connect.md as it stands there. */

const PROGRAM = /```js\n(?<program>import [\s\S]*?)```/;
const CONFIG = { queues: ['orders'] };
const READY_POLL_MS = 25;

if (isMore()) {
  let project: Project;
  let server: ChildProcess;
  let connectionString: string;

  before(async () => {
    project = Project.with('connect', ['@azure/service-bus@7.9.5', 'typescript@5.9.3']);
    project.write('dynabus.json', JSON.stringify(CONFIG));
    const ready = join(project.folder, 'ready.json');
    const start = ['dynabus', 'start', '--config', 'dynabus.json', '--port', '0'];
    const started = project.start([...start, '--ready-file', ready]);
    started.stdout.resume();
    server = started;
    while (!existsSync(ready)) {
      assert.equal(server.exitCode, null, 'The server has ended.');
      await delay(READY_POLL_MS);
    }
    ({ connectionString } = JSON.parse(readFileSync(ready, 'utf8')));
  });
  after(async () => {
    const ended = once(server, 'exit');
    server.kill();
    await ended;
  });

  const program = () => PROGRAM.exec(readFileSync('docs/connect.md', 'utf8'))?.groups?.['program'];

  /** Runs the program, which ends by itself; the message that it has sent is printed. */
  const runs = (file: string) => {
    const variables = { DYNABUS_CONNECTION_STRING: connectionString };
    const { exitCode, output, errors } = project.run(['node', file], { variables });
    assert.equal(exitCode, 0, errors);
    assert.match(output, /^\{ order: 1 \}\n$/);
  };

  test('the program of the documentation runs as an ES module', () => {
    project.write('program.mjs', program() ?? '');
    runs('program.mjs');
  });

  test('and as a CommonJS module', () => {
    const [imports = '', body = ''] = (program() ?? '').split('\n\n');
    const required = imports.replaceAll(/import (.+) from (.+);/g, 'const $1 = require($2);');
    const rest = (program() ?? '').slice(imports.length);
    assert.match(body, /createWebSocket/);
    project.write('program.cjs', `${required}\n(async () => {${rest}})();`);
    runs('program.cjs');
  });

  test('its types fit those of the client', () => {
    const typed = `
      import { ServiceBusClient } from '@azure/service-bus';
      import { type ConnectedWebSocket, createWebSocket } from 'dynabus/connect';
      const webSocket: ConnectedWebSocket = createWebSocket({ connectionString: 'x', sendsOnce: true });
      createWebSocket({ endpoint: 'https://a.b', region: 'eu-west-1' });
      createWebSocket({ direct: { entitiesTable: 'e', messagesTable: 'm', namespace: 'n', tier: 'Premium' } });
      new ServiceBusClient('y', { webSocketOptions: { webSocket } });
      // @ts-expect-error A namespace must be named.
      createWebSocket({});
      export const drained: Promise<void> = webSocket.drain();
    `;
    project.write('typed.mts', typed);
    const options = ['--target', 'es2023', '--strict', '--noEmit', '--skipLibCheck'];
    const compile = ['tsc', ...options, '--module', 'nodenext', 'typed.mts'];
    const { exitCode, output } = project.run(compile);
    assert.equal(exitCode, 0, output);
  });

  test('dynabus proxy serves the same namespace', async () => {
    const variables = { DYNABUS_CONNECTION_STRING: connectionString };
    const proxy = project.start(['dynabus', 'proxy', '--port', '0', '--json'], variables);
    const [line] = await once(proxy.stdout.setEncoding('utf8'), 'data');
    const plain = `
      import { ServiceBusClient } from '@azure/service-bus';
      const client = new ServiceBusClient(process.argv[2]);
      await client.createSender('orders').sendMessages({ body: { order: 1 } });
      const receiver = client.createReceiver('orders', { receiveMode: 'receiveAndDelete' });
      console.log((await receiver.receiveMessages(1))[0].body);
      await client.close();
    `;
    project.write('plain.mjs', plain);
    const through = JSON.parse(line).connectionString;
    const { exitCode, output, errors } = project.run(['node', 'plain.mjs', through]);
    assert.equal(exitCode, 0, errors);
    assert.match(output, /^\{ order: 1 \}\n$/);
    const ended = once(proxy, 'exit');
    proxy.kill();
    assert.deepEqual(await ended, [0, null]);
  });
}
