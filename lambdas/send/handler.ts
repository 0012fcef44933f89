import { composeParts } from '../http/compose-parts.ts';
import { httpHandler, httpLambdaParts } from '../http/lambda.ts';
import { sendRoutes } from './app.ts';

/** Sends to entities of one path segment. */
export const handler = httpHandler(sendRoutes(composeParts(httpLambdaParts(process.env))));
