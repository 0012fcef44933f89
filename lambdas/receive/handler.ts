import { composeParts } from '../http/compose-parts.ts';
import { httpHandler, httpLambdaParts } from '../http/lambda.ts';
import { receiveRoutes } from './app.ts';

const parts = composeParts(httpLambdaParts(process.env));

/** Receives from entities of one path segment. */
export const handler = httpHandler(receiveRoutes(parts), () => parts.background.settled());
