import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

const SECRET = 'local';

/** CloudFormation on loopback: it knows the outputs of some stacks, and checks signatures. */
export interface FakeCloudFormation {
  readonly url: string;
  /** The code of the error with which it refuses everything; undefined = it answers. */
  refusal: string | undefined;
  stop(): void;
}

/** Starts one. `stacks` = the outputs of each stack, by name. */
export async function startCloudFormation(
  stacks: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<FakeCloudFormation> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const answer = (status: number, xml: string) => {
      response.writeHead(status, { 'content-type': 'text/xml' }).end(xml);
    };
    const refuse = (status: number, code: string, message: string) =>
      answer(
        status,
        `<ErrorResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
      );
    const name = new URLSearchParams(body).get('StackName') ?? '';
    const outputs = stacks[name];
    if (fake.refusal !== undefined) refuse(403, fake.refusal, 'Refused.');
    else if (signatureOf(request, body) !== signatureIn(request)) {
      refuse(403, 'SignatureDoesNotMatch', 'Another signature was calculated.');
    } else if (outputs === undefined) {
      refuse(400, 'ValidationError', `Stack with id ${name} does not exist`);
    } else answer(200, describe(outputs));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const fake: FakeCloudFormation = {
    url: `http://127.0.0.1:${port}`,
    refusal: undefined,
    stop: () => server.close(),
  };
  return fake;
}

function describe(outputs: Readonly<Record<string, string>>): string {
  const members = Object.entries(outputs).map(
    ([key, value]) =>
      `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  const list = members.length === 0 ? '' : `<Outputs>${members.join('')}</Outputs>`;
  return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member><StackStatus>UPDATE_COMPLETE</StackStatus>${list}</member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex');
const mac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

function signatureIn({ headers }: IncomingMessage): string | undefined {
  return /Signature=([\da-f]{64})$/.exec(headers.authorization ?? '')?.[1];
}

/** The signature of a POST to `/`, calculated from the description of Signature Version 4. */
function signatureOf({ headers }: IncomingMessage, body: string): string | undefined {
  const [, scope = '', signed = ''] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
  const [day = '', region = '', service = '', end = ''] = scope.split('/');
  if (service !== 'cloudformation' || region !== 'local') return undefined;
  const lines = signed.split(';').map((name) => `${name}:${headers[name]}\n`);
  const canonical = ['POST', '/', '', lines.join(''), signed, hash(body)].join('\n');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash(canonical)].join('\n');
  const key = [day, region, service, end].reduce<string | Buffer>(mac, `AWS4${SECRET}`);
  return mac(key, text).toString('hex');
}
