import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

/**
 * A script that runs with the environment of deployed functions: fills a queue with messages whose JSON is
 * long, and receives them through the functions. Prints as JSON how many messages it received, and the size
 * of the largest result of each function.
 */

const MESSAGES = 8;
const BODY = '\u0001'.repeat(255 * 1024);
const QUEUE =
  '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" /></content></entry>';

type Handler = (event: APIGatewayProxyEventV2) => Promise<APIGatewayProxyStructuredResultV2>;

/** Loads a function into this process, with its environment. */
async function start(name: string): Promise<Handler> {
  const file = new URL(`../../lambdas/${name}/handler.ts`, import.meta.url);
  const { handler }: { readonly handler: Handler } = await import(file.href);
  return handler;
}

/** Calls a function as API Gateway does for a caller that IAM authorized. */
async function call(
  handler: Handler,
  method: string,
  rawPath: string,
  { rawQueryString = '', body = '' } = {},
): Promise<APIGatewayProxyStructuredResultV2> {
  const result = await handler({
    rawPath,
    rawQueryString,
    headers: { 'content-type': body === QUEUE ? 'application/atom+xml' : 'text/plain' },
    isBase64Encoded: false,
    body,
    requestContext: {
      domainName: 'b.example',
      http: { method },
      authorizer: { iam: { userArn: 'arn:aws:iam::111122223333:user/a' } },
    },
  } as unknown as APIGatewayProxyEventV2);
  if ((result.statusCode ?? 500) >= 300) throw new Error(`${method} ${rawPath}: ${result.body}`);
  return result;
}

const [manage, receive, send] = await Promise.all([
  start('manage'),
  start('receive'),
  start('send'),
]);

async function passThrough(queue: string, handler: Handler) {
  await call(manage, 'PUT', `/${queue}`, { body: QUEUE });
  for (let i = 0; i < MESSAGES; i++) {
    await call(send, 'POST', `/${queue}/messages`, { body: BODY });
  }
  let received = 0;
  let largest = 0;
  const rawQueryString = 'maxMessages=100&timeout=0';
  for (;;) {
    const result = await call(handler, 'DELETE', `/${queue}/messages/head`, { rawQueryString });
    if (result.statusCode === 204) return { received, largest };
    largest = Math.max(largest, Buffer.byteLength(JSON.stringify(result)));
    const messages = JSON.parse(Buffer.from(result.body ?? '', 'base64').toString()) as unknown[];
    received += messages.length;
  }
}

const suffix = process.env['NAMESPACE'];
console.log(
  JSON.stringify({
    receive: await passThrough(`r-${suffix}`, receive),
    manage: await passThrough(`m-${suffix}`, manage),
  }),
);
