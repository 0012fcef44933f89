import {
  allConsumers,
  listConsumers,
  putConsumer,
  removeConsumer,
  type ShownConsumer,
} from '../../../client/consumers.ts';
import { type ClientPath, readPath, subQueueOf } from '../../../client/entity-path.ts';
import type { NamespaceClient } from '../../../client/namespace-client.ts';
import { formatDuration } from '../../../shared/domain/duration.ts';
import { UsageError } from '../../startup-error.ts';
import { connect } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT } from '../io.ts';
import { type Column, tableOf } from '../table.ts';
import { readCount, readDuration } from '../values.ts';

/** The options of `dynabus consumer`, as written. */
export interface ConsumerOptions extends CommonOptions {
  readonly target?: string;
  readonly batch?: string;
  readonly window?: string;
  readonly concurrency?: string;
  readonly rate?: string;
  readonly timeout?: string;
  readonly disabled?: boolean;
}

/** The options that are for `set` alone. */
const OF_SET = ['target', 'batch', 'window', 'concurrency', 'rate', 'timeout', 'disabled'] as const;
const COLUMNS: readonly Column[] = [
  { title: 'QUEUE' },
  { title: 'CONSUMER' },
  { title: 'TARGET' },
  { title: 'BATCH', isNumber: true },
  { title: 'WINDOW' },
  { title: 'CONCURRENCY', isNumber: true },
  { title: 'RATE', isNumber: true },
  { title: 'TIMEOUT' },
  { title: 'STATUS' },
];

/** Lists, sets or removes consumers of a queue, a subscription or a dead-letter queue. */
export const runConsumer: RunCommand<ConsumerOptions> = async (
  io,
  [verb = '', pathText, name],
  options,
) => {
  const settings = verb === 'set' ? settingsOf(options) : {};
  const alien = OF_SET.find((option) => verb !== 'set' && options[option] !== undefined);
  if (alien !== undefined) throw new UsageError(`--${alien} is for dynabus consumer set.`);
  const path = pathText === undefined ? undefined : readPath(pathText);
  if (verb === 'list') {
    if (name !== undefined) throw new UsageError('list takes a path and no name of a consumer.');
    await list(connect(io, options), path);
    return EXIT.done;
  }
  if (verb !== 'set' && verb !== 'remove') {
    throw new UsageError(`There is no '${verb}': write list, set or remove after consumer.`);
  }
  if (path === undefined || name === undefined) {
    throw new UsageError(
      `${verb} takes the path of a queue and the name of a consumer: dynabus consumer ${verb} orders worker.`,
    );
  }
  const context = connect(io, options);
  if (verb === 'set') await set(context, path, name, settings);
  else await remove(context, path, name);
  return EXIT.done;
};

/** The settings as JSON of the service. What is left out has its default, as in a PUT. */
function settingsOf(options: ConsumerOptions): Readonly<Record<string, unknown>> {
  const { target, batch, window, concurrency, rate, timeout, disabled } = options;
  if (target === undefined) {
    throw new UsageError(
      'set needs --target: the ARN of a Lambda function or, on a local server, an address such as http://127.0.0.1:3000/orders.',
    );
  }
  const count = (text: string | undefined, option: string) =>
    text === undefined ? undefined : readCount(text, option);
  const duration = (text: string | undefined, option: string) =>
    text === undefined ? undefined : formatDuration(readDuration(text, option));
  return {
    target,
    maxBatch: count(batch, '--batch'),
    batchWindow: duration(window, '--window'),
    maxConcurrency: count(concurrency, '--concurrency'),
    maxPerSecond: count(rate, '--rate'),
    timeout: duration(timeout, '--timeout'),
    enabled: disabled === true ? false : undefined,
  };
}

/** A consumer with its queue. */
interface Listed {
  readonly queue: string;
  readonly consumer: ShownConsumer;
}

async function list(context: Context, path: ClientPath | undefined): Promise<void> {
  const { client } = context;
  const found: Listed[] = [];
  if (path === undefined) {
    for await (const { entity, consumers } of allConsumers(client)) {
      // The list of all entities has no states.
      const queues = new Set(consumers.map(({ subQueue }) => subQueueOf(entity, subQueue).text));
      for (const queue of queues) found.push(...(await listedOf(client, queue)));
    }
  } else {
    found.push(...(await listedOf(client, path.text)));
  }
  if (found.length > 0 || context.isJson) {
    const json = found.map(({ queue, consumer }) => ({ queue, ...consumer }));
    await context.print(tableOf(COLUMNS, found.map(rowOf)), json);
  }
  if (found.length === 0) {
    await context.note(`${path === undefined ? 'The namespace' : path.text} has no consumers.`);
  }
}

async function listedOf(client: NamespaceClient, queue: string): Promise<readonly Listed[]> {
  const consumers = await listConsumers(client, queue);
  return consumers.map((consumer) => ({ queue, consumer }));
}

function rowOf({ queue, consumer }: Listed): readonly string[] {
  const { name, target, maxBatch, batchWindow, maxConcurrency, maxPerSecond, timeout } = consumer;
  return [
    queue,
    name,
    target,
    ...[maxBatch, batchWindow, maxConcurrency, maxPerSecond ?? '', timeout].map(String),
    statusOf(consumer),
  ];
}

function statusOf({ enabled, state }: ShownConsumer): string {
  if (enabled === false) return 'Disabled';
  const { lastError } = Object.assign({ lastError: undefined }, state);
  return lastError === undefined ? 'Enabled' : `Failing: ${String(lastError)}`;
}

async function set(
  context: Context,
  path: ClientPath,
  name: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { consumer, isNew } = await putConsumer(context.client, path.text, name, settings);
  const done = isNew ? 'Created' : 'Replaced';
  await context.print(`${done} the consumer ${consumer.name} of ${path.text}.`, consumer);
}

async function remove(context: Context, path: ClientPath, name: string): Promise<void> {
  await removeConsumer(context.client, path.text, name);
  await context.print(`Removed the consumer ${name} of ${path.text}.`, { removed: name });
}
