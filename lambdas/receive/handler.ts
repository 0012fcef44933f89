import { composeParts } from '../http/compose-parts.ts';
import { functionParts } from '../http/deployed-parts.ts';
import { httpHandler } from '../http/lambda.ts';
import { receiveRoutes } from './app.ts';

const parts = composeParts(functionParts(process.env));

/** Receives from entities of one path segment. */
export const handler = httpHandler(receiveRoutes(parts), () => parts.background.settled());
