import {
  DeleteParameterCommand,
  ParameterNotFound,
  PutParameterCommand,
  type SSMClient,
  SSMServiceException,
  TooManyUpdates,
} from '@aws-sdk/client-ssm';
import { keyParameterName, type RuleOfEntity } from '../../shared/config/key-parameter.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';

/**
 * Keeps the connection strings of declared authorization rules, where functions read them. Both methods throw
 * ParametersBusy for what passes.
 */
export interface Parameters {
  /** Creates or replaces that of a rule. */
  put(rule: RuleOfEntity, connectionString: string): Promise<void>;
  /** Does nothing if there is none. */
  remove(rule: RuleOfEntity): Promise<void>;
}

/** Parameters in SSM, encrypted with the account's own key for SSM, which costs nothing. */
export class SsmParameters implements Parameters {
  readonly #client: SSMClient;
  readonly #prefix: string;

  constructor(client: SSMClient, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  async put(rule: RuleOfEntity, connectionString: string): Promise<void> {
    const command = new PutParameterCommand({
      Name: keyParameterName(this.#prefix, rule),
      Value: connectionString,
      Description: `The connection string of the rule ${rule.keyName} of ${rule.entity}`,
      Type: 'SecureString',
      Overwrite: true,
    });
    await this.#client.send(command).catch(busyIfPassing);
  }

  async remove(rule: RuleOfEntity): Promise<void> {
    try {
      const Name = keyParameterName(this.#prefix, rule);
      await this.#client.send(new DeleteParameterCommand({ Name }));
    } catch (error) {
      if (!(error instanceof ParameterNotFound)) busyIfPassing(error);
    }
  }
}

/**
 * A later try may succeed: Systems Manager takes a few writes per second for the whole account, and a stack with many
 * rules makes more.
 */
export class ParametersBusy extends BrokerError {
  constructor(cause: unknown) {
    const text =
      'Systems Manager, which keeps the connection strings, takes no more changes at the moment.';
    super('ServiceBusy', text, { cause });
  }
}

function busyIfPassing(error: unknown): never {
  const isPassing =
    error instanceof SSMServiceException &&
    (error.name === 'ThrottlingException' ||
      error.$fault === 'server' ||
      error instanceof TooManyUpdates);
  if (!isPassing) throw error;
  throw new ParametersBusy(error);
}
