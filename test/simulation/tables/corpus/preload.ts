import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DOCUMENT_COMMANDS } from '../client.ts';
import { marshallRequest } from '../marshalling.ts';
import { shapesOf } from './shapes.ts';

/**
 * `record.ts` loads this module before all others of each process. It records the shapes of all requests that
 * storage sends, in one file per process in the folder `DYNABUS_SHAPES`.
 */

interface Command {
  readonly input: { readonly ReturnConsumedCapacity?: string };
}

interface Sender {
  send(command: Command, ...rest: unknown[]): unknown;
}

const folder = process.env['DYNABUS_SHAPES'];
if (folder === undefined) throw new Error('DYNABUS_SHAPES names the folder to write shapes to.');
const file = join(folder, `${process.pid}.jsonl`);
const known = new Set<string>();

record(DynamoDBClient.prototype as unknown as Sender, ({ constructor: { name }, input }) =>
  shapesOf(name, input),
);
record(DynamoDBDocumentClient.prototype as unknown as Sender, ({ constructor: { name }, input }) =>
  shapesOf(DOCUMENT_COMMANDS[name] ?? name, marshallRequest(input)),
);

/** Watches a class of clients, also those whose own `send` is set later. */
function record(sender: Sender, shapesIn: (command: Command) => readonly object[]): void {
  const watched = (send: Sender['send']): Sender['send'] =>
    function (this: Sender, command, ...rest) {
      // Requests of storage ask for the consumed capacity; requests of the tests do not.
      if (command.input.ReturnConsumedCapacity !== undefined) shapesIn(command).forEach(keep);
      return send.call(this, command, ...rest);
    };
  const own = new WeakMap<object, Sender['send']>();
  const shared = watched(sender.send);
  Object.defineProperty(sender, 'send', {
    get(this: object) {
      return own.get(this) ?? shared;
    },
    set(this: object, send: Sender['send']) {
      own.set(this, watched(send));
    },
  });
}

function keep(shape: object): void {
  const line = JSON.stringify(shape);
  if (known.has(line)) return;
  known.add(line);
  appendFileSync(file, `${line}\n`);
}
