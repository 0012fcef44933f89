import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { isMore } from '../runner/more.ts';
import { Project } from './project.ts';
import { type Serving, serve } from './serve.ts';

/** dynabus/connect from the package, with the program of docs/connect.md as it stands there. */

const PROGRAM = /```js\n(?<program>import [\s\S]*?)```/;
const CONFIG = { queues: ['orders'] };

if (isMore()) {
  let project: Project;
  let server: Serving;

  before(async () => {
    project = Project.with('connect', ['@azure/service-bus@7.9.5', 'typescript@5.9.3']);
    project.write('dynabus.json', JSON.stringify(CONFIG));
    server = await serve(project, ['dynabus', 'start', '--config', 'dynabus.json', '--port', '0']);
  });
  after(() => server.end());

  const program = () => PROGRAM.exec(readFileSync('docs/connect.md', 'utf8'))?.groups?.['program'];

  /** Runs the program, which ends by itself; the message that it has sent is printed. */
  const runs = (file: string) => {
    const variables = { DYNABUS_CONNECTION_STRING: server.connectionString };
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
    const variables = { DYNABUS_CONNECTION_STRING: server.connectionString };
    const proxy = await serve(project, ['dynabus', 'proxy', '--port', '0', '--json'], variables);
    const plain = `
      import { ServiceBusClient } from '@azure/service-bus';
      const client = new ServiceBusClient(process.argv[2]);
      await client.createSender('orders').sendMessages({ body: { order: 1 } });
      const receiver = client.createReceiver('orders', { receiveMode: 'receiveAndDelete' });
      console.log((await receiver.receiveMessages(1))[0].body);
      await client.close();
    `;
    project.write('plain.mjs', plain);
    const { exitCode, output, errors } = project.run(['node', 'plain.mjs', proxy.connectionString]);
    assert.equal(exitCode, 0, errors);
    assert.match(output, /^\{ order: 1 \}\n$/);
    assert.equal(await proxy.end(), 0);
  });
}
