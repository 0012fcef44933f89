import * as dynamodb from '@aws-sdk/client-dynamodb';
import { ensureTables } from '../../../../local/tables.ts';
import { LoadRandom } from '../../../support/load-random.ts';
import { directNetwork, simulatedClients } from '../client.ts';
import type { Shape } from '../corpus/shapes.ts';
import { type Item, SimulatedDatabase } from '../database.ts';
import { type Outcome, outcomeOf, plainItem } from './outcomes.ts';
import { type RandomRequest, RandomRequests } from './random-requests.ts';

/** A request with its outcomes in the simulation and in an engine. */
export interface Compared {
  readonly request: RandomRequest;
  readonly simulated: Outcome;
  readonly engine: Outcome;
}

/** A client that requests are sent with. */
export type Client = Pick<dynamodb.DynamoDBClient, 'send'>;
type CommandOf = new (input: object) => Parameters<Client['send']>[0];

/** The same two tables in the simulation and in an engine, to which the same requests are sent. */
export class Pair {
  readonly #database = new SimulatedDatabase({
    now: () => 1_790_000_000_000,
    random: () => 0,
    staleMsMax: 0,
    throttles: false,
  });
  readonly #simulated = simulatedClients(this.#database, directNetwork, { maxAttempts: 1 }).client;
  readonly #engine: Client;
  readonly #tables: readonly [string, string];
  readonly #requests: RandomRequests;

  private constructor(engine: Client, seed: string, shapes: readonly Shape[]) {
    this.#engine = engine;
    this.#tables = [`simulated-${seed}-entities`, `simulated-${seed}-messages`];
    this.#requests = new RandomRequests({
      random: new LoadRandom(seed),
      shapes,
      tables: this.#tables,
      stored: (table, { pk, sk }) =>
        this.#database.items(table).find((item) => item['pk']?.S === pk && item['sk']?.S === sk),
    });
  }

  /** Creates the tables for a seed, which determines all requests. */
  static async make(
    engine: dynamodb.DynamoDBClient,
    seed: string,
    shapes: readonly Shape[],
  ): Promise<Pair> {
    const pair = new Pair(engine, seed, shapes);
    const [entities, messages] = pair.#tables;
    await ensureTables(engine, { entities, messages });
    return pair;
  }

  /** Sends the next request to both. */
  async next(): Promise<Compared> {
    const request = this.#requests.next();
    const [simulated, engine] = await Promise.all([
      outcomeOf(sendTo(this.#simulated, request)),
      outcomeOf(sendTo(this.#engine, request)),
    ]);
    return { request, simulated, engine };
  }

  /** All items of each table in the simulation and in the engine, sorted. */
  async items(): Promise<readonly { readonly simulated: unknown; readonly engine: unknown }[]> {
    const pairs = [];
    for (const table of this.#tables) {
      const there = await this.#scan(table);
      pairs.push({ simulated: sorted(this.#database.items(table)), engine: sorted(there) });
    }
    return pairs;
  }

  async #scan(TableName: string): Promise<readonly Item[]> {
    const items: Item[] = [];
    let ExclusiveStartKey: Item | undefined;
    do {
      const command = new dynamodb.ScanCommand({
        TableName,
        ExclusiveStartKey,
        ConsistentRead: true,
      });
      const page = await this.#engine.send(command);
      items.push(...(page.Items ?? []));
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey !== undefined);
    return items;
  }

  /** Deletes the tables in the engine. */
  async drop(): Promise<void> {
    for (const TableName of this.#tables) {
      await this.#engine.send(new dynamodb.DeleteTableCommand({ TableName }));
    }
  }
}

/** Sends a request. */
export function sendTo(client: Client, { name, input }: RandomRequest): Promise<object> {
  const Command = (dynamodb as unknown as Record<string, CommandOf>)[name];
  if (Command === undefined) throw new Error(`The SDK has no ${name}.`);
  return client.send(new Command(input)) as Promise<object>;
}

function sorted(items: readonly Item[]): unknown {
  return items.map((item) => JSON.stringify(plainItem(item))).sort();
}
