import { type DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { StartupError } from '../startup-error.ts';

/** Waiting for an engine that somebody else starts, at `DYNAMODB_ENDPOINT`. */

const POLL_MS = 500;
const TELL_EVERY_MS = 10_000;
const ANSWER_MS_MAX = 5000;

export interface EngineWait {
  readonly endpoint: string;
  /** Asks the engine once: why it does not answer, or nothing where it does. Throws StartupError. */
  readonly probe: () => Promise<string | undefined>;
  /** Told at once that the engine does not answer, and again every 10 s. */
  readonly say: (line: string) => void;
  readonly pause: (ms: number) => Promise<void>;
  /** Epoch ms. */
  readonly now: () => number;
}

/**
 * Resolves once the engine answers; says meanwhile that it waits, since when, and what to do. Throws
 * StartupError where something else answers, which no waiting changes.
 */
export async function untilEngineAnswers(wait: EngineWait): Promise<void> {
  const { endpoint, probe, say, pause, now } = wait;
  const since = now();
  let toldAt: number | undefined;
  for (let reason = await probe(); reason !== undefined; reason = await probe()) {
    const at = now();
    if (toldAt === undefined || at - toldAt >= TELL_EVERY_MS) {
      const time = new Date(since).toTimeString().slice(0, 8);
      const seconds = Math.round((at - since) / 1000);
      const waited = toldAt === undefined ? '' : ` since ${time}, for ${seconds} s`;
      say(
        `Waiting for the engine at ${endpoint}${waited}: ${reason}. Start it, or correct DYNAMODB_ENDPOINT.`,
      );
      toldAt = at;
    }
    await pause(POLL_MS);
  }
}

/**
 * Asks an engine for its tables. Returns why it does not answer, or nothing where it does; a refusal is
 * an answer, too. Throws StartupError where what answers is no engine.
 */
export async function probeEngine(
  client: DynamoDBClient,
  endpoint: string,
): Promise<string | undefined> {
  const abortSignal = AbortSignal.timeout(ANSWER_MS_MAX);
  try {
    const { TableNames } = await client.send(new ListTablesCommand({ Limit: 1 }), { abortSignal });
    if (TableNames === undefined) throw notAnEngine(endpoint, 'its answer lists no tables');
    return undefined;
  } catch (error) {
    if (error instanceof StartupError) throw error;
    return judged(error, endpoint);
  }
}

/** What the SDK's error says of the other side. */
function judged(error: unknown, endpoint: string): string | undefined {
  const { name = '', code, $metadata } = error as Partial<SdkError>;
  const status = $metadata?.httpStatusCode;
  if (status !== undefined) {
    if (status >= 500) return `it answers with status ${status}`;
    if (name !== 'SyntaxError' && !name.startsWith('Unknown')) return undefined;
    throw notAnEngine(endpoint, `it answers with status ${status} and no JSON of DynamoDB`);
  }
  if (code === undefined) {
    if (name === 'AbortError') return `it does not answer within ${ANSWER_MS_MAX / 1000} s`;
    throw error;
  }
  if (/^(?:HPE_|ERR_SSL_|EPROTO$)/.test(code)) {
    throw notAnEngine(endpoint, `it does not speak ${new URL(endpoint).protocol.slice(0, -1)}`);
  }
  return `it cannot be reached (${code})`;
}

interface SdkError {
  readonly name: string;
  readonly code: string;
  readonly $metadata: { readonly httpStatusCode?: number };
}

function notAnEngine(endpoint: string, why: string): StartupError {
  return new StartupError(
    `What answers at ${endpoint} is not a DynamoDB engine: ${why}. Correct DYNAMODB_ENDPOINT.`,
  );
}
