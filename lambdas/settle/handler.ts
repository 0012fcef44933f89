import { composeParts } from '../http/compose-parts.ts';
import { httpHandler, httpLambdaParts } from '../http/lambda.ts';
import { settleRoutes } from './app.ts';

/** Settles messages of entities of one path segment. */
export const handler = httpHandler(settleRoutes(composeParts(httpLambdaParts(process.env))));
