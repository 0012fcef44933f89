import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BrokerError, serviceBusy } from '../../shared/domain/broker-error.ts';

/** Refusals of AWS that end once the process has new credentials. */
const NO_CREDENTIALS_NOW: ReadonlySet<string> = new Set([
  'CredentialsProviderError',
  'TokenProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'TokenRefreshRequired',
]);
const WRONG_CREDENTIALS: ReadonlySet<string> = new Set([
  'UnrecognizedClientException',
  'InvalidSignatureException',
  'IncompleteSignature',
  'MissingAuthenticationTokenException',
]);

/**
 * Has what AWS refuses to this process told to its clients, since they are the same program. In a deployment such a
 * refusal is a fault of the service, which clients need not know.
 */
export function explainRefusals({
  middlewareStack,
}: Pick<DynamoDBClient, 'middlewareStack'>): void {
  middlewareStack.add(
    (next) => async (input) => {
      try {
        return await next(input);
      } catch (error) {
        throw refusalOf(error) ?? error;
      }
    },
    { step: 'initialize', name: 'explainRefusals' },
  );
}

function refusalOf(cause: unknown): BrokerError | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { name, message } = cause;
  // Nothing was done.
  if (NO_CREDENTIALS_NOW.has(name)) {
    return serviceBusy(`This process has no valid AWS credentials at the moment: ${message}`, {
      cause,
    });
  }
  if (WRONG_CREDENTIALS.has(name)) {
    return refused(`AWS does not know the credentials of this process: ${message}`, cause);
  }
  if (name === 'AccessDeniedException') {
    return refused(
      `The AWS credentials of this process may not use the tables; grantDirect of the construct Broker gives the rights: ${message}`,
      cause,
    );
  }
  if (name === 'ResourceNotFoundException') {
    return new BrokerError(
      'InvalidOperation',
      `There is no such table; check entitiesTable, messagesTable and region: ${message}`,
      { cause },
    );
  }
  return undefined;
}

const refused = (sentence: string, cause: Error) =>
  new BrokerError('Unauthenticated', sentence, { cause });
