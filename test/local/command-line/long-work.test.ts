import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { commandLine } from '../../runner/built-server.ts';
import { isMore } from '../../runner/more.ts';
import { linesOf, runProcess, sharedNamespace } from './run-command.ts';

/** Long work: many messages, its progress, and its end by Ctrl-C or a closed pipe. */

const bus = sharedNamespace();
const MANY = isMore() ? 10_000 : 2_000;

test(`${MANY} messages are sent, dead-lettered, resubmitted and purged`, async () => {
  const queue = await bus.queue();
  const sent = await bus.succeed(['send', queue, 'load', '--count', String(MANY), '--json']);
  assert.deepEqual(JSON.parse(sent), { sent: MANY });
  await bus.succeed(['receive', queue, '--count', String(MANY), '--dead-letter', '--quiet']);
  const before = JSON.parse(await bus.succeed(['list', queue, '--json']));
  assert.equal(before[0].CountDetails.DeadLetterMessageCount, MANY);
  assert.equal(
    await bus.succeed(['resubmit', queue, '--all']),
    `Resubmitted ${MANY.toLocaleString('en-US')} messages of ${queue}/$deadletterqueue.\n`,
  );
  const purged = await bus.succeed(['purge', queue, '--yes', '--json']);
  assert.deepEqual(JSON.parse(purged), { removed: MANY, isEstimate: false });
  assert.equal(await bus.succeed(['peek', queue, '--json']), '');
});

test('resubmit ends although its messages are dead-lettered again while it runs', async () => {
  const queue = await bus.queue('<MaxDeliveryCount>1</MaxDeliveryCount>');
  await bus.succeed(['send', queue, 'again', '--count', '600']);
  await bus.succeed(['receive', queue, '--count', '600', '--dead-letter']);
  const receiver = new AbortController();
  const deadLettering = (async () => {
    while (!receiver.signal.aborted) {
      await bus.run([
        'receive',
        queue,
        '--count',
        '50',
        '--dead-letter',
        '--wait',
        '0s',
        '--quiet',
      ]);
    }
  })();
  const { code, stdout } = await bus.run(['resubmit', queue, '--all', '--json']);
  receiver.abort();
  await deadLettering;
  assert.deepEqual([code, JSON.parse(stdout)], [0, { resubmitted: 600, left: 0 }]);
});

test('an interrupted send says what was sent, and ends with 130', async () => {
  const queue = await bus.queue();
  const controller = new AbortController();
  controller.abort();
  const { code, stdout } = await bus.run(['send', queue, 'x', '--count', '500', '--json'], {
    signal: controller.signal,
  });
  assert.deepEqual([code, JSON.parse(stdout)], [130, { sent: 0 }]);
});

test('Ctrl-C ends a receive that waits, with 130', async () => {
  const queue = await bus.queue();
  const child = spawn(
    process.execPath,
    [...commandLine(), 'receive', queue, '--wait', '60s', '--count', '2'],
    {
      env: { ...process.env, ...(await bus.environment()) },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  await bus.succeed(['send', queue, 'first']);
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  assert.equal(code, 130);
});

test('Ctrl-C ends an import that waits for its input, and says what was sent', async () => {
  const queue = await bus.queue();
  const child = spawn(process.execPath, [...commandLine(), 'import', queue], {
    env: { ...process.env, ...(await bus.environment()) },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stdin.write('{"Body":"x"}\n'.repeat(250));
  child.stdin.write('{"Body":"251st"}\n');
  for (let sent = 0; sent < 250; ) {
    const messages = await bus.succeed(['peek', queue, '--all', '--json', '--quiet']);
    sent = linesOf(messages).length;
  }
  child.kill('SIGINT');
  const [[code], [errors]] = await Promise.all([once(child, 'exit'), once(child.stderr, 'data')]);
  assert.equal(code, 130);
  assert.ok(String(errors).startsWith(`Sent 250 messages to ${queue} before the error.\n`));
});

test('a closed pipe ends an export quietly', async () => {
  const queue = await bus.queue();
  await bus.succeed(['send', queue, 'x'.repeat(1000), '--count', '1000']);
  const env = await bus.environment();
  const line = `"$0" ${commandLine().join(' ')} export ${queue} | head -n 1 | wc -l`;
  const child = spawn('sh', ['-c', line, process.execPath], { env: { ...process.env, ...env } });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [output] = await once(child.stdout, 'data');
  await once(child, 'close');
  assert.equal(String(output).trim(), '1');
  assert.equal(errors, '');
});

test('a terminal gets one progress line that changes, and is clean at the end', async () => {
  const queue = await bus.queue();
  const args = ['send', queue, 'x'.repeat(100), '--count', '4000'];
  const { stderr } = await bus.run(args, { isTTY: true });
  const shown = stderr.replaceAll('\u001b[K', '<end>');
  assert.match(shown, /^(?:\rSent [\d,]+ of 4,000 messages, [\d,]+ a second<end>)+\r<end>$/);
  assert.equal((await bus.run([...args, '--quiet'], { isTTY: true })).stderr, '');
});

test('the process takes the namespace from the variable', async () => {
  const queue = await bus.queue();
  const env = await bus.environment();
  const { code, stdout } = await runProcess(['send', queue, 'x', '--json'], { env });
  assert.deepEqual([code, stdout], [0, '{"sent":1}\n']);
});
