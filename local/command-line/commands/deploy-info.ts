import { textOf } from '../../../client/atom-xml.ts';
import { fieldOf, RefusalError } from '../../../client/client-errors.ts';
import { describe, list } from '../../../client/management.ts';
import { UsageError } from '../../startup-error.ts';
import { connect } from '../connect.ts';
import type { CommonOptions, Context } from '../context.ts';
import type { RunCommand } from '../definition.ts';
import { EXIT, type ExitCode, type Io, writeTo } from '../io.ts';
import { readJsonFile } from '../lines.ts';

/** The options of `dynabus deploy-info`, as written. */
export interface DeployInfoOptions extends CommonOptions {
  readonly outputs?: string;
}

/** Says how to reach a deployed namespace, or whether a namespace answers. */
export const runDeployInfo: RunCommand<DeployInfoOptions> = async (io, _, options) => {
  if (options.outputs !== undefined && options.to !== undefined) {
    throw new UsageError('Give either --outputs or --to.');
  }
  return options.outputs === undefined
    ? await reportNamespace(connect(io, options))
    : await reportOutputs(io, options.outputs, options.json ?? false);
};

async function reportNamespace(context: Context): Promise<ExitCode> {
  const { client } = context;
  const since = performance.now();
  const health = await client.call({ method: 'GET', path: '$health' });
  const roundTripMs = Math.round(performance.now() - since);
  const facts = {
    address: client.address,
    health: String(fieldOf(JSON.parse(health.text), 'status')),
    roundTripMs,
    ...(await managementFacts(context)),
  };
  const rows = [
    ['Address', facts.address],
    ['Health', facts.health],
    ['Round trip', `${roundTripMs} ms`],
    ['Tier', facts.tier],
    ['Namespace', facts.namespace],
    ['Queues', facts.queues],
    ['Topics', facts.topics],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${String(name).padEnd(12)}${value}`]));
  await context.print(rows.join('\n'), facts);
  if (facts.missing !== undefined) await context.warn(facts.missing);
  return facts.missing === undefined ? EXIT.done : EXIT.failed;
}

/** What a token with the right Manage may know. */
interface ManagementFacts {
  readonly tier?: string | undefined;
  readonly namespace?: string | undefined;
  readonly queues?: number;
  readonly topics?: number;
  /** A sentence about what is not known, and why. */
  readonly missing?: string;
}

async function managementFacts({ client }: Context): Promise<ManagementFacts> {
  try {
    const info = await describe(client, '$namespaceinfo');
    const description = info?.description ?? {};
    return {
      tier: textOf(description, 'MessagingSKU'),
      namespace: textOf(description, 'Name'),
      queues: await countOf(list(client, '$Resources/Queues')),
      topics: await countOf(list(client, '$Resources/Topics')),
    };
  } catch (error) {
    if (!(error instanceof RefusalError)) throw error;
    return { missing: `The tier and the entities are not known: ${error.message} (${error.code})` };
  }
}

async function countOf(entries: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of entries) count++;
  return count;
}

/** How to reach one deployed stack. */
interface StackFacts {
  readonly stack: string;
  readonly endpoint: string;
  readonly amqpEndpoint: string | undefined;
  readonly access: 'sas' | 'iam';
  readonly secretName: string | undefined;
  /** Prints the key. */
  readonly keyCommand: string | undefined;
  /** With `<key>` where the key belongs. */
  readonly connectionString: string | undefined;
}

async function reportOutputs(io: Io, file: string, isJson: boolean): Promise<ExitCode> {
  const json = await readJsonFile(file);
  const stacks = Object.entries(typeof json === 'object' && json !== null ? json : {}).flatMap(
    ([stack, outputs]) => factsOf(stack, outputs) ?? [],
  );
  if (stacks.length === 0) {
    throw new UsageError(
      `No stack in ${file} has the outputs of dynabus, Endpoint and RootKeySecretName or InvokeArn. Write the file with npx cdk deploy --outputs-file ${file}.`,
    );
  }
  const text = isJson ? JSON.stringify(stacks) : stacks.map(stackText).join('\n');
  await writeTo(io.stdout, `${text}\n`);
  return EXIT.done;
}

function factsOf(stack: string, outputs: unknown): StackFacts | undefined {
  const output = (name: string) => {
    const value = fieldOf(outputs, name);
    return typeof value === 'string' ? value : undefined;
  };
  const endpoint = output('Endpoint');
  const secretName = output('RootKeySecretName');
  if (endpoint === undefined || !URL.canParse(endpoint)) return undefined;
  if (secretName === undefined && output('InvokeArn') === undefined) return undefined;
  const { host } = new URL(endpoint);
  const [, region] = /\.([a-z]{2}(?:-[a-z]+)+-\d)\./.exec(host) ?? [];
  const inRegion = region === undefined ? '' : ` --region ${region}`;
  return {
    stack,
    endpoint,
    amqpEndpoint: output('AmqpEndpoint'),
    access: secretName === undefined ? 'iam' : 'sas',
    secretName,
    keyCommand:
      secretName === undefined
        ? undefined
        : `aws secretsmanager get-secret-value --secret-id ${secretName} --query SecretString --output text${inRegion}`,
    connectionString:
      secretName === undefined
        ? undefined
        : `Endpoint=sb://${host}/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=<key>;`,
  };
}

function stackText(facts: StackFacts): string {
  const { stack, endpoint, amqpEndpoint, keyCommand, connectionString } = facts;
  const amqp = amqpEndpoint === undefined ? 'not deployed' : amqpEndpoint;
  const head = `Stack       ${stack}\nEndpoint    ${endpoint}\nAMQP        ${amqp}\n`;
  if (keyCommand === undefined || connectionString === undefined) {
    return `${head}Access      IAM: requests are signed with SigV4, and there is no key and no connection string. The commands of dynabus need access by keys.\n`;
  }
  const withKey = connectionString.replace('<key>', '$KEY');
  return `${head}Access      keys (SAS); the key is in the secret ${facts.secretName}

KEY=$(${keyCommand})
export DYNABUS_CONNECTION_STRING="${withKey}"
dynabus deploy-info
`;
}
