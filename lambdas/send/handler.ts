import { composeParts } from '../http/compose-parts.ts';
import { httpHandler, httpLambdaParts } from '../http/lambda.ts';
import { sendRoutes } from './app.ts';

const parts = composeParts(httpLambdaParts(process.env));

/** Sends to entities of one path segment. */
export const handler = httpHandler(sendRoutes(parts), () => parts.background.settled());
