import { RefusedMessageError } from '../../client/batch-sender.ts';
import {
  RefusalError,
  refusalText,
  TooManySessionsError,
  UnreachableError,
} from '../../client/client-errors.ts';
import { PathError } from '../../client/entity-path.ts';
import { DirectOptionsError } from '../../connect/direct/read-direct-options.ts';
import { EndpointError } from '../../connect/https/calls/endpoint.ts';
import { ProxySettingsError } from '../../proxy/proxy-settings.ts';
import { ConnectionStringError } from '../../shared/auth/connection-string.ts';
import { ConfigError } from '../config/config-error.ts';
import { StartupError, UsageError } from '../startup-error.ts';
import { EXIT, type ExitCode, OutputClosedError } from './io.ts';

/** What the user is told about an error, and the exit code. */
export interface Explanation {
  readonly exitCode: ExitCode;
  /** Undefined: nothing is printed. */
  readonly text: string | undefined;
}

/** Explains an error in a sentence without a stack trace; only a fault of ours has one. */
export function explain(error: unknown): Explanation {
  if (error instanceof OutputClosedError) return { exitCode: EXIT.done, text: undefined };
  if (error instanceof RefusedMessageError) {
    const text = `${capitalized(error.source)} was refused. ${shortRefusal(error.refusal)}`;
    return { exitCode: EXIT.wrongInput, text };
  }
  if (error instanceof RefusalError) return { exitCode: EXIT.failed, text: shortRefusal(error) };
  if (error instanceof UnreachableError || error instanceof TooManySessionsError) {
    return { exitCode: EXIT.failed, text: error.message };
  }
  if (
    error instanceof UsageError ||
    error instanceof ConfigError ||
    error instanceof ConnectionStringError ||
    error instanceof ProxySettingsError ||
    error instanceof DirectOptionsError ||
    error instanceof EndpointError ||
    error instanceof PathError
  ) {
    return { exitCode: EXIT.wrongInput, text: error.message };
  }
  if (error instanceof StartupError) return { exitCode: EXIT.failed, text: error.message };
  if (error instanceof Error && error.name === 'AbortError') {
    return { exitCode: EXIT.interrupted, text: 'Interrupted.' };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: EXIT.failed, text };
}

/** Batches are made here: the place of a message in one means nothing to the user. */
function shortRefusal(refusal: RefusalError): string {
  return refusalText(refusal).replace(/Message \d+ of the batch: /, '');
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
