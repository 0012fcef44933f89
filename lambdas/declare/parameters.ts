import {
  DeleteParameterCommand,
  ParameterNotFound,
  PutParameterCommand,
  type SSMClient,
} from '@aws-sdk/client-ssm';
import { keyParameterName, type RuleOfEntity } from '../../shared/config/key-parameter.ts';

/** Keeps the connection strings of declared authorization rules, where functions read them. */
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
    await this.#client.send(
      new PutParameterCommand({
        Name: keyParameterName(this.#prefix, rule),
        Value: connectionString,
        Description: `The connection string of the rule ${rule.keyName} of ${rule.entity}`,
        Type: 'SecureString',
        Overwrite: true,
      }),
    );
  }

  async remove(rule: RuleOfEntity): Promise<void> {
    try {
      const Name = keyParameterName(this.#prefix, rule);
      await this.#client.send(new DeleteParameterCommand({ Name }));
    } catch (error) {
      if (!(error instanceof ParameterNotFound)) throw error;
    }
  }
}
