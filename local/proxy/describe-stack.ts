import { childOf, textOf, type XmlNode } from '../../client/atom-xml.ts';
import { createSigner } from '../../connect/aws/sign-request.ts';
import { StartupError } from '../startup-error.ts';
import { awsFault } from './aws-faults.ts';

const ANSWER_MS_MAX = 10_000;

/** A stack of CloudFormation. */
export interface StackPlace {
  readonly stack: string;
  readonly region: string;
}

/** The outputs of a stack by name, read with the credentials of this process. Throws StartupError. */
export async function stackOutputs(
  { stack, region }: StackPlace,
  env: NodeJS.ProcessEnv,
): Promise<ReadonlyMap<string, string>> {
  const call = {
    what: `CloudFormation in ${region}`,
    right: `cloudformation:DescribeStacks on the stack ${stack}`,
  };
  const { status, text } = await describeStacks({ stack, region }, env).catch((error) => {
    throw awsFault(error, call);
  });
  const root = await parse(text);
  const error = childOf(childOf(root, 'ErrorResponse') ?? {}, 'Error');
  if (error === undefined && status === 200) return outputsOf(root);
  const name = textOf(error ?? {}, 'Code') ?? `HTTP ${status}`;
  const message = textOf(error ?? {}, 'Message') ?? '';
  if (name === 'ValidationError' && /does not exist/.test(message)) {
    throw new StartupError(
      `There is no stack ${stack} in ${region}: check --stack, --region, and the account of AWS_PROFILE.`,
    );
  }
  const refusal = Object.assign(new Error(message), { name });
  const fault = awsFault(refusal, call);
  if (fault !== refusal) throw fault;
  throw new StartupError(
    `CloudFormation in ${region} refused the stack ${stack}: ${name}: ${message}`,
  );
}

async function describeStacks({ stack, region }: StackPlace, env: NodeJS.ProcessEnv) {
  const url = addressOf(region, env);
  const body = new URLSearchParams({
    Action: 'DescribeStacks',
    Version: '2010-05-15',
    StackName: stack,
  }).toString();
  const request = {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
  };
  const headers = await createSigner({ service: 'cloudformation', region }).sign(request);
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
  return { status: response.status, text: await response.text() };
}

/** The endpoint of CloudFormation, where another can be named as for all SDKs of AWS. */
function addressOf(region: string, env: NodeJS.ProcessEnv): string {
  const other = env['AWS_ENDPOINT_URL_CLOUDFORMATION'] || env['AWS_ENDPOINT_URL'];
  if (other) return new URL('/', other).href;
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return `https://cloudformation.${region}.${suffix}/`;
}

async function parse(xml: string): Promise<XmlNode> {
  const { XMLParser } = await import('fast-xml-parser');
  const parser = new XMLParser({
    parseTagValue: false,
    alwaysCreateTextNode: true,
    isArray: (name) => name === 'member',
  });
  try {
    return parser.parse(xml) as XmlNode;
  } catch {
    // Not CloudFormation, but a proxy on the way.
    return {};
  }
}

function outputsOf(root: XmlNode): ReadonlyMap<string, string> {
  const result = childOf(childOf(root, 'DescribeStacksResponse') ?? {}, 'DescribeStacksResult');
  const [stack] = membersOf(childOf(result ?? {}, 'Stacks'));
  const outputs = membersOf(childOf(stack ?? {}, 'Outputs'));
  return new Map(
    outputs.map((output) => [
      textOf(output, 'OutputKey') ?? '',
      textOf(output, 'OutputValue') ?? '',
    ]),
  );
}

function membersOf(list: XmlNode | undefined): readonly XmlNode[] {
  const members = list?.['member'];
  return Array.isArray(members) ? members : [];
}
