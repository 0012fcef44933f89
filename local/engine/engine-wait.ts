import { type DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { StartupError } from '../startup-error.ts';

/** Waits for the engine at `DYNAMODB_ENDPOINT`, which the user starts. */

const POLL_MS = 500;
const REPORT_EVERY_MS = 10_000;
const ANSWER_MS_MAX = 5000;

/** What `untilEngineAnswers` needs; tests replace the clock and the probe. */
export interface EngineWait {
  readonly endpoint: string;
  /** Sends one request. Resolves with the reason if the engine does not answer. Throws StartupError. */
  readonly probe: () => Promise<string | undefined>;
  /** Receives a line as soon as the engine does not answer, and another every 10 s. */
  readonly say: (line: string) => void;
  readonly pause: (ms: number) => Promise<void>;
  /** Epoch ms. */
  readonly now: () => number;
}

/**
 * Resolves when the engine answers. Until then it reports that it waits, since when, and what to do. Throws
 * StartupError if another kind of server answers, since waiting cannot change that.
 */
export async function untilEngineAnswers(wait: EngineWait): Promise<void> {
  const { endpoint, probe, say, pause, now } = wait;
  const since = now();
  let reportedAt: number | undefined;
  for (let reason = await probe(); reason !== undefined; reason = await probe()) {
    const at = now();
    if (reportedAt === undefined || at - reportedAt >= REPORT_EVERY_MS) {
      const time = new Date(since).toTimeString().slice(0, 8);
      const seconds = Math.round((at - since) / 1000);
      const waited = reportedAt === undefined ? '' : ` since ${time}, for ${seconds} s`;
      say(
        `Waiting for the engine at ${endpoint}${waited}: ${reason}. Start it, or correct DYNAMODB_ENDPOINT.`,
      );
      reportedAt = at;
    }
    await pause(POLL_MS);
  }
}

/**
 * Asks an engine for its tables. Returns the reason if it does not answer, and undefined if it does; a refusal
 * is an answer, too. Throws StartupError if a server answers that is not a DynamoDB engine.
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
    return interpretError(error, endpoint);
  }
}

/** What an error of the SDK says about the server: a reason, undefined for an answer, or StartupError. */
function interpretError(error: unknown, endpoint: string): string | undefined {
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

function notAnEngine(endpoint: string, reason: string): StartupError {
  return new StartupError(
    `The server at ${endpoint} is not a DynamoDB engine: ${reason}. Correct DYNAMODB_ENDPOINT.`,
  );
}
