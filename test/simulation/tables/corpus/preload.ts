import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { shapesOf } from './shapes.ts';

/**
 * `record.ts` loads this module before all others of each process. It records the shapes of all requests that
 * storage sends, in one file per process in the folder `DYNABUS_SHAPES`.
 */

interface Command {
  readonly input: { readonly ReturnConsumedCapacity?: string };
}

const folder = process.env['DYNABUS_SHAPES'];
if (folder === undefined) throw new Error('DYNABUS_SHAPES names the folder to write shapes to.');
const file = join(folder, `${process.pid}.jsonl`);
const known = new Set<string>();

type Send = (this: object, command: Command, ...rest: unknown[]) => unknown;

const { prototype } = DynamoDBClient as unknown as { readonly prototype: { send: Send } };
const sendOfSdk = recorded(prototype.send);
Object.defineProperty(prototype, 'send', {
  get: () => sendOfSdk,
  // The product's clients have a function of their own.
  set(send: Send) {
    Object.defineProperty(this, 'send', { value: recorded(send) });
  },
});

function recorded(send: Send): Send {
  return function (command, ...rest) {
    const { input } = command;
    // Requests of storage ask for the consumed capacity; requests of the tests do not.
    if (input.ReturnConsumedCapacity !== undefined) {
      for (const shape of shapesOf(command.constructor.name, input)) {
        const line = JSON.stringify(shape);
        if (known.has(line)) continue;
        known.add(line);
        appendFileSync(file, `${line}\n`);
      }
    }
    return send.call(this, command, ...rest);
  };
}
