/** An endpoint cannot be used. Its message is a sentence that says what to write. */
export class EndpointError extends Error {
  override readonly name = 'EndpointError';
}

/** Reads the address of a deployment, without a slash at its end. Throws EndpointError. */
export function readEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // Requests to this machine are for tests.
  const isSafe = url?.protocol === 'https:' || url?.hostname === '127.0.0.1';
  if (url === undefined || !isSafe || url.pathname !== '/' || url.search !== '') {
    throw new EndpointError(
      'The endpoint is not the address of a deployment, such as https://a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com: take the stack output Endpoint.',
    );
  }
  return url.origin;
}
