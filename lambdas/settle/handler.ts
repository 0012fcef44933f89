import { composeParts } from '../http/compose-parts.ts';
import { httpHandler, httpLambdaParts } from '../http/lambda.ts';
import { settleRoutes } from './app.ts';

const parts = composeParts(httpLambdaParts(process.env));

/** Settles messages of entities of one path segment. */
export const handler = httpHandler(settleRoutes(parts), () => parts.background.settled());
