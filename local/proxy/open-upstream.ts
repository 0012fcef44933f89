import { processRegion } from '../../connect/aws/region.ts';
import type { DirectOptions } from '../../connect/direct/direct-options.ts';
import { openDirect } from '../../connect/direct/open-direct.ts';
import { DIRECT_VARIABLE, readDirectOptions } from '../../connect/direct/read-direct-options.ts';
import type { HttpsOptions } from '../../connect/https/https-options.ts';
import { openHttps } from '../../connect/https/open-https.ts';
import { CONNECTION_VARIABLE, httpsOptionsOf } from '../../connect/https/read-https-options.ts';
import type { Upstream } from '../../connect/upstream.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { StartupError, UsageError } from '../startup-error.ts';
import { awsFault } from './aws-faults.ts';
import { stackOutputs } from './describe-stack.ts';

/** Which namespace a proxy serves, as it is written on the command line. */
export interface WrittenUpstream {
  readonly to?: string;
  readonly stack?: string;
  readonly region?: string;
  readonly direct?: string;
  readonly stream?: boolean;
}

/** A namespace that answers. */
export interface OpenUpstream {
  readonly upstream: Upstream;
  readonly namespace: string;
  /** How it is reached, in words that follow its name: `tables in eu-west-1`. */
  readonly way: string;
}

/** Opens the namespace by the transport that the options choose. Throws UsageError and StartupError. */
export async function openUpstream(
  { to, stack, region, direct, stream }: WrittenUpstream,
  env: NodeJS.ProcessEnv,
): Promise<OpenUpstream> {
  if ([to, stack, direct].filter((one) => one !== undefined).length > 1) {
    throw new UsageError('Give one of --to, --stack and --direct.');
  }
  const wakeUps = stream === true ? { stream } : {};
  if (to !== undefined) return await openAddress(httpsOptionsOf(to, region), stream);
  if (stack !== undefined) {
    return await openTables({ ...(await optionsOfStack(stack, region, env)), ...wakeUps });
  }
  const variable = env[DIRECT_VARIABLE] || undefined;
  const json = direct ?? variable;
  if (json === undefined) {
    const connection = env[CONNECTION_VARIABLE] || undefined;
    if (connection !== undefined) {
      return await openAddress(httpsOptionsOf(connection, region), stream);
    }
    throw new UsageError(
      `No namespace is given: name its stack with --stack; or give its connection string with --to or in ${CONNECTION_VARIABLE}; or the directSettings of the construct Broker with --direct or in ${DIRECT_VARIABLE}.`,
    );
  }
  const at = direct === undefined ? `The variable ${DIRECT_VARIABLE}` : '--direct';
  const options = readDirectOptions(json, at);
  const place = { region: await regionOf(region ?? options.region) };
  return await openTables({ ...options, ...place, ...wakeUps });
}

/** Opens a namespace over HTTPS, and asks it for its health, so that what is wrong is said before clients come. */
async function openAddress(
  options: HttpsOptions,
  stream: boolean | undefined,
): Promise<OpenUpstream> {
  if (stream === true) {
    throw new UsageError('--stream needs the tables: give --stack or --direct, not --to.');
  }
  const upstream = openHttps(options);
  const { namespace } = upstream.dependencies;
  try {
    await upstream.reach();
  } catch (error) {
    await upstream.close();
    if (!(error instanceof BrokerError)) throw error;
    throw new StartupError(`${namespace} cannot be used: ${error.message}`, { cause: error });
  }
  return { upstream, namespace, way: 'HTTP interface' };
}

type WithRegion = DirectOptions & { readonly region: string };

/** The settings that the outputs of a stack give. */
async function optionsOfStack(
  stack: string,
  written: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<WithRegion> {
  const region = await regionOf(written);
  const outputs = await stackOutputs({ stack, region }, env);
  const [entitiesTable, messagesTable, namespace, tier] = [
    'EntitiesTable',
    'MessagesTable',
    'Namespace',
    'Tier',
  ].map((name) => outputs.get(name));
  if (!entitiesTable || !messagesTable || !namespace || !tier) {
    throw new StartupError(
      `The stack ${stack} in ${region} lacks the outputs EntitiesTable, MessagesTable, Namespace and Tier: deploy it once more with this version of dynabus, or give the directSettings of a Broker in a stack of your own with --direct.`,
    );
  }
  const json = JSON.stringify({ entitiesTable, messagesTable, namespace, tier });
  return { ...readDirectOptions(json, `The outputs of ${stack}`), region };
}

async function regionOf(written: string | undefined): Promise<string> {
  const region = written ?? (await processRegion());
  if (region !== undefined && /^[a-z\d-]+$/.test(region)) return region;
  if (region !== undefined) {
    throw new UsageError(`'${region}' is no region: write one such as eu-west-1.`);
  }
  throw new UsageError(
    'The region of the namespace is not known: give it with --region or AWS_REGION.',
  );
}

/** Opens tables, and reads from one of them, so that what is wrong is said before clients come. */
async function openTables(options: WithRegion): Promise<OpenUpstream> {
  const upstream = openDirect(options);
  const { entitiesTable, namespace, region } = options;
  try {
    await upstream.reach();
  } catch (error) {
    await upstream.close();
    const what = `table ${entitiesTable} in ${region}`;
    const right = 'what grantDirect of the construct Broker gives';
    throw awsFault(error, { what, right });
  }
  return { upstream, namespace, way: `tables in ${region}` };
}
