import { composeParts } from '../http/compose-parts.ts';
import { httpHandler, httpLambdaParts } from '../http/lambda.ts';
import { receiveRoutes } from './app.ts';

/** Receives from entities of one path segment. */
export const handler = httpHandler(receiveRoutes(composeParts(httpLambdaParts(process.env))));
