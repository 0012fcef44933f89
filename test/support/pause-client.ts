import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { engineClient } from './start-broker.ts';

/** A DynamoDB request just before it is sent. */
export interface Outgoing {
  readonly command: string;
  /** Its partition key; empty if it has none. */
  readonly collection: string;
}

/** A paused request, as of a frozen process or a stalled network. */
export interface Pause {
  /** Resolves when the paused request or answer is reached. */
  readonly reached: Promise<void>;
  goOn(): void;
  /** Continues, and loses the answer. */
  goOnWithoutAnswer(): void;
}

/**
 * A DynamoDB client with pauses and faults of single requests, in the order in which they are set up. The
 * caller destroys the client.
 */
export interface PauseClient {
  readonly client: DynamoDBClient;
  /** Every request so far, in order. */
  readonly requests: readonly Outgoing[];
  /** Pauses the next matching request. */
  pauseNext(isMatch: Matcher): Pause;
  /** Pauses the answer of the next matching request. */
  pauseNextAnswer(isMatch: Matcher): Pause;
  /** Loses the answer of the next matching request, which is carried out. */
  loseNextAnswer(isMatch: Matcher): void;
}

type Matcher = (request: Outgoing) => boolean;

interface Intervention {
  readonly isMatch: Matcher;
  readonly pauses: 'request' | 'answer';
  /** Waits until the test continues; returns whether the answer is lost. */
  readonly hold: () => Promise<boolean>;
}

export function startPauses(): PauseClient {
  const client = engineClient();
  const waiting: Intervention[] = [];
  const requests: Outgoing[] = [];
  client.middlewareStack.add(
    (handle, context) => async (args) => {
      const request = { command: context.commandName ?? '', collection: collectionOf(args.input) };
      requests.push(request);
      const place = waiting.findIndex(({ isMatch }) => isMatch(request));
      const [intervention] = place < 0 ? [] : waiting.splice(place, 1);
      if (intervention === undefined) return await handle(args);
      const { pauses, hold } = intervention;
      const isLostSoon = pauses === 'request' && (await hold());
      const [answer] = await Promise.allSettled([handle(args)]);
      const isLost = isLostSoon || (pauses === 'answer' && (await hold()));
      if (isLost) throw Object.assign(new Error('The answer was lost.'), { code: 'ECONNRESET' });
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value;
    },
    { step: 'initialize', name: 'pauses' },
  );
  const pauseAt = (pauses: Intervention['pauses'], isMatch: Matcher): Pause => {
    let reach = () => {};
    let goOn = (_isAnswerLost: boolean) => {};
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
    waiting.push({ isMatch, pauses, hold });
    return { reached, goOn: () => goOn(false), goOnWithoutAnswer: () => goOn(true) };
  };
  return {
    client,
    requests,
    pauseNext: (isMatch) => pauseAt('request', isMatch),
    pauseNextAnswer: (isMatch) => pauseAt('answer', isMatch),
    loseNextAnswer: (isMatch) => pauseAt('request', isMatch).goOnWithoutAnswer(),
  };
}

/** The partition key of a request; empty if it has none. */
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

/** A plain value in a document, or an attribute value in an item. */
type Value = string | { readonly S?: string } | undefined;
