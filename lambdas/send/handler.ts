import { composeParts } from '../http/compose-parts.ts';
import { functionParts } from '../http/deployed-parts.ts';
import { httpHandler } from '../http/lambda.ts';
import { startFunction } from '../http/start-function.ts';
import { sendRoutes } from './app.ts';

/** Sends to entities of one path segment. */
export const handler = startFunction(() => {
  const parts = composeParts(functionParts(process.env));
  return httpHandler(sendRoutes(parts), () => parts.background.settled());
});
