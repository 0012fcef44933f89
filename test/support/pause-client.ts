import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** A request of DynamoDB as it is about to be sent. */
export interface Outgoing {
  readonly command: string;
  /** The partition key it is about; empty where it names none. */
  readonly collection: string;
}

/** A request that stands still, as where a process is frozen or a network holds its breath. */
export interface Pause {
  /** Resolves once the request is there, or its answer, whichever stands still. */
  readonly reached: Promise<void>;
  goOn(): void;
  /** Goes on, and the answer is lost. */
  goOnUnheard(): void;
}

/**
 * A client of DynamoDB of which single requests can go wrong; what is asked for first happens first. To
 * be destroyed by who asked for it.
 */
export interface PauseClient {
  readonly client: DynamoDBClient;
  /** Every request so far, in order. */
  readonly requests: readonly Outgoing[];
  /** Holds up the next request of this kind. */
  pauseNext(isMeant: IsMeant): Pause;
  /** Has the next request of this kind carried out, and holds up its answer. */
  pauseNextAnswer(isMeant: IsMeant): Pause;
  /** Has the next request of this kind carried out, and its answer lost. */
  loseNextAnswer(isMeant: IsMeant): void;
}

type IsMeant = (request: Outgoing) => boolean;

interface Mishap {
  readonly isMeant: IsMeant;
  readonly holdsUp: 'request' | 'answer';
  /** Says whether the answer is lost. */
  readonly hold: () => Promise<boolean>;
}

export function startPauses(): PauseClient {
  const client = engineClient();
  const waiting: Mishap[] = [];
  const requests: Outgoing[] = [];
  client.middlewareStack.add(
    (handle, context) => async (args) => {
      const request = { command: context.commandName ?? '', collection: collectionOf(args.input) };
      requests.push(request);
      const place = waiting.findIndex(({ isMeant }) => isMeant(request));
      const [mishap] = place < 0 ? [] : waiting.splice(place, 1);
      if (mishap === undefined) return await handle(args);
      const { holdsUp, hold } = mishap;
      const isLostSoon = holdsUp === 'request' && (await hold());
      const [answer] = await Promise.allSettled([handle(args)]);
      const isLost = isLostSoon || (holdsUp === 'answer' && (await hold()));
      if (isLost) throw Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value;
    },
    { step: 'initialize', name: 'pauses' },
  );
  const pauseAt = (holdsUp: Mishap['holdsUp'], isMeant: IsMeant): Pause => {
    let reach = () => {};
    let goOn = (_isUnheard: boolean) => {};
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const gone = new Promise<boolean>((resolve) => {
      goOn = resolve;
    });
    const hold = async () => {
      reach();
      return await gone;
    };
    waiting.push({ isMeant, holdsUp, hold });
    return { reached, goOn: () => goOn(false), goOnUnheard: () => goOn(true) };
  };
  return {
    client,
    requests,
    pauseNext: (isMeant) => pauseAt('request', isMeant),
    pauseNextAnswer: (isMeant) => pauseAt('answer', isMeant),
    loseNextAnswer: (isMeant) => pauseAt('request', isMeant).goOnUnheard(),
  };
}

/** The partition key that a request is about; empty where it names none. */
export function collectionOf(input: object): string {
  const {
    Item,
    Key = Item,
    ExpressionAttributeValues: values,
  } = input as {
    Item?: Record<string, Value>;
    Key?: Record<string, Value>;
    ExpressionAttributeValues?: Record<string, Value>;
  };
  const value = Key?.['pk'] ?? values?.[':pk'] ?? values?.[':log'];
  return typeof value === 'string' ? value : (value?.S ?? '');
}

/** Documents are plain values, items are not. */
type Value = string | { readonly S?: string } | undefined;
